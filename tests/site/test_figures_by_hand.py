"""Each figure driven by keyboard, pointer and typing; what the live region says; how much an answer moves."""

import re

import pytest
from figure_pages import Opened, explorer, made

pytestmark = pytest.mark.site


def test_the_explorer_by_keyboard_alone(browser):
    with Opened(browser, made("attn-explorer").html()) as opened:
        keys, said = opened.page.keyboard, lambda: opened.said("attn-explorer")
        assert said().startswith("it → ")
        opened.page.locator("attn-explorer [role=gridcell][tabindex='0']").focus()
        before = said()
        keys.press("ArrowDown")
        assert said().startswith("was → ")
        keys.press("ArrowLeft")
        assert said() != before
        for _ in range(20):
            keys.press("ArrowUp")
        assert said().startswith("The → ")
        opened.page.locator("attn-explorer select").focus()
        first = said()
        keys.press("ArrowDown")
        assert said() != first
        opened.page.get_by_role("button", name="4 weighted sum").focus()
        keys.press("Space")
        assert said().startswith("output of The [")
        opened.page.get_by_label("causal mask").focus()
        keys.press("Space")
        assert " = 1.00·" in said()


def test_the_query_by_keyboard_and_by_hand(browser):
    with Opened(browser, made("attn-vectors").html()) as opened:
        handle = opened.page.get_by_role("button", name="query (0.90, 0.30)")
        handle.focus()
        opened.page.keyboard.press("ArrowUp")
        assert opened.said("attn-vectors").startswith("q = (0.90, 0.36)")
        box = opened.page.locator("attn-vectors .pl").bounding_box()
        opened.page.mouse.move(box["x"] + 150, box["y"] + 75)
        opened.page.mouse.down()
        opened.page.mouse.move(box["x"] + 150, box["y"] + 60)
        opened.page.mouse.up()
        q = re.match(r"q = \((\S+), (\S+)\)", opened.said("attn-vectors"))
        assert abs(float(q[1].replace("−", "-"))) < 0.02
        assert 0.7 < float(q[2]) < 0.8


def test_masks_by_keyboard_and_by_brush(browser):
    with Opened(browser, made("attn-mask").html()) as opened:
        cells = opened.page.locator("attn-mask [role=gridcell]")
        cells.nth(0).focus()
        opened.page.keyboard.press("Space")
        assert "query 0 → key 0: blocked. Row 0 sees 0 of 8" in opened.said("attn-mask")
        assert "Empty rows: 0." in opened.page.locator("attn-mask").evaluate("e => e.shadowRoot.textContent")
        opened.page.keyboard.press("ArrowDown")
        assert "query 1 → key 0: may attend. Row 1 sees 2 of 8" in opened.said("attn-mask")
        cells.nth(5).hover()
        opened.page.mouse.down()
        cells.nth(6).hover()
        cells.nth(7).hover()
        opened.page.mouse.up()
        assert "Row 0 sees 3 of 8" in opened.said("attn-mask")
        opened.page.get_by_role("button", name="remove paint").click()
        assert "Row 0 sees 1 of 8" in opened.said("attn-mask")


def test_reading_by_keyboard(browser):
    with Opened(browser, made("rnn-vs-attention").html()) as opened:
        opened.page.get_by_role("button", name="Step").focus()
        for _ in range(20):
            opened.page.keyboard.press("Enter")
        said = opened.said("rnn-vs-attention")
        assert said.startswith(
            "After 11 steps the recurrent network has read 11 of 11 words and is done; attention is done."
        )
        assert "From “animal” to “tired”: 9 steps in the recurrent network, 1 in attention." in said
        opened.page.get_by_role("button", name="Start again").focus()
        opened.page.keyboard.press("Space")
        assert opened.said("rnn-vs-attention").startswith("After 0 steps")


def test_typing_into_the_tiny_model(browser):
    with Opened(browser, made("tiny-transformer").html()) as opened:
        assert "Expected next: E" in opened.said("tiny-transformer")
        opened.page.locator("tiny-transformer input").fill("ABCAB")
        opened.page.get_by_role("button", name="after B, position 5").click()
        assert "Layer 2: B at 5 looks at C at 3 (2 back)" in opened.said("tiny-transformer")
        assert "Expected next: C" in opened.said("tiny-transformer")
        opened.page.get_by_role("button", name="append its answer").click()
        assert opened.page.locator("tiny-transformer input").input_value() == "ABCABC"


