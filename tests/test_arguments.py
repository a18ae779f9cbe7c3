"""What a reader types by mistake ends in one sentence of the library, never in an error from inside torch."""

import datetime

import numpy as np
import pytest
import torch

import attention_lib as al
from attention_lib.arguments import check_device, check_weights_fit
from attention_lib.layers.ablation import without_head
from attention_lib.models.convolution import ConvClassifier
from attention_lib.models.decoding import next_token
from attention_lib.tasks.copying import copy_batch
from attention_lib.tasks.dates import date_batch, english_date
from attention_lib.tasks.digits import digit_batch
from attention_lib.tasks.induction import induction_batch
from attention_lib.tasks.lag_copy import lag_copy_batch
from attention_lib.tasks.numerals import numeral_batch
from attention_lib.tasks.recall import recall_batch
from attention_lib.tasks.sorting import sort_batch
from attention_lib.tasks.two_relations import two_relation_batch
from attention_lib.training.loop import train
from attention_lib.training.losses import token_loss
from attention_lib.training.schedules import vaswani, warmup_cosine

LAYERS = {
    "MultiHeadAttention": lambda: al.MultiHeadAttention(8, 2),
    "SelfAttention": lambda: al.SelfAttention(8),
    "FeedForward": lambda: al.FeedForward(8, 13),
    "EncoderLayer": lambda: al.EncoderLayer(8, 2, 13),
    "EncoderLayer, norm first": lambda: al.EncoderLayer(8, 2, 13, norm_first=True),
    "RNN": lambda: al.RNN(8, 5),
    "LSTM": lambda: al.LSTM(8, 5),
}
NO_TENSORS = [None, "abc", [[1.0, 2.0]], 1.5, np.ones((2, 3, 8))]


@pytest.mark.bad_input
@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("came", NO_TENSORS, ids=repr)
def test_a_layer_is_given_no_tensor(build, came):
    with pytest.raises(al.ShapeError, match=rf"is a {type(came).__name__}, not a torch.Tensor; use torch.as_tensor"):
        build()(came)


@pytest.mark.bad_input
@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.float16, torch.bool], ids=str)
def test_a_layer_is_given_another_dtype(build, dtype):
    with pytest.raises(al.ShapeError, match=rf"has dtype {dtype}, this layer torch.float32; write \w+.to"):
        build()(torch.ones(2, 3, 8, dtype=dtype))


@pytest.mark.bad_input
@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
def test_a_layer_is_given_another_device(build):
    with pytest.raises(al.ShapeError, match="is on meta but this layer's weights are on cpu; move one"):
        build()(torch.ones(2, 3, 8, device="meta"))


@pytest.mark.bad_input
@pytest.mark.parametrize("shape", [(), (8,), (2, 3, 0), (2, 3, 7)])
@pytest.mark.parametrize("build", LAYERS.values(), ids=LAYERS)
def test_a_layer_is_given_another_shape(build, shape):
    layer = build()
    if shape == (8,) and isinstance(layer, al.FeedForward):
        assert layer(torch.ones(shape)).shape == shape  # one position by itself
        return
    with pytest.raises(al.ShapeError, match=rf"\({', '.join(map(str, shape))},?\)"):
        layer(torch.ones(shape))


def test_autocast_may_mix_dtypes():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert al.MultiHeadAttention(8, 2)(torch.ones(2, 3, 8, dtype=torch.bfloat16)).output.shape == (2, 3, 8)


def test_a_layer_whose_weights_are_no_tensor_is_not_examined():
    check_weights_fit("x", torch.ones(2), weight=lambda: None)


WIDTHS = {
    "d_ff": lambda width: al.FeedForward(8, width),
    "d_k": lambda width: al.SelfAttention(8, width),
    "d_v": lambda width: al.SelfAttention(8, 8, width),
    "d_key": lambda width: al.MultiHeadAttention(8, 2, d_key=width),
    "d_value": lambda width: al.MultiHeadAttention(8, 2, d_value=width),
    "d_hidden": lambda width: al.AdditiveScores(8, 8, width),
    "d_query": lambda width: al.AdditiveScores(width, 8, 8),
    "length": lambda length: al.SinusoidalPositions(8) and position_table(length),
}


