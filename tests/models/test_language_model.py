"""Decoder-only and encoder-only models, sampling, and the reader with two answers."""

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.ablation import without_head
from attention_lib.layers.blocks import EncoderLayer
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.decoding import end_after, next_token
from attention_lib.models.language_model import LanguageModel
from attention_lib.models.readers import SequenceClassifier, TokenTagger
from attention_lib.models.two_answers import TwoAnswerReader
from attention_lib.steps.masks import causal_mask, window_mask
from attention_lib.tasks.two_relations import two_relation_batch
from attention_lib.training.loop import train
from attention_lib.training.losses import token_loss

B, L, D, H, SYMBOLS = 2, 7, 22, 2, 13


def language_model(norm_first=True, **options):
    return LanguageModel(SYMBOLS, LayerSpec(D, H, 31, norm_first=norm_first), 3, **options).double()


def tokens(length=L):
    return torch.randint(SYMBOLS, (B, length))


@pytest.mark.parametrize("norm_first", [False, True])
def test_equal_to_torchs_encoder_with_a_causal_mask(norm_first):
    model, read = language_model(norm_first), tokens()
    layer = nn.TransformerEncoderLayer(D, H, 31, dropout=0.0, norm_first=norm_first, batch_first=True).double()
    theirs = nn.TransformerEncoder(
        layer, 3, nn.LayerNorm(D).double() if norm_first else None, enable_nested_tensor=False
    )
    model.stack.layers = nn.ModuleList(map(EncoderLayer.from_torch, theirs.layers))
    x = model.embedding(read)
    torch.testing.assert_close(model(read).logits, model.vote(theirs(x, mask=~causal_mask(L))), rtol=1e-6, atol=1e-9)
    windowed = model.vote(theirs(x, mask=~window_mask(L, window=3)))
    torch.testing.assert_close(model(read, window=3).logits, windowed, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", None])
@pytest.mark.parametrize("options", [{}, {"temperature": 1.3}, {"temperature": 0.7, "top_k": 3}])
def test_generation_with_the_cache_equals_generation_without(positions, options):
    model, start = language_model(positions=positions), tokens(3)
    made = [
        model.generate(start, 11, cached=cached, generator=torch.Generator().manual_seed(5), **options)
        for cached in (True, False)
    ]
    assert torch.equal(*made)
    assert made[0].shape == (B, 14)
    assert torch.equal(made[0][:, :3], start)
    assert torch.equal(model.generate(start, 0), start)


def test_chunks_through_the_caches_equal_one_pass():
    model, read = language_model(), tokens()
    caches = model.new_caches()
    parts = [model(read[:, a:b], caches=caches).logits for a, b in ((0, 1), (1, 5), (5, 7))]
    torch.testing.assert_close(torch.cat(parts, dim=1), model(read).logits)


def test_the_past_ignores_the_future():
    model, read = language_model(), tokens()
    changed = read.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % SYMBOLS
    torch.testing.assert_close(model(changed).logits[:, :4], model(read).logits[:, :4])


@pytest.mark.parametrize(("num_layers", "window"), [(1, 3), (2, 3), (3, 2)])
def test_layers_with_a_window_reach_exactly_so_far(num_layers, window):
    model = LanguageModel(SYMBOLS, LayerSpec(D, H), num_layers, positions=None).double()
    x = model.embedding(tokens(11)).detach().requires_grad_()
    last = model.stack(x, causal=True, window=window).output[0, -1] @ torch.randn(D, dtype=torch.float64)
    touched = torch.autograd.grad(last, x)[0][0].abs().sum(-1) > 0
    reach = num_layers * (window - 1)
    assert touched.tolist() == [place >= 10 - reach for place in range(11)]


def test_weights_come_on_request_and_ties_share():
    model = language_model(tied=True)
    output = model(tokens(), need_weights=True)
    assert [tuple(w.shape) for w in output.weights] == [(B, H, L, L)] * 3
    assert model(tokens()).weights is None
    assert model.vote.weight is model.embedding.weight


def test_next_token_by_hand():
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    assert next_token(logits).tolist() == [1, 0]
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([next_token(logits, temperature=2.0, generator=generator) for _ in range(3000)])
    share = torch.stack([(drawn[:, 0] == symbol).double().mean() for symbol in range(3)])
    torch.testing.assert_close(share, torch.softmax(logits[0].double() / 2, -1), atol=0.03, rtol=0)
    two = {next_token(logits, temperature=9.0, top_k=2, generator=generator)[1].item() for _ in range(200)}
    assert two == {0, 1}


def test_end_after_keeps_the_end():
    assert end_after(torch.tensor([[2, 2, 2], [5, 5, 2]]), 2, 0).tolist() == [[2, 0, 0], [5, 5, 2]]


def test_tagger_ignores_padding_and_can_be_causal():
    model = TokenTagger(SYMBOLS, 5, LayerSpec(D, H), 2).double()
    read, lengths = tokens(), torch.tensor([7, 4])
    logits = model(read, lengths).logits
    assert logits.shape == (B, L, 5)
    torch.testing.assert_close(model(read[1:, :4]).logits, logits[1:, :4])
    changed = read.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % SYMBOLS
    torch.testing.assert_close(model(changed, causal=True).logits[:, :5], model(read, causal=True).logits[:, :5])
    assert (model(changed).logits[:, :5] != model(read).logits[:, :5]).any()
    weights = model(read, lengths, window=3, need_weights=True).weights
    assert not weights[0][1, :, :, 4:].any()
    assert (weights[1] > 0).sum(-1).max() == 3


def test_classifier_reads_vectors_in_their_order():
    model, x = SequenceClassifier(3, L, 5, LayerSpec(D, H), 2).double(), torch.randn(B, L, 3, dtype=torch.float64)
    logits, weights = model(x, need_weights=True)
    assert logits.shape == (B, 5)
    assert [tuple(w.shape) for w in weights] == [(B, H, L, L)] * 2
    assert (model(x.flip(1)).logits - logits).abs().max() > 1e-3
    nn.init.zeros_(model.positions)
    torch.testing.assert_close(model(x.flip(1)).logits, model(x).logits)


def test_without_head_takes_exactly_one_summand_away():
    layer, x = MultiHeadAttention(15, 3).double(), torch.randn(B, L, 15, dtype=torch.float64)
    nn.init.normal_(layer.w_o.bias)
    whole = layer(x).output
    lost = sum(whole - without_head(layer, head)(x).output for head in range(3))
    torch.testing.assert_close(lost + layer.w_o.bias, whole)
    assert layer.w_o.weight.all()


@pytest.mark.slow
def test_two_heads_learn_two_relations_and_losing_one_loses_one_answer():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    right = {}
    for heads in (1, 2):
        model = TwoAnswerReader(8, 8, 32, heads)
        batches = (two_relation_batch(32, 8, generator=generator) for _ in range(150))
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        train(model, batches, lambda m, b: token_loss(m(b.tokens).output, b.answers), optimizer)
        test = two_relation_batch(256, 8, generator=generator)
        right[heads] = _right(model, test)
    assert right[2].min() > 0.95
    assert right[1].min() < 0.5
    layer = model.attention
    for head in (0, 1):
        model.attention = without_head(layer, head)
        share = _right(model, test)
        assert share.max() > 0.95
        assert share.min() < 0.3


def _right(model, batch):
    return (model(batch.tokens).output.argmax(-1) == batch.answers).double().mean((0, 1))


def test_two_answers_cost_the_same_for_any_number_of_heads():
    count = {sum(p.numel() for p in TwoAnswerReader(8, 12, 32, heads).parameters()) for heads in (1, 2, 4, 16)}
    assert count == {8 * 32 + 12 * 32 + 4 * (32 * 32 + 32) + 32 * 16 + 16}


@pytest.mark.bad_input
def test_errors_name_both_values():
    model = language_model()
    with pytest.raises(OptionError, match="count=-1 must be a whole number, 0 or more"):
        model.generate(tokens(), -1)
    with pytest.raises(OptionError, match=r"temperature=-0.5 must be 0 \(greedy\) or more"):
        next_token(torch.zeros(1, 3), temperature=-0.5)
    with pytest.raises(OptionError, match="top_k=4 must be from 1 to 3"):
        next_token(torch.zeros(1, 3), temperature=1.0, top_k=4)
    with pytest.raises(ShapeError, match=r"x has shape \(2, 6, 3\); this model reads \(B, length=7, d_in=3\)"):
        SequenceClassifier(3, 7, 5, LayerSpec(D, H))(torch.zeros(2, 6, 3))
    with pytest.raises(OptionError, match="head=3 must be from 0 to 2"):
        without_head(MultiHeadAttention(15, 3), 3)
    with pytest.raises(OptionError, match="2 caches for 3 layers"):
        model(tokens(), caches=model.new_caches()[:2])
    with pytest.raises(OptionError, match="answers=0"):
        TokenTagger(SYMBOLS, 0, LayerSpec(D, H))
    with pytest.raises(OptionError, match="num_heads=3; choose d_model=21 or 24"):
        TwoAnswerReader(8, 12, 22, 3)
