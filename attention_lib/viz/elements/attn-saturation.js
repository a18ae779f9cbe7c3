// One query and its keys at growing width, with and without the division by the root of d_k.

import { statistics } from "./saturation-maths.js";
import { Figure, floats, h, num } from "./base.js";

const INKS = ['stroke="var(--q)" stroke-width="2.5"', 'stroke="var(--k)" stroke-width="2.5" stroke-dasharray="7 4"'];

export class AttnSaturation extends Figure {
  start({ widths, draws, keys, at = 0 }) {
    const n = keys;
    this.draws = draws.map(({ scores, grams, value }) => ({ scores: floats(scores), grams: floats(grams), value: floats(value) }));
    this.need(n > 0 && n <= 32 && this.draws.length && this.draws.every(({ scores, grams, value }) => scores.length === n * widths.length && grams.length === n * n * widths.length && value.length === n && [...scores, ...grams, ...value].every(Number.isFinite)), "it needs 1 to 32 keys and finite numbers", "需要 1 到 32 个键和有限的数字");
    Object.assign(this, { n, widths, at, draw_: 0 });
    this.table = this.draws.map((_, r) => widths.map((d, p) => [Math.sqrt(d), 1].map((by) => this.measure(r, p, 1 / by))));
    this.sides = [this.t("divided by √dₖ", "除以 √dₖ"), this.t("not divided", "不除")].map((name, side) => {
      const bars = Array.from({ length: n }, () => h("i", {}));
      const key = h("span", {});
      key.innerHTML = `<svg width="28" height="10" aria-hidden="true"><path d="M0 5H28" ${INKS[side]}/></svg>`;
      return { bars, facts: h("p", { class: "dim" }), name, side, key };
    });
    this.lines = h("div", { class: "lines" });
    this.add(h("style", {}, `.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:1rem}.bars{display:flex;gap:3px;height:120px;align-items:flex-end;border-bottom:1px solid var(--line);margin-bottom:.3rem}
.bars i{flex:1;background:var(--w);min-height:1px}.lines text{fill:var(--ink);font-size:12px}.two{margin-bottom:1rem}.two p{margin:0}.two b svg{display:inline;margin-inline-end:.5rem}`));
    this.row(this.slider("dₖ", 0, widths.length - 1, 1, at, (p) => (this.at = p), (p) => `${widths[p]}`),
      ...(draws.length > 1 ? [h("button", { type: "button", onclick: () => ((this.draw_ = (this.draw_ + 1) % draws.length), this.draw()) }, this.t("draw other vectors", "换一组向量"))] : []));
    this.add(h("div", { class: "two" }, ...this.sides.map(({ bars, facts, name, key }) => h("div", {}, h("b", {}, key, name), h("div", { class: "bars", "aria-hidden": true }, ...bars), facts))));
    this.add(this.lines, this.said);
  }
  measure(r, p, scale) {
    const { n } = this, { scores, grams, value } = this.draws[r];
    return statistics(scores.subarray(p * n, p * n + n), grams.subarray(p * n * n, (p + 1) * n * n), value, scale);
  }
  draw() {
    const { at, widths, draw_ } = this, here = this.table[draw_][at];
    this.sides.forEach(({ bars, facts, side }) => {
      const { scaled, weights, largest, gradient } = here[side];
      weights.forEach((w, j) => (bars[j].style.height = 100 * w + "%"));
      facts.textContent = this.t(
        `scores ${num(Math.min(...scaled), 1)} to ${num(Math.max(...scaled), 1)}; largest weight ${num(largest)}; gradient ${num(gradient)}`,
        `得分 ${num(Math.min(...scaled), 1)} 到 ${num(Math.max(...scaled), 1)}；最大权重 ${num(largest)}；梯度 ${num(gradient)}`);
    });
    const W = Math.min(620, (this.box.clientWidth || 620) - 28), H = 190, left = 62, right = W - 16, x = (p) => left + ((right - left) * p) / Math.max(1, widths.length - 1);
    const logs = this.table[draw_].map((row) => row.map(({ gradient }) => Math.log10(Math.max(gradient, 1e-5))));
    const low = Math.floor(Math.min(...logs.flat())), high = Math.max(low + 1, Math.ceil(Math.max(...logs.flat()))), y = (v) => 12 + ((H - 40) * (high - v)) / (high - low);
    let art = "";
    for (let v = low; v <= high; v++) art += `<path d="M${left} ${y(v)}H${right}" stroke="var(--line)" stroke-opacity=".5"/><text x="${left - 6}" y="${y(v) + 4}" text-anchor="end">${v < 0 ? num(10 ** v, -v) : 10 ** v}</text>`;
    widths.forEach((d, p) => p % 2 === 0 && (art += `<text x="${x(p)}" y="${H - 8}" text-anchor="middle">${d}</text>`));
    INKS.forEach((ink, side) => {
      art += `<path ${ink} fill="none" d="M${logs.map((row, p) => `${x(p)} ${y(row[side])}`).join("L")}"/><circle r="5" cx="${x(at)}" cy="${y(logs[at][side])}" ${ink} fill="var(--bg)" style="stroke-dasharray:none"/>`;
    });
    this.lines.innerHTML = `<p class="dim">${this.t("gradient that reaches the query, against dₖ", "到达查询的梯度（横轴 dₖ）")}</p><svg width="${W}" viewBox="0 0 ${W} ${H}" aria-hidden="true">${art}</svg>`;
    this.say(this.t(
      `dₖ = ${widths[at]}: largest of ${this.n} weights ${num(here[0].largest)} divided, ${num(here[1].largest)} not; gradient ${num(here[0].gradient)} divided, ${num(here[1].gradient)} not`,
      `dₖ = ${widths[at]}：${this.n} 个权重中最大的，除后 ${num(here[0].largest)}，不除 ${num(here[1].largest)}；梯度，除后 ${num(here[0].gradient)}，不除 ${num(here[1].gradient)}`));
  }
}
