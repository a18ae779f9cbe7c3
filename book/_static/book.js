/* What scrolls sideways can be reached by the keyboard: the theme does this for code, not for formulas and tables. */
(() => {
  const WIDE = ".math.display, .pst-scrollable-table-container, .bd-article .output, .bd-article pre";

  // The observer reports each element once at the start, and again when its width changes or a fold shows it.
  // All widths are read before anything is written, so the browser lays the page out only once.
  const observer = new ResizeObserver((entries) => {
    const elements = entries.map((entry) => entry.target);
    const wide = elements.map((element) => element.scrollWidth > element.clientWidth);
    elements.forEach((element, index) => {
      if (wide[index]) element.tabIndex = 0;
      else if (element.getAttribute("tabindex") === "0") element.removeAttribute("tabindex");
    });
  });

  document.querySelectorAll(WIDE).forEach((element) => observer.observe(element));
})();
