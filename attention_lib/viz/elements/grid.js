// A matrix of coloured cells that pointer and arrow keys can visit: elements when small, a canvas when not.

import { h, shown } from "./base.js";

const MOST = 400; // cells drawn as elements

export class Grid {
  /** `pick(i, j, event)` is told which cell is visited, pressed or crossed by the pointer. */
  constructor(figure, name, pick) {
    Object.assign(this, { figure, name, pick, i: 0, j: 0 });
    this.host = h("div", { class: "g" });
    this.host.onkeydown = (e) => this.key(e);
    this.host.onpointermove = this.host.onpointerdown = (e) => this.point(e);
  }
  /** rows, cols: names; at(i, j) -> [colour from 0 (or -1) to 1, text, spoken]; signed: diverging colours. */
  show(rows, cols, at, signed = false) {
    Object.assign(this, { rows, cols, at, signed });
    this.i = Math.min(this.i, rows.length - 1);
    this.j = Math.min(this.j, cols.length - 1);
    const key = JSON.stringify([rows, cols]);
    if (key !== this.key_) {
      this.key_ = key;
      this.host.replaceChildren();
      this.cells = this.canvas = this.width = null;
      rows.length * cols.length > MOST ? this.buildCanvas() : this.build();
    }
    this.canvas ? this.paint() : this.fill();
  }
  build() {
    const tall = this.cols.some((c) => c.length > 3);
    const head = h("div", { role: "row" }, h("div", { role: "cell" }),
      ...this.cols.map((c) => h("div", { role: "columnheader", class: tall ? "n u" : "n h", dir: "auto" }, shown(c))));
    this.cells = this.rows.map((_, i) => this.cols.map((_, j) => Object.assign(h("div", { role: "gridcell", class: "c", tabindex: -1 }), { ij: [i, j] })));
    this.heads = this.rows.map((r) => h("div", { role: "rowheader", class: "n", dir: "auto" }, shown(r)));
    this.matrix = h("div", { class: "m", role: "grid", "aria-label": this.name }, head, ...this.cells.map((row, i) => h("div", { role: "row" }, this.heads[i], ...row)));
    this.host.append(this.matrix);
  }
  fill() {
    const free = this.host.clientWidth - 100, size = Math.max(26, Math.min(46, (free / this.cols.length) | 0));
    if (size !== this.width) this.matrix.style.gridTemplateColumns = `auto repeat(${this.cols.length},${(this.width = size)}px)`;
    this.cells.forEach((row, i) => {
      this.heads[i].className = i === this.i ? "n b" : "n";
      row.forEach((cell, j) => {
        const [t, text, spoken] = this.at(i, j), [back, ink] = this.figure.color(t, this.signed), on = i === this.i && j === this.j;
        const now = [back, text, on, size] + spoken;
        if (cell.now === now) return;
        cell.now = now;
        cell.style.cssText = `background:${back};color:${ink}`;
        cell.textContent = text.length * 6.6 < size ? text : text.length * 6.6 < size + 8 ? text.replace(/^(−?)0\./, "$1.") : "";
        cell.setAttribute("aria-label", `${this.rows[i]} → ${this.cols[j]}: ${spoken || text}`);
        cell.tabIndex = on ? 0 : -1;
        cell.classList.toggle("on", on);
      });
    });
  }
  buildCanvas() {
    this.canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": this.name });
    this.host.append(this.canvas);
  }
  paint() {
    const n = this.rows.length, m = this.cols.length, size = (this.size = Math.max(3, Math.min(24, (this.host.clientWidth - 10) / m)));
    const sharp = devicePixelRatio || 1, c = this.canvas, pen = c.getContext("2d");
    const wide = Math.round(m * size * sharp), high = Math.round(n * size * sharp);
    if (c.width !== wide || c.height !== high) Object.assign(c, { width: wide, height: high });
    c.style.width = m * size + "px";
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < m; j++) {
        pen.fillStyle = this.figure.color(this.at(i, j)[0], this.signed)[0];
        pen.fillRect(j * size, i * size, size + 0.5, size + 0.5);
      }
    pen.strokeStyle = this.figure.dark ? "#fff" : "#000";
    pen.lineWidth = 2;
    pen.strokeRect(this.j * size + 0.5, this.i * size + 0.5, size - 1, size - 1);
  }
  go(i, j, e) {
    if (i < 0 || j < 0 || i >= this.rows.length || j >= this.cols.length) return;
    this.i = i;
    this.j = j;
    this.pick(i, j, e);
    if (e.type === "keydown") this.cells?.[i][j].focus();
  }
  key(e) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], " ": [0, 0], Enter: [0, 0] }[e.key];
    if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.go(this.i + step[0], this.j + step[1], e);
  }
  point(e) {
    let ij = e.target.ij;
    if (this.canvas && e.target === this.canvas) ij = [(e.offsetY / this.size) | 0, (e.offsetX / this.size) | 0];
    if (ij && (e.type === "pointerdown" || ij[0] !== this.i || ij[1] !== this.j)) this.go(...ij, e);
  }
}
