"""The search of the built site, in a browser, from the disk: obvious words, names of code, symbols."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from bookkit.book import Book

pytestmark = pytest.mark.site

ENTRY = re.compile(r"^- \*(?P<question>.+?)\*(?= |$)(?P<answer>.*)$", re.M)
LINK = re.compile(r"\((?:\.\./)?((?:chapters/)?\w+)\.md")
DONE = "() => /finished|did not match/.test(document.querySelector('#search-results').innerText)"
# What somebody types who has the question and not its words. Every entry of the page needs a row.
WORDS = {
    "What exactly are query, key and value?": "query key value",
    "Could W_Q = W_K = W_V? Why not one matrix?": "shared matrix symmetric",
    'Does "it" find "animal"?': "animal it",
    "Are attention weights explanations?": "attention explanation",
    "Why divide by sqrt(d_k), and not by d_k?": "divide square root variance",
    "I forgot the scaling and nothing happened. / The loss would not go down.": "without scaling loss",
    "What if the initialisation is not unit variance?": "initialisation variance",
    "Why is my softmax NaN?": "softmax nan",
    "softmax over which axis?": "softmax axis",
    "Why does the key bias not learn?": "key bias",
    'Is True "take part" or "blocked"?': "mask True blocked",
    "0/1 float masks, integer masks, attention_mask or key_padding_mask?": "key_padding_mask",
    "Which mask goes where? Should padded queries be masked? Is my causal mask transposed?": "padding mask",
    "Mask before or after the softmax? Fill with 0, -1e9 or -inf?": "1e9 inf mask",
    "What should an empty row, a valid length of 0, give?": "empty row mask",
    "My model is 100 % right in training. Does it read the future?": "reads the future",
    "The answer of a batch depends on its neighbours.": "left padding",
    "Should each head get the full d_model?": "head d_model",
    "Do more heads mean more parameters? Why reduce the width per head?": "heads parameters",
    "Why W_O?": "W_O",
    "view or transpose? My model trains, is it right?": "view transpose",
    "batch_first, kdim, vdim? May values be wider than keys?": "batch_first",
    "Do more heads learn faster?": "more heads faster",
    "My weights do not sum to 1. Should I divide them by their sum?": "weights sum dropout",
    "Dropout on weights, scores or output?": "dropout scores output",
    "Dropout is active in eval.": "dropout eval",
    "All rows of my map look alike. Pad rows differ between train and eval.": "rows alike eval",
    "Do I need warm-up?": "warm-up",
    "Copying works. Is my layer correct?": "copying task",
    "Top-left or bottom-right?": "top-left bottom-right",
    "Window w: w keys or w + 1? Does a smaller window save anything?": "window keys",
    "How large is the cache?": "cache bytes",
    "Why are RNNs slow? Is attention always faster?": "recurrent network slow step",
    "Does an LSTM forget the beginning? Why do gradients vanish?": "LSTM forget vanishing gradient",
    "What is the context vector? Bahdanau or Luong?": "Bahdanau Luong",
    "Divided by d_model, by the number of heads, or twice? Multiplied instead of divided?": "divided twice",
    "Softmax applied twice?": "softmax twice",
    "What does the output look like? Can attention invent a value?": "output between values",
    "Does attention know the order of the words?": "order of words",
    "The scores came back in place of the output. The values are never weighted. My input is changed in place.": (
        "scores returned"
    ),
    "The result depends on the rest of the batch, or on the call before.": "depends on the rest of the batch",
    "Is d_out the width of a head or of the concatenation?": "d_out",
    "Are the weights averaged over the heads? Why does need_weights cost so much memory?": "need_weights",
    "Why positions at all? Sinusoidal or rotary? Positions added twice?": "rotary positions",
    "Why residuals and feed-forward layers?": "residual feed-forward",
    "How does MobileViT use attention on images?": "MobileViT images",
    "It hardly learns. Is the gradient cut?": "gradient cut detach",
    "How does the time grow? What about more than one GPU?": "ring attention",
    "It runs, it trains, the shapes are right. Is it correct?": "doctor mistakes",
}
NAMES = {
    "masked_softmax": "chapters/05_softmax",
    "split_heads": "chapters/08_multi_head",
    "scaled_dot_product_attention": "chapters/06_weighted_sum",
    "KVCache": "chapters/12_long_sequences",
    "MobileViT": "chapters/13_transformer_and_mobilevit",
    "d_k": "chapters/04_scores_and_scaling",
    "d_model": "chapters/03_query_key_value",
    "W^O": "chapters/08_multi_head",
    "W_Q": "chapters/03_query_key_value",
    "sqrt(d_k)": "chapters/04_scores_and_scaling",
    "√d_k": "chapters/04_scores_and_scaling",
    "n^2": "chapters/12_long_sequences",
    "softmax(": "chapters/05_softmax",
    "MiniLM": "chapters/09_meaning_in_context",
    "causal_mask": "chapters/07_masks",
}


def entries() -> dict[str, set[str]]:
    """Each question of the page with the pages that answer it."""
    text = Book().source("book/questions").read_text("utf-8")
    return {
        match["question"]: {page if "/" in page else f"book/{page}" for page in LINK.findall(match["answer"])}
        for match in ENTRY.finditer(text)
    }


@pytest.fixture(scope="module")
def search(browser, site: Path):
    """A function from words to the pages found, best first."""
    page = browser.new_page()
    page.set_default_timeout(15_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def find(words: str) -> list[str]:
        page.goto(f"{(site / 'search.html').as_uri()}?q={quote(words)}")
        page.wait_for_function(DONE)
        links = page.eval_on_selector_all("#search-results li a", "links => links.map(link => link.href)")
        found = [link.removeprefix(f"{site.as_uri()}/").split(".html")[0] for link in links]
        assert errors == []
        return list(dict.fromkeys(found))

    yield find
    page.close()


def test_every_question_has_its_words():
    assert set(entries()) == set(WORDS)
    assert all(entries().values())


@pytest.mark.parametrize("question", WORDS)
def test_obvious_words_find_the_chapter_that_answers(search, question: str):
    found = search(WORDS[question])
    assert entries()[question] & set(found[:6]), found


@pytest.mark.parametrize("name", NAMES)
def test_names_of_code_and_symbols_are_found(search, name: str):
    found = search(name)
    assert NAMES[name] in found[:6], found


def test_nonsense_finds_nothing(search):
    assert search("zyxwvutsrq") == []
