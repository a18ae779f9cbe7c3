"""Faults of the theme and of extensions, repaired on each page; templates in ``book/_templates`` do the rest.

Scripts in a page's head hold up the first picture: here they are deferred, which keeps their order. A folded
cell says "Show a solution" but is announced as "Toggle hidden content": the announcement goes. The
entries of a bibliography, which is a list, are its items. Names, punctuation and blanks in code have the colour of
plain code: their spans, a third of a chapter's elements, only cost time.
"""

import re

PAGE_NAME = "DOCUMENTATION_OPTIONS.pagename"
NOT_ALLOWED = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    ' role="doc-biblioentry"': ' role="listitem"',
}
PLAIN_CODE = re.compile(r'<span class="[npw]">([^<]*)</span>')


def _defer_scripts(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Defer every script file. What is written into the page itself and needs them waits for them."""
    for script in context.get("script_files", []):
        attributes = getattr(script, "attributes", {})
        body = attributes.get("body", "")
        if script.filename:
            attributes.setdefault("defer", "defer")
        elif body.startswith(PAGE_NAME):
            attributes["body"] = f'document.addEventListener("DOMContentLoaded", () => {{ {body} }});'


def _repair_body(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    if "body" not in context:
        return
    body = context["body"]
    for wrong, right in NOT_ALLOWED.items():
        body = body.replace(wrong, right)
    context["body"] = PLAIN_CODE.sub(r"\1", body)


def setup(app) -> dict:
    """Register the extension."""
    app.connect("html-page-context", _defer_scripts, priority=940)
    app.connect("html-page-context", _repair_body, priority=940)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
