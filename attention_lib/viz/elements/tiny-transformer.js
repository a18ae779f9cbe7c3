// A trained two-layer model that runs in the page: edit the letters and watch two heads answer.

import { forward, unpack } from "./tiny-maths.js";
import { softmaxRows } from "./maths.js";
import { Figure, floats, h, num } from "./base.js";
import { Grid } from "./grid.js";

export class TinyTransformer extends Figure {
  start({ symbols, table, scales, bytes, longest, text, row }) {
    const all = floats(scales);
    let at = 0;
    const rows = table.map(([name, n, m]) => [name, n, m, all.subarray(at, (at += n))]);
    const packed = Int8Array.from(atob(bytes), (c) => c.charCodeAt(0));
    this.need(packed.length === table.reduce((sum, [, n, m]) => sum + n * m, 0) && all.every(Number.isFinite), "its weights are incomplete", "权重不完整");
    Object.assign(this, { model: unpack(rows, packed), symbols: [...symbols], longest, layer: 1, i: row ?? 0, j: -1, made: new Map() });
    this.input = h("input", { type: "text", value: text, maxlength: 2 * longest, spellcheck: "false", autocomplete: "off", oninput: () => this.read() });
    this.row(h("label", {}, this.t("letters", "字母"), this.input), h("button", { type: "button", onclick: () => this.grow() }, this.t("append its answer", "接上它的答案")));
    this.note = h("p", { class: "dim" });
    this.add(h("style", {}, "[type=text]{width:15rem;max-width:60vw;letter-spacing:.15em;font-family:ui-monospace,monospace}.an{display:flex;flex-wrap:wrap;gap:3px;padding:0;margin:.3rem 0}.an button{padding:0 .2rem;min-width:32px;line-height:1.15}.an b{display:block}.an small{font-size:11px}"), this.note);
    this.answers = this.add(h("div", { class: "an", role: "group", "aria-label": this.t("what it foretells after each letter", "每个字母之后的预测") }));
    this.add(this.choice(this.t("layer", "层"), [this.t("layer 1", "第 1 层"), this.t("layer 2", "第 2 层")], 1, (k) => (this.layer = k)));
    this.grid = new Grid(this, this.t("weights of this layer: rows look at columns", "本层权重：行看列"), (i, j) => (Object.assign(this, { i, j }), this.draw()));
    this.add(this.grid.host, this.said);
    this.read();
  }
  /** The typed letters; what is no symbol of the model is left out, and said. */
  read() {
    const typed = [...this.input.value.toUpperCase()].filter((c) => c.trim()), known = typed.filter((c) => this.symbols.includes(c));
    this.text = known.slice(0, this.longest);
    this.note.textContent = known.length < typed.length || known.length > this.longest || !known.length
      ? this.t(`It reads 1 to ${this.longest} of the letters ${this.symbols.join("")}; the rest is left out.`, `它读 1 到 ${this.longest} 个字母（${this.symbols.join("")}），其余忽略。`)
      : this.t("Above: your letter. Below: the letter it expects next.", "上面是你的字母，下面是它预测的下一个字母。");
    this.i = Math.max(0, Math.min(this.i, this.text.length - 1));
    if (this.ready) this.draw();
  }
  grow() {
    if (!this.text.length || this.text.length >= this.longest) return;
    this.input.value = this.text.join("") + this.best(this.text.length - 1)[0];
    this.i = this.text.length;
    this.read();
  }
  run() {
    const key = this.text.join("");
    if (!this.made.has(key)) {
      const out = forward(this.model, this.text.map((c) => this.symbols.indexOf(c)));
      out.shares = softmaxRows(out.logits, this.text.length, this.symbols.length);
      this.made.set(key, out);
    }
    return this.made.get(key);
  }
  /** The letter expected after position i, and its share. */
  best(i) {
    const s = this.symbols.length, row = this.run().shares.subarray(i * s, i * s + s), top = Math.max(...row);
    return [this.symbols[row.indexOf(top)], top];
  }
  draw() {
    const { text, layer, grid } = this, n = text.length;
    this.answers.hidden = grid.host.hidden = !n;
    if (!n) return this.say("");
    const w = this.run().weights[layer], seen = w.subarray(this.i * n, this.i * n + n);
    if (this.j >= n) this.j = -1;
    if (this.answers.children.length !== n)
      this.answers.replaceChildren(...text.map((_, i) => h("button", { type: "button", onclick: () => (Object.assign(this, { i, j: -1 }), this.draw()) }, h("b", {}), h("small", {}))));
    [...this.answers.children].forEach((b, i) => {
      const [letter, share] = this.best(i);
      b.firstChild.textContent = text[i];
      b.lastChild.textContent = `${letter} ${Math.round(100 * share)}%`;
      b.setAttribute("aria-pressed", i === this.i);
      b.setAttribute("aria-label", this.t(`after ${text[i]}, position ${i + 1}: ${letter}, ${Math.round(100 * share)} %`, `第 ${i + 1} 位 ${text[i]} 之后：${letter}，${Math.round(100 * share)} %`));
    });
    if (this.j < 0) this.j = seen.indexOf(Math.max(...seen));
    Object.assign(grid, { i: this.i, j: this.j });
    grid.show(text, text, (i, j) => (j > i ? [0, "·", this.t("the future, blocked", "未来，被遮住")] : [w[i * n + j], num(w[i * n + j], 2), num(w[i * n + j])]));
    const [letter, share] = this.best(this.i), far = this.i - this.j;
    this.say(this.t(
      `Layer ${layer + 1}: ${text[this.i]} at ${this.i + 1} looks at ${text[this.j]} at ${this.j + 1} (${far >= 0 ? `${far} back` : "ahead"}) with weight ${num(seen[this.j])}. Expected next: ${letter}, ${num(100 * share, 1)} %.`,
      `第 ${layer + 1} 层：第 ${this.i + 1} 位的 ${text[this.i]} 看第 ${this.j + 1} 位的 ${text[this.j]}（${far >= 0 ? `往回 ${far}` : "往后"}），权重 ${num(seen[this.j])}。预测下一个：${letter}，${num(100 * share, 1)} %。`));
  }
}
