"""Every interactive figure in a real browser: alone, in pairs, in a sandbox, in the dark, on a phone, by keyboard."""

import re

import pytest
from figure_pages import FIGURES, OBSERVE, QUESTION, WORDS, Opened, made

pytestmark = pytest.mark.site
TAGS = list(FIGURES)
FOCUSABLE = "e => [...e.shadowRoot.querySelectorAll('button:not([disabled]),input,select,summary,[tabindex=\"0\"]')]"
UPGRADED = "e => !!e.shadowRoot && !e.shadowRoot.querySelector('slot') && e.shadowRoot.textContent.length > 50"

# What a reader can bring about: tag -> name of the state -> JavaScript on the element.
STATES = {
    "attn-explorer": {
        "at first": "",
        "scores": "e.shadowRoot.querySelectorAll('[aria-pressed]')[11].click()",
        "scaled": "e.shadowRoot.querySelectorAll('[aria-pressed]')[12].click()",
        "weighted sum": "e.shadowRoot.querySelectorAll('[aria-pressed]')[14].click()",
        "masked, second head": "e.head = 1; e.causal = true; e.step = 2; e.draw()",
        "opened": "e.shadowRoot.querySelector('details').open = true",
    },
    "attn-vectors": {"at first": "", "cold": "e.T = 0.01; e.draw()", "turned": "e.move(-1, -1)"},
    "attn-saturation": {
        "at first": "",
        "other draw": "e.shadowRoot.querySelector('button').click()",
        "wide": "e.at = 6; e.draw()",
    },
    "attn-mask": {
        "at first": "",
        "empty rows": "e.use.window = 1; e.use.w = 1; e.draw()",
        "painted": "e.painted.set(3, true); e.draw()",
    },
    "rnn-vs-attention": {"at first": "", "under way": "e.time = 2; e.draw()", "done": "e.time = 11; e.draw()"},
    "tiny-transformer": {
        "at first": "",
        "layer 1": "e.layer = 0; e.draw()",
        "nothing typed": "e.input.value = ''; e.read()",
        "odd letters": "e.input.value = 'a?éz注'; e.read()",
    },
}


def test_every_figure_has_its_states():
    assert list(STATES) == TAGS


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("tag", TAGS)
def test_every_state_is_accessible_and_quiet(browser, tag: str, theme: str, width: int):
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, made(tag).html(), width=width, theme=theme) as opened:
        figure = opened.page.locator(tag)
        for state, action in STATES[tag].items():
            figure.evaluate(f"e => {{ {action} }}")
            found = Axe().run(opened.page, options={"rules": {"target-size": {"enabled": True}}})
            broken = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found.response["violations"]]
            assert broken == [], state
            assert figure.evaluate(UPGRADED), state
        assert opened.faults == []


def test_axe_would_see_inside(browser):
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, made("attn-vectors").html()) as opened:
        opened.page.locator("attn-vectors").evaluate("e => { e.said.style.color = '#ddd' }")
        assert [v["id"] for v in Axe().run(opened.page).response["violations"]] == ["color-contrast"]


@pytest.mark.parametrize("tag", TAGS)
def test_nothing_scrolls_sideways_at_320(browser, tag: str):
    with Opened(browser, made(tag).html(), width=320) as opened:
        for state, action in STATES[tag].items():
            opened.page.locator(tag).evaluate(f"e => {{ {action} }}")
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320, state


@pytest.mark.parametrize("tag", TAGS)
def test_targets_are_at_least_24_pixels(browser, tag: str):
    with Opened(browser, made(tag).html(), width=360) as opened:
        small = opened.page.locator(tag).evaluate(
            f"e => ({FOCUSABLE})(e).filter(x => x.getClientRects().length)"
            ".map(x => [x.outerHTML.slice(0, 80), x.getBoundingClientRect()])"
            ".filter(([_, r]) => r.width < 24 || r.height < 24).map(([name, r]) => [name, r.width, r.height])"
        )
        assert [entry for entry in small if 'type="range"' not in entry[0]] == []
        assert all(height >= 16 for *_, height in small)