# How often an action draws, how many nodes it changes, how many rectangles it paints: its cost, without a clock.
CHANGES = """(e, act) => {
  let painted = 0, drawn = 0;
  const watch = new MutationObserver(() => {}), {draw} = e;
  const pen = CanvasRenderingContext2D.prototype, fill = pen.fillRect;
  e.draw = () => { drawn += 1; draw.call(e); };
  pen.fillRect = function (...box) { painted += 1; fill.apply(this, box); };
  watch.observe(e.shadowRoot, {subtree: true, attributes: true, childList: true, characterData: true});
  new Function("e", act)(e);
  const changed = new Set(watch.takeRecords().map(({target}) => target));
  watch.disconnect();
  delete e.draw;
  pen.fillRect = fill;
  return [drawn, changed.size, painted];
}"""


@pytest.mark.parametrize(
    ("act", "most"),
    [
        # the cell that is left, the one that is entered, the line that says so, and the rows' names
        ("e.grid.go(7, 3, {type: 'pointermove'})", 3 + 16),
        # besides, each word's colour and its share, a text in an element
        ("e.ask(5)", 3 + 16 + 3 * 16),
        # every cell
        ("e.T = 2; e.draw()", 16 * 16 + 1 + 16 + 3 * 16),
    ],
)
def test_an_interaction_draws_once_and_touches_what_changes(browser, act: str, most: int):
    with Opened(browser, explorer([f"t{i}" for i in range(16)], row=7).html()) as opened:
        drawn, changed, painted = opened.page.locator("attn-explorer").evaluate(CHANGES, act)
        assert drawn == 1
        assert 0 < changed <= most
        assert painted == 0


def test_a_large_matrix_is_painted_once(browser):
    """64 tokens would be 4,096 elements."""
    with Opened(browser, explorer([f"t{i}" for i in range(64)]).html()) as opened:
        drawn, changed, painted = opened.page.locator("attn-explorer").evaluate(CHANGES, "e.ask(5)")
        assert (drawn, painted) == (1, 64 * 64)
        assert changed <= 3 * 64 + 2


# The same walk several times; of each step the quickest counts, since a busy moment is no fault of the figure.
WALK = """e => {
  const quickest = [];
  for (let round = 0; round < 5; round++) {
    let step = 0;
    const timed = act => {
      const start = performance.now();
      act();
      e.getBoundingClientRect();
      const taken = performance.now() - start;
      quickest[step] = Math.min(quickest[step++] ?? Infinity, taken);
    };
    for (let i = 0; i < 40; i++) timed(() => e.ask(i % e.n));
    for (let i = 0; i < 40; i++) timed(() => e.grid.go(i % e.n, (3 * i) % e.n, {type: 'pointermove'}));
    for (let i = 0; i < 20; i++) timed(() => { e.T = 1 + i / 10; e.draw(); });
    for (let i = 0; i < 20; i++) timed(() => { e.step = i % 4; e.draw(); });
  }
  return quickest.sort((a, b) => a - b)[Math.floor(0.95 * quickest.length)];
}"""


@pytest.mark.parametrize(("n", "milliseconds"), [(16, 16), (64, 50)])
def test_an_interaction_is_quick(browser, n: int, milliseconds: int):
    with Opened(browser, explorer([f"t{i}" for i in range(n)]).html()) as opened:
        measured = opened.page.locator("attn-explorer").evaluate(WALK)
    print(f"{n} tokens: 95 of 100 interactions within {measured:.1f} ms")
    assert measured <= milliseconds


def test_what_was_computed_once_is_kept(browser):
    with Opened(browser, made("attn-explorer").html()) as opened:
        kept = opened.page.locator("attn-explorer").evaluate(
            "e => { const first = e.matrices(); e.T = 2; e.draw(); e.T = 1; e.draw();"
            "return [e.made.size, e.matrices() === first] }"
        )
        assert kept == [2, True]
