"""Encoder and decoder layers and their stacks: equal to torch's after copying weights, gradients included."""

import itertools

import pytest
import torch
from torch import nn

from attention_lib import masks
from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.blocks import DecoderLayer, EncoderLayer
from attention_lib.layers.cache import KVCache
from attention_lib.layers.stacks import DecoderStack, EncoderStack, LayerSpec
from attention_lib.steps.masks import causal_mask, padding_mask, window_mask

B, L, S, D, H, D_FF = 2, 5, 7, 15, 3, 22
BOTH = pytest.mark.parametrize("norm_first", [False, True])


def torch_layer(kind, **options):
    """torch's layer in float64, with weights, norms and biases away from where they start."""
    layer = kind(D, H, D_FF, dropout=0.0, **options).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.4)
    return layer


def random(length, *, grad=False):
    return torch.randn(B, length, D, dtype=torch.float64, requires_grad=grad)


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)


@BOTH
@pytest.mark.parametrize("activation", ["relu", "gelu", nn.functional.gelu, nn.ReLU()])
@pytest.mark.parametrize("batch_first", [True, False])
def test_encoder_layer_equals_torch_with_gradients(norm_first, activation, batch_first):
    options = {"norm_first": norm_first, "activation": activation, "batch_first": batch_first}
    theirs = torch_layer(nn.TransformerEncoderLayer, layer_norm_eps=3e-4, **options)
    ours = EncoderLayer.from_torch(theirs)
    x, lengths = random(S, grad=True), [7, 3]
    flip = (lambda t: t) if batch_first else (lambda t: t.transpose(0, 1))
    mask = padding_mask(lengths, S)
    want = flip(theirs(flip(x), src_key_padding_mask=~mask[:, 0, 0]))
    got = ours(x, mask).output
    close(got, want)
    signal = torch.randn_like(got)
    mine = torch.autograd.grad(
        (got * signal).sum(), [x, ours.feed_forward.w_1.weight, ours.norm_1.bias, ours.attention.w_o.bias]
    )
    other = torch.autograd.grad(
        (want * signal).sum(), [x, theirs.linear1.weight, theirs.norm1.bias, theirs.self_attn.out_proj.bias]
    )
    for one, two in zip(mine, other, strict=True):
        close(one, two)


@BOTH
def test_encoder_layer_equals_torch_with_a_causal_mask_and_a_window(norm_first):
    theirs = torch_layer(nn.TransformerEncoderLayer, norm_first=norm_first, batch_first=True).eval()
    ours, x = EncoderLayer.from_torch(theirs), random(S)
    close(ours(x, causal=True).output, theirs(x, src_mask=~causal_mask(S)))
    close(ours(x, causal=True, window=3).output, theirs(x, src_mask=~window_mask(S, window=3)))


@BOTH
def test_decoder_layer_equals_torch_with_gradients(norm_first):
    theirs = torch_layer(nn.TransformerDecoderLayer, norm_first=norm_first, batch_first=True)
    ours = DecoderLayer.from_torch(theirs)
    x, memory, mask = random(L, grad=True), random(S, grad=True), padding_mask([7, 2], S)
    want = theirs(x, memory, tgt_mask=~causal_mask(L), memory_key_padding_mask=~mask[:, 0, 0])
    got = ours(x, memory, memory_mask=mask).output
    close(got, want)
    signal = torch.randn_like(got)
    mine = torch.autograd.grad((got * signal).sum(), [x, memory, ours.norm_3.weight, ours.cross_attention.w_o.weight])
    other = torch.autograd.grad(
        (want * signal).sum(), [x, memory, theirs.norm3.weight, theirs.multihead_attn.out_proj.weight]
    )
    for one, two in zip(mine, other, strict=True):
        close(one, two)


@BOTH
def test_decoder_layer_without_the_causal_mask_equals_torch(norm_first):
    theirs = torch_layer(nn.TransformerDecoderLayer, norm_first=norm_first, batch_first=True)
    x, memory, mask = random(L), random(S), padding_mask([5, 2], L)
    want = theirs(x, memory, tgt_key_padding_mask=~mask[:, 0, 0])
    close(DecoderLayer.from_torch(theirs)(x, memory, mask, causal=False).output, want)


@BOTH
def test_weights_equal_torchs_attention(norm_first):
    theirs = torch_layer(nn.TransformerDecoderLayer, norm_first=norm_first, batch_first=True)
    ours, x, memory = DecoderLayer.from_torch(theirs), random(L), random(S)
    _, weights, memory_weights = ours(x, memory, need_weights=True)
    read = theirs.norm1(x) if norm_first else x
    options = {"need_weights": True, "average_attn_weights": False}
    close(weights, theirs.self_attn(read, read, read, attn_mask=~causal_mask(L), **options)[1])
    assert memory_weights.shape == (B, H, L, S)
    close(memory_weights.sum(dim=-1), torch.ones(B, H, L, dtype=torch.float64))
    assert ours(x, memory).weights is None