@pytest.mark.parametrize("tag", TAGS)
def test_tab_reaches_every_control_and_each_has_a_name(browser, tag: str):
    with Opened(browser, made(tag).html()) as opened:
        wanted = opened.page.locator(tag).evaluate(f"e => ({FOCUSABLE})(e).length")
        reached = set()
        for _ in range(wanted + 2):
            opened.page.keyboard.press("Tab")
            at = opened.page.evaluate(
                "() => { const e = document.activeElement?.shadowRoot; return e?.activeElement ? "
                "[...e.querySelectorAll('*')].indexOf(e.activeElement) : -1 }"
            )
            reached.add(at)
        assert len(reached - {-1}) == wanted > 2
        assert opened.faults == []


@pytest.mark.parametrize("tag", TAGS)
def test_the_theme_is_followed_at_once(browser, tag: str):
    ground = f"() => getComputedStyle(document.querySelector('{tag}').shadowRoot.querySelector('.f')).backgroundColor"
    with Opened(browser, made(tag).html()) as opened:
        assert opened.page.evaluate(ground) == "rgb(255, 255, 255)"
        opened.page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
        opened.page.wait_for_function(f"({ground})() === 'rgb(22, 25, 29)'", timeout=2000)
    with Opened(browser, made(tag).html(), theme=None, scheme="dark") as opened:
        assert opened.page.evaluate(ground) == "rgb(22, 25, 29)"
    with Opened(browser, made(tag).html(), theme=None) as opened:  # JupyterLab's way of saying it
        opened.page.evaluate("() => { document.body.dataset.jpThemeLight = 'false' }")
        opened.page.wait_for_function(f"({ground})() === 'rgb(22, 25, 29)'", timeout=2000)


@pytest.mark.parametrize("tag", TAGS)
def test_nothing_moves_by_itself(browser, tag: str):
    with Opened(browser, made(tag).html()) as opened:
        still = (
            "e => [...e.shadowRoot.querySelectorAll('*')].every(x => "
            "/^(0s)?(, 0s)*$/.test(getComputedStyle(x).transitionDuration)"
            " && getComputedStyle(x).animationName === 'none')"
        )
        assert opened.page.locator(tag).evaluate(still)
        before = opened.page.locator(tag).screenshot()
        opened.page.wait_for_timeout(200)
        assert opened.page.locator(tag).screenshot() == before


@pytest.mark.parametrize("tag", TAGS)
def test_question_first_observation_folded(browser, tag: str):
    with Opened(browser, made(tag).html()) as opened:
        assert opened.page.locator(f"{tag} .ask").text_content() == QUESTION
        assert not opened.page.locator(f"{tag} details p").is_visible()
        opened.page.locator(f"{tag} summary").press("Enter")
        assert opened.page.locator(f"{tag} details p").text_content() == OBSERVE


@pytest.mark.parametrize("tag", TAGS)
def test_chinese_where_the_page_is_chinese(browser, tag: str):
    with Opened(browser, made(tag).html(), lang="zh-CN") as opened:
        words = opened.page.locator(tag).evaluate(
            "e => { e.shadowRoot.querySelectorAll('style').forEach(s => s.remove());"
            "const all = document.createTreeWalker(e.shadowRoot, 4), words = [];"
            "while (all.nextNode()) words.push(all.currentNode.data); return words.join('\\n') }"
        )
        assert "你应该看到什么" in words
        own = words.replace(QUESTION, "").replace(OBSERVE, "")
        given = {*WORDS, "didn", "softmax", "Shift", "first", "second"}  # the caller's own words stay as they are
        left = [w for w in re.findall(r"[A-Za-z]{4,}", own) if w not in given and not w.isupper()]
        assert left == []


@pytest.mark.parametrize("tag", TAGS)
def test_print_shows_the_figure_and_not_its_controls(browser, tag: str):
    with Opened(browser, made(tag).html()) as opened:
        opened.page.emulate_media(media="print")
        assert opened.page.locator(f"{tag} .f").is_visible()
        assert all(not e.is_visible() for e in opened.page.locator(f"{tag} .row.k").all())
