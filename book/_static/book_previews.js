/* A link into the book shows what it leads to, when it is pointed at or focused. Escape closes; touch just follows. */
(() => {
  const LINKS = "article a.reference.internal[href*='#']";
  const OPEN_AFTER = 250;
  const CLOSE_AFTER = 200;
  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  let box = null;
  let shown = null;
  let timer = 0;
  let loading = null;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${root}_static/previews.js`;
      script.onload = () => resolve(window.bookPreviews);
      script.onerror = reject;
      document.head.append(script);
    });
    return loading;
  }

  function keyOf(link) {
    const [page, anchor] = link.href.split("#");
    return `${page.replace(root, "").replace(/\.html$/, "")}#${decodeURIComponent(anchor)}`;
  }

  function makeBox() {
    const element = document.createElement("div");
    element.className = "preview";
    element.id = "book-preview";
    element.setAttribute("role", "tooltip");
    element.hidden = true;
    element.addEventListener("pointerenter", () => clearTimeout(timer));
    element.addEventListener("pointerleave", () => later(close, CLOSE_AFTER));
    document.querySelector("main").append(element);
    return element;
  }

  function place(link) {
    const at = link.getClientRects()[0];
    const width = box.offsetWidth;
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
    const below = at.bottom + 6 + box.offsetHeight < innerHeight;
    box.style.left = `${left}px`;
    box.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - 6 - box.offsetHeight)}px`;
  }

  async function open(link) {
    const text = (await load())[keyOf(link)];
    if (!text || link !== wanted) return;
    close();
    box ??= makeBox();
    box.innerHTML = text; // cut out of the book's own pages when it was built
    box.hidden = false;
    link.removeAttribute("title"); // the browser's own hint would say less, beside this one
    link.setAttribute("aria-describedby", box.id);
    shown = link;
    place(link);
  }

  function close() {
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  }

  function follow() {
    if (!shown) return;
    const at = shown.getClientRects()[0];
    const gone = at.bottom < 0 || at.top > innerHeight;
    if (gone && document.activeElement !== shown) close(); // a focused link may still be scrolling into view
    else place(shown);
  }

  let wanted = null;
  function later(action, delay) {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  }
  function want(link) {
    wanted = link;
    later(() => open(link).catch(() => {}), OPEN_AFTER);
  }
  function leave() {
    wanted = null;
    later(close, CLOSE_AFTER);
  }

  document.querySelectorAll(LINKS).forEach((link) => {
    link.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && want(link));
    link.addEventListener("pointerleave", leave);
    link.addEventListener("focus", () => link.matches(":focus-visible") && want(link));
    link.addEventListener("blur", leave);
  });
  addEventListener("keydown", (event) => event.key === "Escape" && close());
  addEventListener("scroll", follow, { passive: true });
})();
