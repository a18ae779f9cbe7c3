// Reading a sentence by hand: one step a token, or three products for all tokens at once.

import { Figure, h, shown } from "./base.js";

/** Dependent products until the last of n states is there, and between positions i < j. */
export const steps = (n) => ({ rnn: n, attention: 3 });
export const path = (i, j) => ({ rnn: j - i, attention: 1 });

export class RnnVsAttention extends Figure {
  start({ tokens, from = 0 }) {
    const n = tokens.length;
    this.need(n > 1 && n <= 64, `it has ${n} tokens, and shows 2 to 64`, `它有 ${n} 个词元，只能显示 2 到 64 个`);
    Object.assign(this, { tokens, n, time: 0, from: Math.min(from, n - 2) });
    this.add(h("style", {}, `.tk{display:flex;flex-wrap:wrap;gap:4px;list-style:none;padding:0;margin:.2rem 0 .9rem}.tk li,.tk button{padding:.1rem .45rem;border:1px solid var(--line);border-radius:4px;min-height:28px;max-width:100%;overflow-wrap:anywhere}
.tk .got{background:var(--soft);border-color:var(--q);box-shadow:inset 0 -4px var(--q)}.tk .now{background:var(--ink);color:var(--bg)}`));
    this.add(h("p", { class: "dim" }, this.t("Choose a word to remember; then step.", "先选一个要记住的词，再一步一步走。")));
    this.picks = tokens.map((token, i) => h("button", { type: "button", dir: "auto", disabled: i === n - 1, onclick: () => ((this.from = i), this.draw()) }, shown(token)));
    this.add(h("div", { class: "tk", role: "group", "aria-label": this.t("word to remember", "要记住的词") }, ...this.picks));
    const list = () => tokens.map((token) => h("li", { dir: "auto" }, shown(token)));
    this.lists = [list(), list()];
    this.titles = [h("b", {}), h("b", {})];
    this.lists.forEach((items, k) => this.add(this.titles[k], h("ol", { class: "tk" }, ...items)));
    const button = (text, act) => h("button", { type: "button", onclick: () => (act(), this.draw()) }, text);
    this.row(button(this.t("Step", "走一步"), () => (this.time = Math.min(this.n, this.time + 1))), button(this.t("Back", "退一步"), () => (this.time = Math.max(0, this.time - 1))), button(this.t("Start again", "重来"), () => (this.time = 0)));
    this.add(this.said);
  }
  draw() {
    const { n, time, from, tokens } = this, total = steps(n), far = path(from, n - 1), did = Math.min(time, 3);
    const parts = this.t("project,compare,mix", "投影,比较,混合").split(",");
    const set = (e, got, now) => (e.className = now ? "now" : got ? "got" : "");
    this.picks.forEach((b, i) => b.setAttribute("aria-pressed", i === from));
    this.lists[0].forEach((e, i) => set(e, i < time, i === time - 1));
    this.lists[1].forEach((e) => set(e, time > 0, time > 0 && time < 3));
    this.titles[0].textContent = this.t(`Recurrent network: ${time} of ${total.rnn} dependent steps`, `循环网络：${total.rnn} 个相依步骤中的第 ${time} 步`);
    this.titles[1].textContent = this.t(`Attention: ${did} of ${total.attention} (${did ? parts[did - 1] : "project, compare, mix"})`, `注意力：${total.attention} 步中的第 ${did} 步（${did ? parts[did - 1] : "投影、比较、混合"}）`);
    const word = shown(tokens[from]), last = shown(tokens[n - 1]);
    this.say(this.t(
      `After ${time} ${time === 1 ? "step" : "steps"} the recurrent network has read ${time} of ${n} words${time === n ? " and is done" : ""}; attention ${did === 3 ? "is done" : did ? `has done “${parts[did - 1]}” for all words` : "has not begun"}. From “${word}” to “${last}”: ${far.rnn} ${far.rnn === 1 ? "step" : "steps"} in the recurrent network, ${far.attention} in attention.`,
      `${time} 步之后，循环网络读了 ${n} 个词中的 ${time} 个${time === n ? "，读完了" : ""}；注意力${did === 3 ? "已完成" : did ? `对所有词完成了“${parts[did - 1]}”` : "还没开始"}。从“${word}”到“${last}”：循环网络 ${far.rnn} 步，注意力 ${far.attention} 步。`));
  }
}
