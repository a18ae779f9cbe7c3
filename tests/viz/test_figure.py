"""What a figure hands to a notebook and to the site: deterministic, safe, small, with words and numbers inside."""

import gzip
import json
import re
from html.parser import HTMLParser

import pytest
import torch
from tiny_model import tiny_figure

import attention_lib as al
from attention_lib import viz
from attention_lib.viz.figure import tags_in, with_script


def explorer(tokens=("the", "animal", "it"), **options):
    n = len(tokens)
    return viz.explore(list(tokens), query=torch.randn(n, 5), key=torch.randn(n, 5), value=torch.randn(n, 2), **options)


MAKERS = {
    "attn-explorer": explorer,
    "attn-vectors": lambda: viz.move_query([0.9, 0.3], [[1.0, 0.0], [0.6, 0.8]], [10.0, 20.0]),
    "attn-saturation": lambda: viz.saturate(torch.randn(2, 64), torch.randn(2, 5, 64), torch.randn(2, 5)),
    "attn-mask": lambda: viz.paint_masks(7, causal=True, length=5),
    "rnn-vs-attention": lambda: viz.read_aloud(["to", "be", "or", "not"]),
    "tiny-transformer": lambda: tiny_figure("q?", "o."),
}


class Parsed(HTMLParser):
    """Tags with attributes, and the text outside scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["script"]:
            self.words.append(data)


@pytest.mark.parametrize("tag", MAKERS)
def test_a_notebook_gets_three_kinds(tag, monkeypatch):
    monkeypatch.delenv("ATTENTION_FIGURES", raising=False)
    data, metadata = MAKERS[tag]()._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert data["image/png"].startswith(b"\x89PNG")
    assert data["text/plain"].startswith("Figure: ")
    assert metadata["image/png"]["alt"] == data["text/plain"].removeprefix("Figure: ")
    assert data["text/html"].count("<script>") == 2


@pytest.mark.parametrize("tag", MAKERS)
def test_the_site_gets_the_same_without_scripts(tag, monkeypatch):
    torch.manual_seed(1)
    figure = MAKERS[tag]()
    monkeypatch.setenv("ATTENTION_FIGURES", "svg")
    on_site = figure._repr_mimebundle_()[0]["text/html"]
    monkeypatch.delenv("ATTENTION_FIGURES")
    assert "<script" not in on_site
    assert with_script(on_site) == figure._repr_mimebundle_()[0]["text/html"]
    assert tags_in(on_site) == [tag]


@pytest.mark.parametrize("tag", MAKERS)
def test_the_same_call_gives_the_same_bytes(tag):
    found = []
    for _ in range(2):
        torch.manual_seed(2)
        found.append(MAKERS[tag]()._repr_mimebundle_()[0])
    assert found[0] == found[1]


@pytest.mark.parametrize("tag", MAKERS)
def test_a_figure_is_small(tag):
    html = MAKERS[tag]().html()
    assert len(MAKERS[tag]().html(script_inside=False).encode()) <= 30_000
    assert len(gzip.compress(html.encode(), 9)) <= 30_000


@pytest.mark.parametrize("tag", MAKERS)
def test_without_javascript_a_table_with_a_caption_remains(tag):
    figure = MAKERS[tag]()
    parsed = Parsed(figure.html(script_inside=False))
    assert parsed.open == []
    assert figure.picture.alt in parsed.words
    assert [name for name, _ in parsed.tags].count("tr") == len(figure.table) > 1
    assert len({len(row) for row in figure.table}) == 1
    for cell in (cell for row in figure.table for cell in row):
        assert cell in parsed.words


@pytest.mark.parametrize("tag", MAKERS)
def test_the_data_come_back_from_the_attribute(tag):
    figure = MAKERS[tag]()
    name, attributes = Parsed(figure.html()).tags[0]
    assert name == tag
    assert json.loads(attributes["data"]) == json.loads(json.dumps(figure.data))


NASTY = ["<script>alert(1)</script>", "'\"&amp;", "</attn-explorer>", "<img src=x onerror=alert(1)>"]


def test_markup_in_a_token_stays_text():
    figure = explorer(NASTY, question="<b>?</b>", observe="</script>", row=1)
    parsed = Parsed(figure.html())
    assert {name for name, _ in parsed.tags} <= {
        "attn-explorer",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "script",
    }
    assert len([name for name, _ in parsed.tags if name == "script"]) == 2
    data = json.loads(parsed.tags[0][1]["data"])
    assert data["tokens"] == NASTY
    assert data["question"] == "<b>?</b>"


def test_every_script_of_a_text_comes_once():
    two = (
        explorer().html(script_inside=False)
        + explorer().html(script_inside=False)
        + MAKERS["attn-mask"]().html(script_inside=False)
    )
    assert with_script(two).count("<script>") == 3
    assert with_script("<p>nothing</p>") == "<p>nothing</p>"


def test_numbers_in_the_table_are_torchs():
    q, k = torch.randn(4, 5), torch.randn(4, 5)
    figure = viz.explore(list("abcd"), query=q, key=k)
    weights = al.attention_weights(q, k)
    for line, (_, most, share) in zip(weights, figure.table[1:], strict=True):
        assert most == "abcd"[line.argmax()]
        assert share == f"{line.max():.3f}"


def test_numbers_that_python_writes_are_those_of_the_chapter():
    figure = MAKERS["attn-vectors"]()
    weights = torch.softmax(torch.tensor([0.9, 0.78]).double(), dim=0)
    assert [row[2] for row in figure.table[1:]] == [f"{w:.3f}" for w in weights]
    assert f"Answer: {weights @ torch.tensor([10.0, 20.0]).double():.3f}." in figure.picture.alt


def test_several_heads_are_packed_one_by_one():
    q, k, v = torch.randn(3, 4, 5), torch.randn(3, 4, 5), torch.randn(3, 4, 2)
    figure = viz.explore(list("abcd"), query=q, key=k, value=v, names=["x", "y", "z"])
    assert [head["name"] for head in figure.data["heads"]] == ["x", "y", "z"]
    assert (figure.data["d"], figure.data["dv"]) == (5, 2)
    assert len({head["q"] for head in figure.data["heads"]}) == 3


@pytest.mark.parametrize("tokens", [["one"], [str(i) for i in range(128)], ["سلام", "عالم"], ["注意力", "机制", " "]])
def test_few_many_and_other_scripts(tokens):
    figure = explorer(tokens)
    assert figure.data["tokens"] == tokens
    assert figure._repr_mimebundle_()[0]["image/png"].startswith(b"\x89PNG")


def test_half_precision_and_gradients_are_welcome():
    q = torch.randn(3, 4, dtype=torch.bfloat16, requires_grad=True)
    assert re.match(r"Figure: Attention of 3 tokens\. a looks most at ", repr(viz.explore(list("abc"), query=q, key=q)))


def test_rounded_weights_are_what_the_page_computes_with():
    parameters = {"a": torch.randn(5, 7), "b": torch.randn(3)}
    rounded = viz.round_weights(parameters)
    again = viz.round_weights(rounded)
    for name, tensor in parameters.items():
        assert rounded[name].shape == tensor.shape
        step = tensor.abs().max() / 127
        assert (rounded[name] - tensor).abs().max() <= step / 2 + 1e-6
        torch.testing.assert_close(again[name], rounded[name])
