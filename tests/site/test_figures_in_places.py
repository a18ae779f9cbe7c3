"""One figure, many surroundings: twice on a page, all on one, in a sandbox, without JavaScript, spoiled, nasty."""

import json

import pytest
import torch
from figure_pages import FIGURES, Opened, both, explorer, made, page, sandboxed

from attention_lib import viz

pytestmark = pytest.mark.site
TAGS = list(FIGURES)
UPGRADED = "e => !!e.shadowRoot && !e.shadowRoot.querySelector('slot') && e.shadowRoot.textContent.length > 50"
CHANGE = {
    "attn-explorer": "e.ask(0)",
    "attn-vectors": "e.move(-1, -1)",
    "attn-saturation": "e.at = 1; e.draw()",
    "attn-mask": "e.painted.set(3, true); e.draw()",
    "rnn-vs-attention": "e.time = 2; e.draw()",
    "tiny-transformer": "e.layer = 0; e.draw()",
}


@pytest.mark.parametrize("tag", TAGS)
def test_two_of_a_kind_do_not_disturb_each_other(browser, tag: str):
    with Opened(browser, both(tag, tag)) as opened:
        assert [opened.page.locator(tag).nth(i).evaluate(UPGRADED) for i in range(2)] == [True, True]
        opened.page.locator(tag).nth(0).evaluate(f"e => {{ {CHANGE[tag]} }}")
        first, second = (
            opened.page.locator(tag)
            .nth(i)
            .evaluate("e => e.said.textContent + e.shadowRoot.querySelector('.f').innerHTML")
            for i in (0, 1)
        )
        assert first != second
        assert opened.faults == []


def test_all_six_share_one_page(browser):
    with Opened(browser, both(*TAGS)) as opened:
        assert [opened.page.locator(tag).evaluate(UPGRADED) for tag in TAGS] == [True] * 6
        assert opened.faults == []


@pytest.mark.parametrize("tag", TAGS)
def test_a_sandboxed_frame_without_origin(browser, tag: str):
    with Opened(browser, sandboxed(made(tag).html())) as opened:
        frame = opened.page.frames[1]
        frame.wait_for_load_state()
        assert frame.evaluate("origin") == "null"
        assert frame.locator(tag).evaluate(UPGRADED)
        assert opened.faults == []


@pytest.mark.parametrize("tag", TAGS)
def test_without_javascript_the_table_is_seen(browser, tag: str):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.set_content(page(made(tag).html()))
    assert opened.locator(f"{tag} table").is_visible()
    assert made(tag).table[1][0] in opened.locator(f"{tag} tbody th").first.text_content()
    context.close()


BAD = {
    "attn-explorer": [
        ("broken json", lambda data: "{"),
        ("no data", lambda data: "null"),
        ("512 tokens", lambda data: data | {"tokens": ["x"] * 512}),
        ("no tokens", lambda data: data | {"tokens": []}),
        ("NaN", lambda data: data | {"heads": [data["heads"][0] | {"q": "AADAfw==" * 88}]}),
        ("not base64", lambda data: data | {"heads": [data["heads"][0] | {"q": "%%%"}]}),
        ("rows that do not sum to 1", lambda data: data | {"tokens": ["a"], "heads": [{"name": "h", "w": "AAAAPw=="}]}),
    ],
    "attn-vectors": [
        ("too few keys", lambda data: data | {"names": ["a", "b", "c", "d"]}),
        ("NaN", lambda data: data | {"query": "AADAfwAAwH8="}),
    ],
    "attn-saturation": [
        ("no draws", lambda data: data | {"draws": []}),
        ("keys missing", lambda data: data | {"keys": 7}),
    ],
    "attn-mask": [
        ("512 positions", lambda data: data | {"n": 512}),
        ("not square", lambda data: data | {"mask": [[1]]}),
    ],
    "rnn-vs-attention": [
        ("one token", lambda data: data | {"tokens": ["a"]}),
        ("512 tokens", lambda data: data | {"tokens": ["a"] * 512}),
    ],
    "tiny-transformer": [
        ("half the weights", lambda data: data | {"bytes": data["bytes"][:400]}),
        ("no table", lambda data: data | {"table": None}),
    ],
}


@pytest.mark.parametrize(
    ("tag", "name", "spoil"), [(tag, name, spoil) for tag, cases in BAD.items() for name, spoil in cases]
)
def test_an_element_refuses_in_words_and_leaves_the_table(browser, tag: str, name: str, spoil):
    html = made(tag).html()
    data = made(tag).data
    with Opened(browser, html.replace("<script>", "<script type=later>")) as opened:  # spoil it before it wakes up
        spoiled = spoil(data)
        opened.page.evaluate(
            "([tag, data]) => { document.querySelector(tag).setAttribute('data', data);"
            "for (const s of document.querySelectorAll('script[type=later]')) {"
            "const n = document.createElement('script'); n.textContent = s.textContent; s.replaceWith(n); } }",
            [tag, spoiled if isinstance(spoiled, str) else json.dumps(spoiled)],
        )
        note = opened.page.locator(f"{tag} [role=note]")
        assert note.text_content().startswith("This figure cannot be drawn: "), name
        assert opened.page.locator(f"{tag} table").is_visible()
        assert opened.faults == []


def test_weights_alone_have_no_steps_to_take(browser):
    figure = viz.explore(["a", "b"], weights=[[0.25, 0.75], [0.0, 1.0]])
    with Opened(browser, figure.html()) as opened:
        assert opened.cells("attn-explorer") == [["0.250", "0.750"], ["0.000", "1.000"]]
        assert opened.said("attn-explorer") == "a → b: 0.750"
        assert opened.page.locator("attn-explorer input, attn-explorer select").count() == 0
        assert opened.faults == []


NASTY = ["<img src=x onerror=alert(1)>", "</style><script>alert(2)</script>", "{{x}}", "'\"&amp;", "", " "]


def test_markup_in_tokens_is_text(browser):

    keys = viz.move_query([1.0, 0.0], torch.randn(6, 2), torch.randn(6), names=NASTY, question=NASTY[0]).html()
    reading = viz.read_aloud(NASTY, observe=NASTY[1]).html()
    with Opened(browser, explorer(NASTY, question=NASTY[0], observe=NASTY[1]).html() + keys + reading) as opened:
        for tag in ("attn-explorer", "attn-vectors", "rnn-vs-attention"):
            assert opened.page.locator(tag).evaluate("e => e.shadowRoot.querySelectorAll('img,script').length") == 0
            assert NASTY[0] in opened.page.locator(tag).evaluate("e => e.shadowRoot.textContent")
        assert opened.faults == []


@pytest.mark.parametrize(
    "tokens", [["سلام", "دنیا", "خوب"], ["注意力", "机制", "很", "重要"], ["one"], ["a" * 200, "b"]]
)
def test_tokens_of_any_script_and_length(browser, tokens: list[str]):
    for width in (1280, 320):
        with Opened(browser, explorer(tokens).html(), width=width) as opened:
            chips = opened.page.locator("attn-explorer .chip span").all_text_contents()
            assert chips == tokens
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.faults == []
