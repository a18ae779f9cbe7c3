// A query in the plane, moved by hand: dot products, weights and the answer move with it.

import { dots, softmaxRows, mix } from "./maths.js";
import { Figure, floats, h, num } from "./base.js";

const SIDE = 300;

export class AttnVectors extends Figure {
  start({ names, keys, values, query, dv, temperature = 1 }) {
    const [k, v, q] = [keys, values, query].map(floats), n = names.length;
    this.need(n > 0 && n <= 12 && k.length === 2 * n && v.length === dv * n && q.length === 2 && [...k, ...v, ...q].every(Number.isFinite), "it needs 1 to 12 keys and finite numbers", "需要 1 到 12 个键和有限的数字");
    const far = 1.25 * Math.max(...k.map(Math.abs), ...q.map(Math.abs), ...(dv === 2 ? v.map(Math.abs) : []), 0.1);
    Object.assign(this, { names, k, v, n, dv, far, q: [...q], T: temperature });
    this.add(h("style", {}, `.duo{display:flex;flex-wrap:wrap;gap:1rem;align-items:center}.pl{position:relative;width:${SIDE}px;max-width:100%;aspect-ratio:1;touch-action:none;flex:none}
.pl svg{width:100%;border:1px solid var(--line);border-radius:4px}.pl text{fill:var(--ink);font-size:13px;paint-order:stroke;stroke:var(--bg);stroke-width:4px}
.hd{position:absolute;width:30px;height:30px;margin:-15px;padding:0;border-radius:50%;border:2px solid var(--bg);background:var(--q);cursor:grab}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}td,th{padding:.15rem .5rem;text-align:end;font-weight:400}th[scope=row]{text-align:start;white-space:nowrap;max-width:8rem;overflow:hidden;text-overflow:ellipsis}
.bar{width:90px;padding:0}.bar i{display:block;height:16px;background:var(--w)}.wt{flex:1 1 270px}`));
    this.handle = h("button", { type: "button", class: "hd", onkeydown: (e) => this.key(e) });
    this.plane = h("div", { class: "pl", onpointerdown: (e) => this.drag(e), onpointermove: (e) => e.buttons && this.drag(e) });
    this.sky = h("div", {});
    this.plane.append(this.sky, this.handle);
    const cell = () => h("td", {});
    this.rows = names.map((name) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, name), cell(), cell(), h("td", { class: "bar" }, h("i", {}))));
    const head = [this.t("key", "键"), "q · k", this.t("weight", "权重")].map((x) => h("th", { scope: "col" }, x));
    this.table = h("table", {}, h("thead", {}, h("tr", {}, ...head, h("td", {}))), h("tbody", {}, ...this.rows));
    this.add(h("p", { class: "dim" }, this.t("Drag the blue dot, or focus it and press the arrow keys (Shift for small steps).", "拖动蓝点，或选中后按方向键（按住 Shift 微调）。")));
    this.add(h("div", { class: "duo" }, this.plane, h("div", { class: "wt" }, this.table)), this.said);
    this.row(this.slider(this.t("temperature", "温度"), -2, 1, 0.1, Math.log10(temperature), (x) => (this.T = 10 ** x), (x) => num(10 ** x, 2)));
  }
  drag(e) {
    const box = this.plane.getBoundingClientRect(), unit = (2 * this.far) / box.width;
    this.move((e.clientX - box.left) * unit - this.far, this.far - (e.clientY - box.top) * unit);
    this.handle.focus();
    e.preventDefault();
  }
  key(e) {
    const by = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key], size = this.far * (e.shiftKey ? 0.01 : 0.05);
    if (!by) return;
    e.preventDefault();
    this.move(this.q[0] + by[0] * size, this.q[1] + by[1] * size);
  }
  move(...q) {
    this.q = q.map((x) => Math.max(-this.far, Math.min(this.far, x)));
    this.draw();
  }
  draw() {
    const { n, k, v, q, dv, far } = this, s = dots(q, k, 1, n, 2, 2), w = softmaxRows(s.map((x) => x / this.T), 1, n), out = mix(w, v, 1, n, dv);
    const to = SIDE / 2 / far, x = (a) => SIDE / 2 + a * to, y = (a) => SIDE / 2 - a * to;
    const arrow = (a, b, color, dash = "") => {
      const l = Math.hypot(a, b) * to || 1, ux = (a * to) / l, uy = (-b * to) / l, tx = x(a), ty = y(b);
      return `<path d="M${x(0)} ${y(0)}L${tx} ${ty}" stroke="var(${color})" stroke-width="3" stroke-dasharray="${dash}"/><path fill="var(${color})" d="M${tx} ${ty}l${-10 * ux - 5 * uy} ${-10 * uy + 5 * ux}l${10 * uy} ${-10 * ux}z"/>`;
    };
    let art = `<path d="M0 ${SIDE / 2}H${SIDE}M${SIDE / 2} 0V${SIDE}" stroke="var(--line)"/>`;
    for (let j = 0; j < n; j++) art += arrow(k[2 * j], k[2 * j + 1], "--k", "7 3");
    if (dv === 2) {
      for (let j = 0; j < n; j++) art += `<rect x="${x(v[2 * j]) - 5}" y="${y(v[2 * j + 1]) - 5}" width="10" height="10" fill="var(--v)"/>`;
      art += `<circle cx="${x(out[0])}" cy="${y(out[1])}" r="8" fill="none" stroke="var(--w)" stroke-width="4"/>`;
    }
    art += arrow(q[0], q[1], "--q");
    this.sky.innerHTML = `<svg viewBox="0 0 ${SIDE} ${SIDE}" aria-hidden="true" fill="none">${art}</svg>`;
    for (let j = 0; j < n; j++) { // names as text nodes: they come from the reader
      const text = document.createElementNS(this.sky.firstChild.namespaceURI, "text"), tx = x(k[2 * j]);
      text.setAttribute("x", tx + (tx > SIDE * 0.7 ? -8 : 8));
      text.setAttribute("y", y(k[2 * j + 1]) + (k[2 * j + 1] < 0 ? 16 : -6));
      text.setAttribute("text-anchor", tx > SIDE * 0.7 ? "end" : "start");
      text.textContent = this.names[j];
      this.sky.firstChild.append(text);
    }
    this.handle.style.cssText = `left:${(100 * x(q[0])) / SIDE}%;top:${(100 * y(q[1])) / SIDE}%`;
    this.handle.setAttribute("aria-label", `${this.t("query", "查询")} (${num(q[0], 2)}, ${num(q[1], 2)})`);
    this.rows.forEach(({ children: [, dot, share, bar] }, j) => {
      dot.textContent = num(s[j]);
      share.textContent = num(w[j]);
      bar.firstChild.style.width = 100 * w[j] + "%";
    });
    this.say(`q = (${num(q[0], 2)}, ${num(q[1], 2)}); ${this.t("answer", "答案")} = ${[...w].map((a, j) => `${num(a, 2)}·${dv === 1 ? num(v[j], 0) : `v${j + 1}`}`).join(" + ")} = ${dv === 1 ? num(out[0]) : `(${num(out[0])}, ${num(out[1])})`}`);
  }
}