def position_table(length):
    from attention_lib.layers.positions import sinusoidal_table

    return sinusoidal_table(length, 8)


@pytest.mark.bad_input
@pytest.mark.parametrize("came", ["8", 2.5, -3, [8], True], ids=repr)
@pytest.mark.parametrize("name", WIDTHS)
def test_a_width_is_no_whole_number(name, came):
    with pytest.raises(al.OptionError) as error:
        WIDTHS[name](came)
    assert f"{name}={came!r} must be a whole number, " in str(error.value)


@pytest.mark.bad_input
@pytest.mark.parametrize("came", ["0.5", [0.5], {}, True], ids=repr)
def test_a_scale_is_no_number(came):
    x = torch.ones(2, 3, 5, 7)
    calls = [
        lambda: al.attention(x, x, x, scale=came),
        lambda: al.attention_weights(x, x, scale=came),
        lambda: al.dot_product_scores(x, x, scale=came),
        lambda: al.averaged_weights(x, x, scale=came),
        lambda: al.ragged_attention(x, x, x, [5, 3], scale=came),
    ]
    for call in calls:
        with pytest.raises(al.OptionError) as error:
            call()
        assert f"scale={came!r} must be a number" in str(error.value)


@pytest.mark.bad_input  # not what the signature says, yet torch multiplies by it
def test_a_scale_may_be_learned():
    x, scale = torch.ones(3, 5), torch.tensor(0.3, requires_grad=True)
    al.dot_product_scores(x, x, scale=scale).sum().backward()
    assert scale.grad.item() == 45  # 9 scores of 5 each


@pytest.mark.bad_input
@pytest.mark.parametrize("came", ["last", {}, [None], ["a"], object()], ids=repr)
def test_rows_that_are_no_rows(came):
    with pytest.raises(al.OptionError, match=r"rows=.* must be a list, a slice or a one-dimensional integer tensor"):
        al.attention_weights(torch.ones(3, 5), torch.ones(3, 5), rows=came)


@pytest.mark.bad_input
@pytest.mark.parametrize("came", NO_TENSORS, ids=repr)
def test_a_step_is_given_no_tensor(came):
    x = torch.ones(2, 3, 8)
    calls = [
        lambda: al.masked_softmax(came),
        lambda: al.weighted_sum(came, x),
        lambda: al.weighted_sum(x, came),
        lambda: al.split_heads(came, 2),
        lambda: al.merge_heads(came),
        lambda: al.KVCache().append(came, x),
        lambda: al.SinusoidalPositions(8)(came),
        lambda: al.RotaryPositions(8)(x, came),
        lambda: al.AdditiveScores(8, 8, 8)(x, came),
        lambda: al.LanguageModel(7, al.LayerSpec(8, 2))(came),
        lambda: al.Seq2Seq(7, 7, 8).encode(came),
        lambda: next_token(came),
        lambda: token_loss(came, x),
        lambda: token_loss(x, came),
    ]
    for call in calls:
        with pytest.raises(
            al.ShapeError, match=rf"is a {type(came).__name__}, not a torch.Tensor; use torch.as_tensor"
        ):
            call()


@pytest.mark.bad_input
def test_a_mask_among_others_is_no_tensor():
    with pytest.raises(al.MaskError, match=r"mask is a list, not a torch.Tensor; use torch.as_tensor\(mask\)"):
        al.combine_masks(al.causal_mask(3), [[True]])
    with pytest.raises(al.OptionError, match="S='5' must be a whole number, 0 or more"):
        al.padding_mask([1, 3], S="5")


@pytest.mark.bad_input
@pytest.mark.parametrize("name", ["gpu", "cuda:99", "", 1.5], ids=repr)
def test_a_device_that_is_not_there(name):
    calls = [check_device, lambda it: al.causal_mask(3, device=it), lambda it: al.window_mask(3, window=2, device=it)]
    for call in calls:
        with pytest.raises(al.OptionError, match=r"device=.* cannot be used here \(.+\); use device=attention_lib"):
            call(name)


