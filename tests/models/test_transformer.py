"""The encoder-decoder transformer: equal to nn.Transformer, cached = uncached, padding, causality, weights."""

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.blocks import DecoderLayer, EncoderLayer
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.embedding import TokenEmbedding
from attention_lib.models.transformer import Transformer
from attention_lib.steps.masks import causal_mask
from attention_lib.tasks.pairs import END, START, decoder_input

B, S, T, D, H, D_FF, SOURCE, TARGET = 2, 7, 5, 22, 2, 31, 13, 17


def build(norm_first=False, **options):
    model = Transformer(SOURCE, TARGET, LayerSpec(D, H, D_FF, norm_first=norm_first), 3, **options).double()
    return model, torch.randint(SOURCE, (B, S)), torch.randint(TARGET, (B, T))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_equal_to_nn_transformer_with_gradients():
    theirs = nn.Transformer(D, H, 3, 3, D_FF, dropout=0.0, norm_first=True, batch_first=True).double()
    model, source, target_in = build(norm_first=True)
    model.encoder.layers = nn.ModuleList(map(EncoderLayer.from_torch, theirs.encoder.layers))
    model.decoder.layers = nn.ModuleList(map(DecoderLayer.from_torch, theirs.decoder.layers))
    lengths = torch.tensor([7, 4])
    blocked = torch.arange(S) >= lengths[:, None]
    want = model.vote(
        theirs(
            model.source_embedding(source),
            model.target_embedding(target_in),
            tgt_mask=~causal_mask(T),
            src_key_padding_mask=blocked,
            memory_key_padding_mask=blocked,
        )
    )
    got = model(source, target_in, lengths).logits
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)
    signal = torch.randn_like(got)
    shared = [model.source_embedding.weight, model.target_embedding.weight, model.vote.weight]
    ours = torch.autograd.grad((got * signal).sum(), shared)
    for mine, other in zip(ours, torch.autograd.grad((want * signal).sum(), shared), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_greedy_with_the_cache_equals_greedy_without(norm_first, positions):
    model, source, _ = build(norm_first, positions=positions)
    lengths = torch.tensor([4, 7])
    options = {"start": START, "longest": 11}
    cached, plain = (model.greedy(source, lengths, cached=cached, **options) for cached in (True, False))
    assert torch.equal(cached, plain)
    told = model(source, decoder_input(cached), lengths).logits.argmax(-1)
    assert torch.equal(told, cached)


def test_after_the_end_there_is_padding():
    model, source, _ = build()
    nn.init.zeros_(model.vote.weight)
    model.vote.bias.data = torch.eye(TARGET, dtype=torch.float64)[END]
    assert model.greedy(source, start=START, longest=3, end=END).tolist() == [[END, 0, 0]] * B


def test_padding_changes_nothing_and_the_future_neither():
    model, source, target_in = build()
    lengths = torch.tensor([7, 3])
    before = model(source, target_in, lengths).logits
    garbage, changed = source.clone(), target_in.clone()
    garbage[1, 3:] = (garbage[1, 3:] + 5) % SOURCE
    changed[:, 2:] = (changed[:, 2:] + 5) % TARGET
    after = model(garbage, changed, lengths).logits
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert (after[:, 2:] != before[:, 2:]).any()
    torch.testing.assert_close(model(source[1:, :3], target_in[1:]).logits, before[1:])


def test_every_layers_weights_on_request_and_none_kept():
    model, source, target_in = build()
    output = model(source, target_in, torch.tensor([7, 3]), need_weights=True)
    shapes = [[tuple(w.shape) for w in layers] for layers in output[1:]]
    assert shapes == [[(B, H, S, S)] * 3, [(B, H, T, T)] * 3, [(B, H, T, S)] * 3]
    assert not output.memory_weights[2][1, :, :, 3:].any()
    assert not output.decoder_weights[1].triu(1).any()
    assert model(source, target_in)[1:] == (None, None, None)
    held = {name for module in model.modules() for name in vars(module)}
    assert not {name for name in held if "weights" in name}


def test_tied_vote_is_the_embedding():
    model, source, target_in = build(tied=True)
    assert model.vote.weight is model.target_embedding.weight
    free = build()[0]
    count = [sum(p.numel() for p in m.parameters()) for m in (free, model)]
    assert count[0] - count[1] == TARGET * D
    model(source, target_in).logits.sum().backward()
    assert model.vote.weight.grad is not None


def test_embedding_by_hand():
    embedding = TokenEmbedding(3, 4).double()
    x = embedding(torch.tensor([[2, 0]]), offset=1)[0]
    angles = torch.tensor([1.0, 0.01], dtype=torch.float64)
    table = torch.stack((angles.sin(), angles.cos()), -1).flatten()
    torch.testing.assert_close(x[0], 2.0 * embedding.weight[2] + table)
    plain = TokenEmbedding(3, 4, positions=None)
    assert torch.equal(plain(torch.tensor([[1, 1]]))[0, 0], plain(torch.tensor([[1, 1]]))[0, 1])


@pytest.mark.bad_input
def test_errors_name_both_values():
    model = build()[0]
    with pytest.raises(OptionError, match=r"tokens holds numbers from 0 to 13, but the model has symbols 0 \.\.\. 12"):
        model(torch.tensor([[0, 13]]), torch.tensor([[1]]))
    with pytest.raises(OptionError, match="positions='rotary' is not known; choose 'sinusoidal', 'learned' or None"):
        TokenEmbedding(3, 4, positions="rotary")
    with pytest.raises(ShapeError, match=r"shape \(1, 3\) after 2 others reach position 5, but longest=4"):
        TokenEmbedding(3, 4, positions="learned", longest=4)(torch.zeros(1, 3).long(), offset=2)
    with pytest.raises(OptionError, match="longest=0 must be a whole number, 1 or more"):
        model.greedy(torch.tensor([[0]]), start=1, longest=0)
