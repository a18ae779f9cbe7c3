"""The numbers in the page are torch's, to every digit shown."""

import re

import pytest
import torch
from figure_pages import DRAWS, KEYS, QKV, QUERY, VALUES, WORDS, Opened, made
from tiny_model import LETTERS, TEXT, ids, model

import attention_lib as al
from attention_lib.viz.saturation import row

pytestmark = pytest.mark.site
HALF = 0.5e-3 + 1e-6  # half of the last digit, and what float32 leaves open


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def close(shown: list[list[str]], theirs: torch.Tensor, blocked: str = "blocked") -> None:
    """Every cell, to its three decimals; a blocked one stands for weight 0."""
    for texts, values in zip(shown, theirs.double().tolist(), strict=True):
        for text, value in zip(texts, values, strict=True):
            assert (value == 0) if text.startswith(blocked) else abs(number(text) - value) <= HALF, (text, value)


@pytest.fixture
def explorer(browser):
    with Opened(browser, made("attn-explorer").html()) as opened:
        yield opened


@pytest.mark.parametrize("head", [0, 1])
def test_the_four_steps(explorer, head: int):
    q, k, v = (tensor[head].double() for tensor in QKV)
    explorer.page.locator("attn-explorer select").select_option(str(head))
    steps = {
        "1 scores": q @ k.T,
        "2 scaled": al.dot_product_scores(q, k),
        "3 softmax": al.attention_weights(q, k),
        "4 weighted sum": al.attention(q, k, v).output,
    }
    for name, theirs in steps.items():
        explorer.page.get_by_role("button", name=name).click()
        close(explorer.cells("attn-explorer"), theirs)


def test_width_temperature_and_mask(explorer):
    q, k = QKV[0][0].double(), QKV[1][0].double()
    explorer.set("attn-explorer", "dₖ", 5)
    close(explorer.cells("attn-explorer"), al.attention_weights(q[:, :5], k[:, :5]))
    explorer.set("attn-explorer", "temperature", 0.5)
    close(explorer.cells("attn-explorer"), al.attention_weights(q[:, :5], k[:, :5], scale=1 / (5**0.5 * 10**0.5)))
    explorer.page.get_by_label("causal mask").check()
    masked = al.attention_weights(q[:, :5], k[:, :5], scale=1 / (5**0.5 * 10**0.5), causal=True)
    close(explorer.cells("attn-explorer"), masked)


def test_the_line_of_arithmetic(explorer):
    q, k = QKV[0][0].double(), QKV[1][0].double()
    it, scores = WORDS.index("it"), q @ k.T
    weights = al.attention_weights(q, k)
    j = int(weights[it].argmax())
    scaled = scores[it, j] / 8**0.5
    found = explorer.said("attn-explorer")
    assert found.startswith(f"it → {WORDS[j]}: exp(")
    exponent, total, share = (number(x) for x in re.findall(r"[−\d.]+(?=\) /|\s=|$)", found))
    assert abs(exponent - scaled) <= HALF
    assert abs(total - (scores[it] / 8**0.5).exp().sum()) <= 0.006
    assert abs(share - weights[it, j]) <= HALF


def test_weights_above_the_words(explorer):
    weights = al.attention_weights(QKV[0][0].double(), QKV[1][0].double())[WORDS.index("it")]
    shown = explorer.page.locator("attn-explorer .chip small").all_text_contents()
    assert [abs(number(text) - value) <= 0.005 + 1e-6 for text, value in zip(shown, weights.tolist(), strict=True)] == [
        True
    ] * 11


@pytest.mark.parametrize("power", [-2.0, 0.0, 1.0])
def test_the_moved_query(browser, power: float):
    with Opened(browser, made("attn-vectors").html()) as opened:
        opened.set("attn-vectors", "temperature", power)
        matches = KEYS.double() @ QUERY.double()
        weights = torch.softmax(matches / 10**power, dim=0)
        table = opened.page.locator("attn-vectors").evaluate(
            "e => e.rows.map(r => [...r.cells].slice(1, 3).map(c => c.textContent))"
        )
        close(table, torch.stack([matches, weights], dim=1))
        answer = opened.said("attn-vectors").rpartition("= ")[2]
        assert abs(number(answer) - weights @ VALUES.double()) <= HALF


@pytest.mark.parametrize("draw", [0, 1])
@pytest.mark.parametrize("place", range(7))
def test_saturation(browser, draw: int, place: int):
    q, k, v = (tensor[draw] for tensor in DRAWS)
    with Opened(browser, made("attn-saturation").html()) as opened:
        opened.set("attn-saturation", "dₖ", place)
        if draw:
            opened.page.get_by_role("button", name="draw other vectors").click()
        d, said = 2**place, opened.said("attn-saturation")
        assert said.startswith(f"dₖ = {d}: largest of 5 weights ")
        divided, plain = row(q, k, v, d, d**-0.5), row(q, k, v, d, 1.0)
        expected = [divided[0], plain[0], divided[1], plain[1]]
        shown = [number(text) for text in re.findall(r"\d\.\d{3}", said)]
        assert [abs(a - b) <= HALF for a, b in zip(shown, expected, strict=True)] == [True] * 4


def test_masks(browser):
    with Opened(browser, made("attn-mask").html()) as opened:
        expected = al.combine_masks(al.causal_mask(8), al.padding_mask([6], 8))[0, 0]
        assert opened.cells("attn-mask") == [
            ["may attend" if cell else "blocked" for cell in line] for line in expected.tolist()
        ]
        text = opened.page.locator("attn-mask").evaluate("e => e.facts.textContent")
        assert text == (
            f"No row is empty. Allowed pairs: {int(expected.sum())}. A full matrix computes n² = 64 scores; "
            "keeping only the widest row, n·w = 8·6 = 48."
        )


@pytest.mark.parametrize("text", [TEXT, "A", "PONMLKJIHGFEDCBAPONM"])
def test_the_tiny_model(browser, text: str):
    logits, weights = model()(ids(text), need_weights=True)
    shares = logits[0].double().softmax(dim=-1)
    with Opened(browser, made("tiny-transformer").html()) as opened:
        opened.page.locator("tiny-transformer input").fill(text)
        for layer in (0, 1):
            opened.page.get_by_role("button", name=f"layer {layer + 1}").click()
            close(opened.cells("tiny-transformer"), weights[layer][0, 0], blocked="the future")
        found = opened.page.locator("tiny-transformer .an button").evaluate_all(
            "all => all.map(e => e.getAttribute('aria-label'))"
        )
        for i, label in enumerate(found):
            letter, percent = re.search(r": (\w), (\d+) %", label).groups()
            assert letter == LETTERS[shares[i].argmax()]
            assert abs(int(percent) - 100 * shares[i].max()) <= 0.51