@pytest.mark.bad_input
@pytest.mark.parametrize("came", ["cache", {}, [1.0], 3], ids=repr)
def test_a_cache_that_is_none(came):
    with pytest.raises(al.OptionError, match=rf"cache is of class {type(came).__name__}, not KVCache; .*=KVCache\(\)"):
        al.MultiHeadAttention(8, 2)(torch.ones(2, 3, 8), causal=True, cache=came)


@pytest.mark.bad_input
@pytest.mark.parametrize("came", [None, "small", 8, {"d_model": 8}], ids=repr)
def test_a_spec_that_is_none(came):
    calls = [
        lambda: al.LanguageModel(7, came),
        lambda: al.Transformer(7, 7, came),
        lambda: al.MobileViTBlock(3, came),
    ]
    for call in calls:
        with pytest.raises(al.OptionError, match=rf"spec is of class {type(came).__name__}, not LayerSpec; pass one"):
            call()
    with pytest.raises(al.OptionError, match=rf"layer is of class {type(came).__name__}, not MultiHeadAttention"):
        without_head(came, 0)


BATCHES = [
    lambda generator: copy_batch(2, shortest=2, longest=3, generator=generator),
    lambda generator: date_batch(2, generator=generator),
    lambda generator: digit_batch(2, generator=generator),
    lambda generator: induction_batch(2, 3, generator=generator),
    lambda generator: lag_copy_batch(2, 7, lag=2, generator=generator),
    lambda generator: numeral_batch(2, generator=generator),
    lambda generator: recall_batch(2, 5, generator=generator),
    lambda generator: sort_batch(2, 5, generator=generator),
    lambda generator: two_relation_batch(2, 5, generator=generator),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("draw", BATCHES)
@pytest.mark.parametrize("came", [0, "seed", [1]], ids=repr)
def test_a_seed_in_place_of_a_generator(draw, came):
    with pytest.raises(al.OptionError, match=rf"generator is of class {type(came).__name__}, .*manual_seed"):
        draw(came)


@pytest.mark.bad_input
def test_numbers_of_tasks_and_schedules():
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(al.OptionError, match="noise='much' must be a number"):
        digit_batch(2, noise="much", generator=generator)
    with pytest.raises(al.OptionError, match="warmup_steps='4' must be a number"):
        vaswani(1, d_model=8, warmup_steps="4")
    with pytest.raises(al.OptionError, match="total_steps=nan must be a number"):
        warmup_cosine(1, warmup_steps=2, total_steps=float("nan"))
    with pytest.raises(al.OptionError, match="temperature='warm' must be 0"):
        next_token(torch.ones(2, 7), temperature="warm")
    with pytest.raises(al.OptionError, match="top_k='3' must be from 1 to 7"):
        next_token(torch.ones(2, 7), top_k="3")
    assert english_date(datetime.date(2021, 3, 5)).startswith("5 March")


@pytest.mark.bad_input
def test_tokens_and_targets_of_another_dtype():
    model = al.LanguageModel(7, al.LayerSpec(8, 2))
    for dtype in (torch.bool, torch.uint8, torch.float32):
        with pytest.raises(al.ShapeError, match=rf"dtype {dtype}; a model reads whole numbers \(B, L\)"):
            model(torch.ones(2, 3, dtype=dtype))
    with pytest.raises(al.ShapeError, match=r"target has dtype torch.float32; .*target.long\(\)"):
        token_loss(torch.ones(2, 3, 7), torch.ones(2, 3))
    with pytest.raises(al.ShapeError, match=r"x has shape \(2, 3, 8, 8\); this layer reads images \(B, 1, height"):
        ConvClassifier(5, 8)(torch.ones(2, 3, 8, 8))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda model, batch: model(batch).sum().item(), r"returned a float at step 1; .*without .item\(\)"),
        (lambda model, batch: model(batch), r"returned a tensor of shape \(2, 1\) at step 1, not one number"),
        (lambda model, batch: model(batch).sum().detach(), "returned .* without a gradient at step 1"),
    ],
)
def test_losses_that_cannot_be_trained(loss, message):
    model = torch.nn.Linear(3, 1)
    with pytest.raises(al.ShapeError, match=message):
        train(model, [torch.ones(2, 3)], loss, torch.optim.SGD(model.parameters(), lr=0.1))
    assert model.weight.grad is None
