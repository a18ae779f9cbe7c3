// What all figures share: the frame with question and live line, controls, colours, and a matrix of cells.

const CSS = `:host{display:block;margin:1rem 0!important}
*{box-sizing:border-box}
.f{--bg:#fff;--ink:#1c2024;--dim:#50585f;--line:#8a939b;--soft:#eef0f2;--q:#0067a3;--k:#b34700;--v:#007a59;--w:#a34a7c;
background:var(--bg);color:var(--ink);border:1px solid var(--line);border-radius:6px;padding:.8rem;
font:15px/1.45 system-ui,sans-serif;color-scheme:light;container-type:inline-size}
.dark{--bg:#16191d;--ink:#eceff2;--dim:#b3bbc3;--line:#6d7680;--soft:#272c32;--q:#6cbcf0;--k:#ff9a57;--v:#3fcf9f;--w:#e59cc4;color-scheme:dark}
p{margin:0 0 .6rem}.ask{font-weight:600}
.say{min-height:2.9em;margin:.6rem 0;padding:.35rem .6rem;background:var(--soft);border-radius:4px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.row{display:flex;flex-wrap:wrap;gap:.4rem .9rem;align-items:center;margin:.5rem 0}.tight{gap:.25rem}
label{display:inline-flex;gap:.45rem;align-items:center;min-height:28px;max-width:100%}
button,select,input,summary{font:inherit;color:inherit;min-height:28px}
select{max-width:100%;text-overflow:ellipsis}label:has(select){flex-wrap:wrap}button,select,[type=text]{background:var(--bg);border:1px solid var(--line);border-radius:4px;padding:.1rem .55rem;min-width:28px}
[type=range]{width:9rem;min-width:3rem;accent-color:var(--w)}[type=checkbox]{width:24px;height:24px;min-height:24px;accent-color:var(--w);margin:0}
button{cursor:pointer}[aria-pressed=true]{background:var(--ink);color:var(--bg);border-color:var(--ink)}
:focus-visible{outline:3px solid var(--q);outline-offset:1px}
output{min-width:2.5em;font-variant-numeric:tabular-nums}
.pair{display:inline-flex;flex-wrap:wrap;gap:.3rem;align-items:center}.pair [type=range]{width:6rem}.dim{color:var(--dim);font-size:13px}summary{cursor:pointer;padding:.2rem 0}
.g{overflow-x:auto;padding:4px}.m{display:grid;width:max-content;gap:1px;font-size:11.5px;line-height:26px;text-align:center;font-variant-numeric:tabular-nums}
.m>div{display:contents}.n{padding:0 .4rem;max-width:7.5rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;text-align:end}
.n.h{text-align:center}.n.u{writing-mode:vertical-rl;transform:rotate(180deg);max-width:none;max-height:6.5rem;padding:.3rem 0;text-align:start;justify-self:center}
.c{height:26px;cursor:pointer}.on{outline:3px solid var(--ink);outline-offset:-2px;box-shadow:inset 0 0 0 3px var(--bg)}.c:focus-visible{outline-offset:-3px}.b{font-weight:700}
svg,canvas{display:block;max-width:100%}canvas{cursor:crosshair;outline-offset:2px}
@media print{.row.k{display:none}.f{print-color-adjust:exact}}`;

/** A new element: attributes, `on...` handlers, children; every text becomes a text node, never markup. */
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes))
    k.startsWith("on") ? (e[k] = v) : v === false || e.setAttribute(k, v);
  e.append(...children);
  return e;
}

