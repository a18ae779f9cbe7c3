// Four steps on real numbers: scores, scale, softmax, weighted sum; tokens by tokens.

import { dots, softmaxRows, mix } from "./maths.js";
import { Figure, floats, h, num, shown } from "./base.js";
import { Grid } from "./grid.js";

export class AttnExplorer extends Figure {
  start({ tokens, heads, row = 0, step = 2, causal = false, d = 0, dv = 0 }) {
    const n = tokens.length, fits = (a, size) => !a || (a.length === size && a.every(Number.isFinite));
    this.need(n > 0 && n <= 128, `it has ${n} tokens, and shows 1 to 128`, `它有 ${n} 个词元，只能显示 1 到 128 个`);
    this.heads = heads.map(({ name, q, k, v, w }) => ({ name, q: q && floats(q), k: k && floats(k), v: v && floats(v), w: w && floats(w) }));
    for (const { q, k, v, w } of this.heads) {
      this.need(fits(q, n * d) && fits(k, n * d) && fits(v, n * dv) && fits(w, n * n) && (w || (q && k)), "numbers are missing or not finite", "有数字缺失或不是有限数");
      this.need(!w || tokens.every((_, i) => w.subarray(i * n, i * n + n).every((x) => x >= 0) && Math.abs(w.subarray(i * n, i * n + n).reduce((a, b) => a + b, 0) - 1) < 2e-3 || w.subarray(i * n, i * n + n).every((x) => x === 0)), "a row of the weights does not sum to 1", "权重有一行之和不为 1");
    }
    Object.assign(this, { tokens, n, d, dv, width: d, T: 1, causal, head: 0, i: Math.min(row, n - 1), step, j: 0, made: new Map() });
    this.most();
    const live = this.heads.some(({ q }) => q), sums = this.heads.every(({ v }) => v);
    this.chips = tokens.map((token, i) => h("button", { type: "button", class: "chip", dir: "auto", onclick: () => this.ask(i) }, h("span", {}, shown(token)), h("small", {})));
    this.add(h("style", {}, ".chip{padding:.1rem .4rem;line-height:1.25;max-width:100%;overflow-wrap:anywhere}.chip small{display:block;font-size:11px;font-variant-numeric:tabular-nums}.chip.q{box-shadow:0 0 0 1px var(--bg),0 0 0 3px var(--q);font-weight:700}"));
    if (heads.length > 1)
      this.row(h("label", {}, this.t("head", "头"), h("select", { onchange: (e) => ((this.head = +e.target.value), this.most(), this.draw()) }, ...heads.map(({ name }, i) => h("option", { value: i }, name)))));
    this.add(h("p", { class: "dim" }, this.t("Choose the word that looks (the query). The stronger the colour of a word, the more weight it gets.", "选择一个“看”的词（查询）。别的词颜色越重，得到的权重越大。")));
    this.add(h("div", { class: "row tight", role: "group", "aria-label": this.t("query", "查询") }, ...this.chips));
    const names = [this.t("1 scores", "1 得分"), this.t("2 scaled", "2 缩放"), this.t("3 softmax", "3 softmax"), this.t("4 weighted sum", "4 加权和")];
    this.steps = live ? (sums ? [0, 1, 2, 3] : [0, 1, 2]) : [2];
    this.step = this.steps.includes(step) ? step : 2;
    if (live) this.add(this.choice(this.t("step", "步骤"), this.steps.map((s) => names[s]), this.steps.indexOf(this.step), (s) => (this.step = this.steps[s])));
    this.grid = new Grid(this, this.t("rows look at columns", "行看列"), (i, j) => {
      Object.assign(this, { i, j });
      this.draw();
    });
    this.add(this.grid.host, this.said);
    if (live)
      this.row(
        ...(d > 1 ? [this.slider("dₖ", 1, d, 1, d, (x) => (this.width = x))] : []),
        this.slider(this.t("temperature", "温度"), -1, 1, 0.1, 0, (x) => (this.T = 10 ** x), (x) => num(10 ** x, 2)),
        this.check(this.t("causal mask", "因果掩码"), causal, (on) => (this.causal = on)),
      );
  }
  /** The four matrices at the present settings; kept, so that coming back costs nothing. */
  matrices() {
    const key = [this.head, this.width, this.T, this.causal] + "";
    if (!this.made.has(key)) {
      const { q, k, v, w } = this.heads[this.head], n = this.n;
      const s = q && dots(q, k, n, n, this.d, this.width), factor = 1 / (Math.sqrt(this.width) * this.T);
      const scaled = s && s.map((x) => x * factor);
      const weights = w || softmaxRows(scaled, n, n, this.causal && ((i, j) => j <= i));
      this.made.size > 200 && this.made.clear();
      this.made.set(key, [s, scaled, weights, v && mix(weights, v, n, n, this.dv)]);
    }
    return this.made.get(key);
  }
  most() {
    const w = this.matrices()[2].subarray(this.i * this.n, (this.i + 1) * this.n);
    this.j = w.indexOf(Math.max(...w));
  }
  ask(i) {
    this.i = i;
    this.most();
    this.draw();
  }
  draw() {
    const all = this.matrices(), { n, i, step, tokens, grid } = this, shape = step === 3 ? this.dv : n;
    const m = all[step], top = m.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-9), blocked = (r, c) => this.causal && step < 3 && c > r;
    const cols = step === 3 ? Array.from({ length: this.dv }, (_, c) => `${c + 1}`) : tokens;
    this.j = Math.min(this.j, shape - 1);
    Object.assign(grid, { i, j: this.j });
    this.chips.forEach((chip, j) => {
      const x = all[2][i * n + j], [back, ink] = this.color(x), now = back + x + (i === j);
      if (chip.now === now) return;
      chip.now = now;
      chip.style.cssText = `background:${back};color:${ink}`;
      chip.lastChild.textContent = num(x, 2);
      chip.classList.toggle("q", i === j);
      chip.setAttribute("aria-pressed", i === j);
    });
    grid.show(tokens, cols, (r, c) => {
      const x = m[r * shape + c];
      return blocked(r, c) ? [0, "–", this.t("blocked", "被遮住")] : [step === 2 && n < 21 ? x : x / top, num(x, step === 2 || top < 10 ? 2 : 1), num(x)];
    }, step !== 2);
    this.say(this.words(all, blocked));
  }
  /** The cell under the cursor as a line of arithmetic. */
  words([s, scaled, w, out], blocked) {
    const { n, i, j, tokens, step } = this, at = i * n + j, pair = `${shown(tokens[i])} → ${step === 3 ? j + 1 : shown(tokens[j])}: `;
    if (blocked(i, j)) return pair + this.t("blocked by the causal mask, weight 0", "被因果掩码遮住，权重为 0");
    if (step === 0) return `${pair}q · k = ${num(s[at])}`;
    if (step === 1) return `${pair}${num(s[at])} / ${this.T === 1 ? "" : "("}√${this.width}${this.T === 1 ? "" : ` · ${num(this.T, 2)})`} = ${num(scaled[at])}`;
    if (step === 2) return !s ? pair + num(w[at]) : `${pair}exp(${num(scaled[at])}) / ${this.t("sum of the row", "本行之和")} ${num(Math.exp(scaled[at]) / w[at], 2)} = ${num(w[at])}`;
    const v = this.heads[this.head].v, order = tokens.map((_, k) => k).sort((a, b) => w[i * n + b] - w[i * n + a]).slice(0, 3);
    const terms = order.map((k) => `${num(w[i * n + k], 2)}·${num(v[k * this.dv + j], 2)}`).join(" + ").replace(/\+ −/g, "− ");
    return `${this.t("output of", "输出")} ${shown(tokens[i])} [${j + 1}] = ${terms}${n > 3 ? " + …" : ""} = ${num(out[i * this.dv + j])}`;
  }
}
