// Masks to combine and to paint: who sees whom, which rows are empty, what it costs.

import { allowed, count } from "./mask-maths.js";
import { Figure, h, num } from "./base.js";
import { Grid } from "./grid.js";

export class AttnMask extends Figure {
  start({ n = 8, use = {}, mask, most = 16 }) {
    this.need(n >= 1 && n <= 64, `it has ${n} positions, and shows 1 to 64`, `它有 ${n} 个位置，只能显示 1 到 64 个`);
    this.need(!mask || (mask.length === n && mask.every((row) => row.length === n)), "the mask is not square", "掩码不是方阵");
    const u = (this.use = { length: Math.max(1, n - 2), w: 3, b: Math.ceil(n / 2), ...use });
    Object.assign(this, { n, given: mask, painted: new Map() });
    const limit = (name, key, max) => this.slider(name, 1, max, 1, u[key], (x) => (u[key] = x));
    const on = (key, en, zh) => this.check(this.t(en, zh), !!u[key], (x) => (u[key] = x));
    const pair = (...parts) => h("span", { class: "pair" }, ...parts);
    this.row(on("causal", "causal", "因果"), pair(on("padding", "padding after", "填充，有效长度"), limit("", "length", n)), pair(on("window", "window", "窗口"), limit("", "w", n)), pair(on("block", "blocks of", "分块，块长"), limit("", "b", n)));
    this.shadowRoot.querySelectorAll("[type=range]").forEach((input, i) => input.setAttribute("aria-label", [this.t("length", "有效长度"), this.t("window", "窗口"), this.t("block size", "块长")][i]));
    this.add(h("p", { class: "dim" }, this.t("All masks that are on must allow a pair. Press a cell (or Space) to paint over it.", "勾选的掩码必须全部允许。点击格子（或按空格）可以改写。")));
    this.grid = new Grid(this, this.t("mask: rows are queries, columns keys", "掩码：行是查询，列是键"), (i, j, e) => {
      const at = i * this.n + j, press = e.type === "pointerdown" || (e.type === "keydown" && (e.key === " " || e.key === "Enter"));
      if (e.type === "pointerdown") this.brush = !this.see(i, j);
      if (press || (e.type === "pointermove" && e.buttons)) this.painted.set(at, e.type === "keydown" ? !this.see(i, j) : this.brush);
      Object.assign(this, { i, j });
      this.draw();
    });
    this.facts = h("p", {});
    this.add(this.grid.host, this.said, this.facts);
    this.row(this.slider(this.t("positions", "位置数"), 1, Math.max(most, n), 1, n, (x) => this.size(x)),
      h("button", { type: "button", onclick: () => (this.painted.clear(), this.draw()) }, this.t("remove paint", "清除改写")));
    Object.assign(this, { i: 0, j: 0 });
  }
  size(n) {
    this.n = n;
    this.given = null;
    this.painted.clear();
  }
  see(i, j) {
    return this.painted.get(i * this.n + j) ?? ((!this.given || !!this.given[i][j]) && allowed(i, j, this.use));
  }
  draw() {
    const { n, use } = this, names = Array.from({ length: n }, (_, i) => `${i}`);
    const mask = names.map((_, i) => names.map((_, j) => this.see(i, j))), { sums, pairs, empty, widest } = count(mask);
    this.i = Math.min(this.i, n - 1);
    this.j = Math.min(this.j, n - 1);
    Object.assign(this.grid, { i: this.i, j: this.j });
    this.grid.show(names, names, (i, j) => [mask[i][j] ? 0.62 : 0, mask[i][j] ? "✓" : "·", mask[i][j] ? this.t("may attend", "可以看") : this.t("blocked", "被遮住")]);
    const { i, j } = this, sees = sums[i];
    this.say(this.t(
      `query ${i} → key ${j}: ${mask[i][j] ? "may attend" : "blocked"}. Row ${i} sees ${sees} of ${n}; equal scores would give each ${sees ? num(1 / sees) : "0, and the row sums to 0, not 1"}.`,
      `查询 ${i} → 键 ${j}：${mask[i][j] ? "可以看" : "被遮住"}。第 ${i} 行看到 ${n} 个中的 ${sees} 个；得分相同时各得 ${sees ? num(1 / sees) : "0，整行之和为 0 而不是 1"}。`));
    const gaps = empty.length ? this.t(`Empty rows: ${empty.join(", ")}. `, `空行：${empty.join("、")}。`) : this.t("No row is empty. ", "没有空行。");
    this.facts.textContent = gaps + this.t(
      `Allowed pairs: ${pairs}. A full matrix computes n² = ${n * n} scores; keeping only the widest row, n·w = ${n}·${widest} = ${n * widest}.`,
      `允许的对：${pairs}。完整矩阵要算 n² = ${n * n} 个得分；每行只算最宽的一行那么多，n·w = ${n}·${widest} = ${n * widest}。`);
  }
}
