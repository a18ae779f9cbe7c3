"""What a figure cannot show is refused in words: what came, what was expected, and the way out."""

import pytest
import torch

from attention_lib import viz
from attention_lib.errors import AttentionError, MaskError, OptionError, ShapeError

pytestmark = pytest.mark.bad_input

q = torch.arange(15.0).view(3, 5)
abc = ["a", "b", "c"]
nan = torch.tensor([[0.0, float("nan")]])
leaky = torch.tensor([[0.5, 0.5, 0.0], [0.3, 0.3, 0.3], [1.0, 0.0, 0.0]])
state = {
    "embedding.weight": q,
    "embedding.learned": q,
    "vote.weight": q,
    "vote.bias": torch.zeros(16),
    "stack.norm.weight": q[0],
}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: viz.explore("abc", query=q, key=q), OptionError, r"tokens='abc' is one text; give a list of tokens"),
        (lambda: viz.explore([1, 2], query=q, key=q), OptionError, r"tokens must be a list of texts, got list"),
        (lambda: viz.explore([], query=q, key=q), OptionError, r"tokens has length 0, but this figure shows 1 to 128"),
        (
            lambda: viz.explore(["x"] * 512, query=q, key=q),
            OptionError,
            r"length 512, .* 1 to 128; pass a slice: tokens\[:128\]",
        ),
        (lambda: viz.explore(abc, weights="abc"), ShapeError, r"weights must be a tensor or .* numbers, got str"),
        (lambda: viz.explore(abc), OptionError, r"give either query and key .* this call has none of them"),
        (lambda: viz.explore(abc, query=q), OptionError, r"this call has query$"),
        (lambda: viz.explore(abc, query=q, key=q, weights=leaky), OptionError, r"has query and key and weights"),
        (
            lambda: viz.explore(abc, query=q[:2], key=q),
            ShapeError,
            r"query has shape \(2, 5\), but this figure needs \(3, any\)",
        ),
        (lambda: viz.explore(abc, query=q, key=q[:, :4]), ShapeError, r"key has shape \(3, 4\), .* \(3, 5\)"),
        (lambda: viz.explore(abc, query=q[None], key=q), OptionError, None),
        (lambda: viz.explore(abc, query=torch.stack([q, q]), key=q), OptionError, r"query has 2 heads, but key has 1"),
        (lambda: viz.explore(["a"], query=nan, key=nan), AttentionError, r"query holds nan at index \(0, 1\)"),
        (
            lambda: viz.explore(["a"], query=1 / torch.zeros(1, 1), key=q[:1, :1]),
            AttentionError,
            r"query holds inf at index",
        ),
        (lambda: viz.explore(abc, weights=leaky), AttentionError, r"weights: row 1 sums to 0.900, not to 1"),
        (
            lambda: viz.explore(["a", "b"], weights=[[1.5, -0.5], [0, 1]]),
            AttentionError,
            r"row 0 holds -0.500, below 0",
        ),
        (lambda: viz.explore(abc, weights=torch.eye(3), causal=True), OptionError, r"causal=True needs query and key"),
        (lambda: viz.explore(abc, query=q, key=q, row=3), OptionError, r"row=3 must be a whole number from 0 to 2"),
        (
            lambda: viz.explore(abc, query=q, key=q, step="sum"),
            OptionError,
            r"step='sum' is not known; choose one of scores",
        ),
        (
            lambda: viz.explore(abc, query=q, key=q, names=["x", "y"]),
            OptionError,
            r"names has length 2, but there are 1 heads",
        ),
        (lambda: viz.move_query([1.0], [[1.0, 0.0]], [1.0]), ShapeError, r"query has shape \(1,\), .* needs \(2\)"),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(13, 2), torch.ones(13)),
            OptionError,
            r"keys has length 13, .* keys\[:12\]",
        ),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(2, 2), torch.ones(2, 3)),
            OptionError,
            r"values has 3 numbers a key",
        ),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(2, 2), torch.ones(2), temperature=0),
            OptionError,
            r"temperature=0 must",
        ),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(2, 2), torch.ones(2), names=["a"]),
            OptionError,
            r"names has length 1",
        ),
        (
            lambda: viz.saturate(torch.ones(9, 4), torch.ones(9, 2, 4), torch.ones(9, 2)),
            OptionError,
            r"9 draws of 2 keys",
        ),
        (
            lambda: viz.saturate(torch.ones(1, 4), torch.ones(1, 1, 4), torch.ones(1, 1)),
            OptionError,
            r"1 draws of 1 keys",
        ),
        (
            lambda: viz.saturate(torch.ones(1, 3), torch.ones(1, 2, 4), torch.ones(1, 2)),
            ShapeError,
            r"query has shape \(1, 3\)",
        ),
        (lambda: viz.paint_masks(512), OptionError, r"n=512 must be a whole number from 1 to 64"),
        (lambda: viz.paint_masks(4, window=0), OptionError, r"window=0 must be a whole number from 1 to 4"),
        (lambda: viz.paint_masks(2, torch.ones(2, 2)), MaskError, r"mask has dtype torch.float32, .* mask.bool\(\)"),
        (
            lambda: viz.paint_masks(2, torch.ones(2, 3).bool()),
            MaskError,
            r"mask has shape \(2, 3\), but n=2 positions need \(2, 2\)",
        ),
        (lambda: viz.read_aloud(["a"]), OptionError, r"tokens has length 1, but this figure shows 2 to 64; give more"),
        (lambda: viz.read_aloud(abc, remember=2), OptionError, r"remember=2 must be a whole number from 0 to 1"),
        (
            lambda: viz.run_tiny({}, "AB", weights=torch.zeros(2, 2, 2)),
            OptionError,
            r"parameters lack 'embedding.weight'",
        ),
        (
            lambda: viz.run_tiny(state, "AB", symbols="AB", weights=q),
            OptionError,
            r"symbols='AB' are 2, but the model has 16",
        ),
        (lambda: viz.run_tiny(state, "AZ", weights=q), OptionError, r"text='AZ' must be 1 to 3 of the letters ABC"),
        (lambda: viz.run_tiny(state, "ABCD", weights=q), OptionError, r"text='ABCD' must be 1 to 3"),
        (lambda: viz.run_tiny(state, "AB", row=2, weights=q), OptionError, r"row=2 must be a whole number from 0 to 1"),
        (lambda: viz.run_tiny(state, "AB", weights=q), ShapeError, r"weights has shape \(3, 5\), .* \(any, 2, 2\)"),
        (
            lambda: viz.run_tiny(state | {"w": torch.ones(300, 200)}, "AB", weights=torch.zeros(2, 2, 2)),
            OptionError,
            r"a page carries at most 40000",
        ),
        (lambda: viz.paint_masks(2, "ab"), ShapeError, r"mask must be a tensor or nested lists of numbers, got str"),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(1, 2), "x"),
            ShapeError,
            r"values must be a tensor or nested lists of numbers, got str",
        ),
        (
            lambda: viz.move_query([1.0, 0.0], torch.ones(1, 2), [1.0], temperature=True),
            OptionError,
            r"temperature=True must be a number from 0.01 to 10",
        ),
        (lambda: viz.round_weights({"w": 3}), ShapeError, r"w is a int, not a torch.Tensor; use torch.as_tensor\(w\)"),
        (
            lambda: viz.round_weights({"w": torch.ones(2, 2, 2)}),
            ShapeError,
            r"w has shape \(2, 2, 2\), but a page takes",
        ),
    ],
)
def test_refused_in_words(call, error, message):
    if message is None:  # one head in front of n tokens is the same as none
        assert len(call().data["heads"]) == 1
        return
    with pytest.raises(error, match=message):
        call()