@BOTH
def test_stacks_equal_torchs_encoder_and_decoder(norm_first):
    spec = LayerSpec(D, H, D_FF, norm_first=norm_first)
    norm = nn.LayerNorm(D).double() if norm_first else None
    encoder = nn.TransformerEncoder(
        torch_layer(nn.TransformerEncoderLayer, norm_first=norm_first, batch_first=True),
        3,
        norm,
        enable_nested_tensor=False,
    )
    decoder = nn.TransformerDecoder(
        torch_layer(nn.TransformerDecoderLayer, norm_first=norm_first, batch_first=True), 2, norm
    )
    for parameter in [*encoder.layers.parameters(), *decoder.layers.parameters()]:
        nn.init.normal_(parameter, std=0.3)  # torch starts all layers of a stack alike
    our_encoder, our_decoder = EncoderStack(3, spec).double(), DecoderStack(2, spec).double()
    our_encoder.layers = nn.ModuleList(map(EncoderLayer.from_torch, encoder.layers))
    our_decoder.layers = nn.ModuleList(map(DecoderLayer.from_torch, decoder.layers))
    x, y, mask = random(S), random(L), padding_mask([7, 4], S)
    memory = our_encoder(x, mask, need_weights=True)
    close(memory.output, encoder(x, src_key_padding_mask=~mask[:, 0, 0]))
    got = our_decoder(y, memory.output, mask, need_weights=True)
    want = decoder(y, memory.output, tgt_mask=~causal_mask(L), memory_key_padding_mask=~mask[:, 0, 0])
    close(got.output, want)
    assert [w.shape for w in memory.weights] == [(B, H, S, S)] * 3
    assert [w.shape for w in got.memory_weights] == [(B, H, L, S)] * 2
    assert our_encoder(x).weights is None


@BOTH
@pytest.mark.parametrize("cuts", [(0, 1, 2, 3, 4, 5), (0, 3, 5), (0, 1, 5)])
def test_cached_chunks_equal_the_whole(norm_first, cuts):
    spec = LayerSpec(D, H, D_FF, norm_first=norm_first)
    decoder, x, memory = DecoderStack(2, spec).double(), random(L), random(S)
    encoder = EncoderStack(2, spec).double()
    caches, own = [KVCache(), KVCache()], [KVCache(), KVCache()]
    spans = list(itertools.pairwise(cuts))
    parts = [decoder(x[:, a:b], memory, caches=caches).output for a, b in spans]
    close(torch.cat(parts, dim=1), decoder(x, memory).output)
    parts = [encoder(x[:, a:b], causal=True, window=3, caches=own).output for a, b in spans]
    close(torch.cat(parts, dim=1), encoder(x, causal=True, window=3).output)


@BOTH
def test_the_past_ignores_the_future_and_padding_counts_for_nothing(norm_first):
    layer, x, memory = DecoderLayer(D, H, D_FF, norm_first=norm_first).double(), random(L), random(S)
    mask = padding_mask([4, 7], S)
    before = layer(x, memory, memory_mask=mask).output
    changed, garbage = x.clone(), memory.clone()
    changed[:, 3:], garbage[0, 4:] = 9.0, 1e6
    after = layer(changed, garbage, memory_mask=mask).output
    close(after[:, :3], before[:, :3])
    assert (after[:, 3:] - before[:, 3:]).abs().min(dim=1).values.max() > 1e-3


def test_dropout_acts_in_training_alone():
    layer, x = EncoderLayer(D, H, D_FF, dropout_p=0.4).double(), random(S)
    assert not torch.equal(layer(x).output, layer(x).output)
    layer.eval()
    plain = EncoderLayer(D, H, D_FF).double()
    plain.load_state_dict(layer.state_dict())
    close(layer(x).output, plain(x).output)


def test_from_torch_follows_dropout_and_mode():
    theirs = nn.TransformerEncoderLayer(D, H, D_FF, dropout=0.3).eval()
    ours = EncoderLayer.from_torch(theirs)
    assert (ours.training, ours.dropout.p, ours.attention.dropout_p, ours.feed_forward.dropout.p) == (
        False,
        0.3,
        0.3,
        0.3,
    )
    assert ours.norm_1.eps == theirs.norm1.eps


@pytest.mark.parametrize(
    ("ours", "module", "message"),
    [
        (EncoderLayer, nn.Linear(2, 3), "needs an nn.TransformerEncoderLayer, got Linear"),
        (
            DecoderLayer,
            nn.TransformerEncoderLayer(4, 2, 8),
            "needs an nn.TransformerDecoderLayer, got TransformerEncoder",
        ),
        (EncoderLayer, nn.TransformerEncoderLayer(4, 2, 8, bias=False), "bias=False cannot be copied"),
        (EncoderLayer, nn.TransformerEncoderLayer(4, 2, 8, activation=torch.tanh), "'relu' and 'gelu'"),
        (EncoderLayer, nn.TransformerEncoderLayer(4, 2, 8, activation=nn.GELU("tanh")), "the exact one"),
    ],
)
@pytest.mark.bad_input
def test_from_torch_refuses_what_it_cannot_copy(ours, module, message):
    with pytest.raises(OptionError, match=message):
        ours.from_torch(module)


@pytest.mark.bad_input
def test_errors():
    with pytest.raises(OptionError, match="num_layers=0 must be a whole number, 1 or more"):
        EncoderStack(0, LayerSpec())
    with pytest.raises(OptionError, match=r"1 caches for 3 layers; .*range\(3\)"):
        EncoderStack(3, LayerSpec(4, 2))(torch.zeros(2, 5, 4), causal=True, caches=[KVCache()])
    with pytest.raises(OptionError, match="d_model=10 is not divisible by num_heads=3; choose d_model=9 or 12"):
        LayerSpec(10, 3).decoder_layer()
    with pytest.raises(ShapeError, match="axis B is 2 in query but 3 in key"):
        DecoderLayer(4, 2, 8)(torch.zeros(2, 5, 4), torch.zeros(3, 7, 4))


def test_a_converted_torch_mask_gives_the_same():
    x, blocked = random(S), torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    layer = EncoderLayer(D, H, D_FF).double()
    close(layer(x, masks.from_key_padding_mask(blocked)).output, layer(x, padding_mask([7, 4], S)).output)
