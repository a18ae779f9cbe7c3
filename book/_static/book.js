/* What scrolls sideways can be reached by the keyboard: the theme does this for code, not for formulas and tables. */
(() => {
  const WIDE = ".math.display, .pst-scrollable-table-container, .bd-article .output, .bd-article pre";

  function reach(element) {
    const wide = element.scrollWidth > element.clientWidth;
    if (wide) element.tabIndex = 0;
    else if (element.getAttribute("tabindex") === "0") element.removeAttribute("tabindex");
  }

  function reachAll() {
    document.querySelectorAll(WIDE).forEach(reach);
  }

  let waiting = 0;
  function soon() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(reachAll);
  }

  addEventListener("load", soon);
  addEventListener("resize", soon);
  document.addEventListener("toggle", soon, true); // a fold was opened
  document.addEventListener("click", (event) => event.target.closest(".toggle-button, .tab-label") && soon());
})();
