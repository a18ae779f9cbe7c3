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

/* A page from the disk may not read others for the summaries of a search: the titles alone, then, and no error. */
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

/* Sphinx asks for this function by its name. "W^O" in a query is what the chapters write W_O. */
var splitQuery = (query) =>
  query
    .replace(/\b([A-Za-z])\^\{?([A-Z])\b\}?/g, "$1_$2")
    .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu)
    .filter((term) => term);

/* On paper nobody can open a fold. */
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((fold) => (fold.open = true));
});