/** A number as text, with a true minus sign. */
export const num = (x, digits = 3) =>
  (Math.abs(x) >= 1e5 ? x.toExponential(2) : x.toFixed(digits)).replace(/^-(0\.?0*$)/, "$1").replace("-", "−");

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** 101 steps through some colours, each [background, ink]: black or white, whichever reads better. */
function ramp(stops) {
  stops = stops.split(" ").map((s) => rgb("#" + s));
  return Array.from({ length: 101 }, (_, p) => {
    const x = (p / 100) * (stops.length - 1), a = Math.min(x | 0, stops.length - 2);
    const color = stops[a].map((from, c) => Math.round(from + (stops[a + 1][c] - from) * (x - a)));
    const [r, g, b] = color.map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return [`rgb(${color})`, 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff"];
  });
}
const RAMPS = [
  ramp("f6ecf3 e3b3cf cc79a7 9c4478 64204a"), ramp("2b242b 64204a 9c4478 cc79a7 f6d9e9"), // weights: light, dark
  ramp("7d3300 d55e00 f4c39f f2f2f2 9fcbe6 0072b2 003f66"), ramp("ffc9a3 d55e00 7d3300 2a2d31 00507f 0072b2 a9dcfb"),
];

/** The base class: reads `data`, finds language and theme, shows words where a figure is impossible. */
export class Figure extends HTMLElement {
  connectedCallback() {
    this.watch = new MutationObserver(() => this.theme());
    for (const e of [document.documentElement, document.body]) this.watch.observe(e, { attributes: true });
    this.media = matchMedia("(prefers-color-scheme:dark)");
    this.media.onchange = () => this.theme();
    if (this.box) return this.theme();
    this.zh = /^zh/i.test(this.closest("[lang]")?.lang || "");
    this.box = h("div", { class: "f", role: "group", "aria-label": this.localName });
    this.attachShadow({ mode: "open" }).append(h("style", {}, CSS), this.box);
    this.said = h("p", { class: "say", role: "status" });
    this.theme();
    try {
      const data = (this.data = JSON.parse(this.getAttribute("data")));
      if (data.question) {
        this.add(h("p", { class: "ask", dir: "auto" }, data.question));
        this.box.setAttribute("aria-label", data.question);
      }
      this.start(data);
      if (data.observe)
        this.add(h("details", {}, h("summary", {}, this.t("What you should see", "你应该看到什么")), h("p", { dir: "auto" }, data.observe)));
      this.draw();
    } catch (error) {
      const why = error instanceof Refusal ? error.message : this.t("its data cannot be read", "数据无法读取");
      this.draw = () => {};
      this.box.replaceChildren(h("p", { role: "note" }, this.t("This figure cannot be drawn: ", "此图无法绘制：") + why), h("slot"));
    }
    this.resize = new ResizeObserver(() => this.box.clientWidth !== this.wide && this.redraw());
    this.resize.observe(this.box);
  }
  disconnectedCallback() {
    this.watch.disconnect();
    this.media.onchange = null;
  }
  theme() {
    const page = document.documentElement.dataset.theme, lab = document.body.dataset.jpThemeLight;
    this.dark = page ? page === "dark" : lab ? lab === "false" : this.media.matches;
    this.box.className = this.dark ? "f dark" : "f";
    if (this.ready) this.redraw();
  }
  redraw() {
    this.wide = this.box.clientWidth;
    this.ready = true;
    this.draw();
  }
  t(en, zh) {
    return this.zh ? zh : en;
  }
  need(fine, en, zh) {
    if (!fine) throw new Refusal(this.t(en, zh));
  }
  add(...parts) {
    this.box.append(...parts);
    return parts[0];
  }
  row(...parts) {
    return this.add(h("div", { class: "row k" }, ...parts));
  }
  say(text) {
    if (this.said.textContent !== text) this.said.textContent = text;
  }
  /** A labelled slider over min..max; `show` writes its value. */
  slider(name, min, max, step, value, set, show = String) {
    const out = h("output", {}, show(value));
    const input = h("input", { type: "range", min, max, step, value, "aria-valuetext": show(value), oninput: () => {
      input.setAttribute("aria-valuetext", (out.textContent = show(+input.value)));
      set(+input.value);
      this.draw();
    } });
    return h("label", {}, name, input, out);
  }
  check(name, on, set) {
    const input = h("input", { type: "checkbox", onchange: () => (set(input.checked), this.draw()) });
    input.checked = on;
    return h("label", {}, input, name);
  }
  /** Buttons of which one is pressed. */
  choice(name, options, value, set) {
    const buttons = options.map((option, i) =>
      h("button", { type: "button", "aria-pressed": i === value, onclick: () => {
        buttons.forEach((b, j) => b.setAttribute("aria-pressed", i === j));
        set(i);
        this.draw();
      } }, option));
    return h("div", { class: "row tight k", role: "group", "aria-label": name }, ...buttons);
  }
  /** [background, ink] of t: 0 to 1, or -1 to 1 when signed. */
  color(t, signed) {
    const p = Math.round(100 * (signed ? (t + 1) / 2 : t));
    return RAMPS[(signed ? 2 : 0) + (this.dark ? 1 : 0)][Math.max(0, Math.min(100, p || 0))];
  }
}
class Refusal extends Error {}

/** base64 of float32 numbers -> numbers. */
export const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

/** A token as people see it. */
export const shown = (token) => (token.trim() ? token : "␣");
