"""Bad input is refused at the entry point, in words that name both values and the way out."""

import pytest
import torch
from torch import Tensor

from attention_lib import MaskError, OptionError, ShapeError, attention, attention_weights

pytestmark = pytest.mark.bad_input

BOTH = [
    lambda query, key, value, *rest, **options: attention(query, key, value, *rest, **options),
    lambda query, key, value, *rest, **options: attention_weights(query, key, *rest, **options),
]
both_entries = pytest.mark.parametrize("entry", BOTH, ids=["attention", "attention_weights"])


def escape(message):
    return message.replace("(", r"\(").replace(")", r"\)").replace("[", r"\[").replace("]", r"\]").replace("...", ".*")


def refuse(error, message, entry, shapes, *rest, **options):
    tensors = [shape if isinstance(shape, (Tensor, list)) else torch.zeros(shape) for shape in shapes]
    with pytest.raises(error, match=escape(message)):
        entry(*tensors, *rest, **options)


@both_entries
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [(2, 7, 8), (2, 5, 4), (2, 5, 3)],
            "axis d_k is 8 in query but 4 in key; shapes (2, 7, 8) and (2, 5, 4); ...project both to the same d_k",
        ),
        (
            [(2, 7, 5), (3, 7, 5), (3, 7, 5)],
            "axis B is 2 in query but 3 in key; shapes (2, 7, 5) and (3, 7, 5); leading",
        ),
        (
            [(2, 3, 7, 5), (2, 2, 7, 5), (2, 2, 7, 5)],
            "axis H is 3 in query, not a multiple of H_kv = 2 in key; shapes (2, 3, 7, 5) and (2, 2, 7, 5); each key",
        ),
        ([(2, 2, 7, 5), (2, 6, 7, 5), (2, 6, 7, 5)], "axis H is 2 in query, not a multiple of H_kv = 6 in key"),
        ([(2, 3, 7, 5), (2, 0, 7, 5), (2, 0, 7, 5)], "axis H is 3 in query, not a multiple of H_kv = 0 in key"),
        (
            [(2, 7, 5), (7, 5), (7, 5)],
            "query has 3 axes but key has 2; shapes (2, 7, 5) and (7, 5); give both the same",
        ),
        ([(7, 0), (5, 0), (5, 3)], "axis d_k is 0 in query and key; shape (7, 0); a dot product needs d_k >= 1"),
        ([(5,), (7, 5), (7, 5)], "query has shape (5,); it needs at least two axes, ...query.unsqueeze(0)"),
        ([(7, 5), (5,), (7, 5)], "key has shape (5,); it needs at least two axes, ...key.unsqueeze(0)"),
        ([(7, 5), [[0.0] * 5], (7, 5)], "key is a list, not a torch.Tensor; use torch.as_tensor(key)"),
        (
            [torch.zeros(7, 5, dtype=torch.int64), (7, 5), (7, 5)],
            "query has dtype torch.int64; attention needs floating point: query.float()",
        ),
        (
            [(7, 5), torch.zeros(7, 5, dtype=torch.float64), (7, 5)],
            "dtype is torch.float32 in query but torch.float64 in key; convert one: key.to(query.dtype)",
        ),
        (
            [(7, 5), torch.zeros(7, 5, device="meta"), (7, 5)],
            "device is cpu for query but meta for key; move one: key.to(query.device)",
        ),
    ],
)
def test_query_and_key(entry, shapes, message):
    refuse(ShapeError, message, entry, shapes)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [(7, 3), (5, 3), (2, 3)],
            "axis S is 5 in key but 2 in value; shapes (5, 3) and (2, 3); every key needs a value",
        ),
        (
            [(2, 7, 3), (2, 5, 3), (3, 5, 3)],
            "axis B is 2 in query but 3 in value; shapes (2, 7, 3) and (3, 5, 3); leading",
        ),
        (
            [(1, 7, 3), (2, 5, 3), (3, 5, 3)],
            "axis B is 2 in key but 3 in value; shapes (2, 5, 3) and (3, 5, 3); leading",
        ),
        (
            [(2, 6, 7, 3), (2, 3, 5, 3), (2, 2, 5, 3)],
            "axis H_kv is 3 in key but 2 in value; shapes (2, 3, 5, 3) and (2, 2, 5, 3); key and value need the same",
        ),
        ([(2, 7, 3), (2, 5, 3), (5, 3)], "query has 3 axes but value has 2; shapes (2, 7, 3) and (5, 3); give both"),
        ([(7, 3), (5, 3), (5,)], "value has shape (5,); it needs at least two axes, ...value.unsqueeze(0)"),
        (
            [(7, 3), (5, 3), torch.zeros(5, 3, dtype=torch.float16)],
            "dtype is torch.float32 in query but torch.float16 in value; convert one: value.to(query.dtype)",
        ),
        (
            [(7, 3), (5, 3), torch.zeros(5, 3, dtype=torch.int32)],
            "value has dtype torch.int32; attention needs floating point: value.float()",
        ),
    ],
)
def test_value(shapes, message):
    refuse(ShapeError, message, attention, shapes)


@both_entries
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(5, 7, dtype=torch.int64), "(5, 7) for scores (2, 3, 5, 7) has dtype torch.int64; ...mask.bool()"),
        (torch.ones(2, 5, 7) > 0, "(2, 5, 7) is ambiguous for scores (2, 3, 5, 7): ...mask[:, None]"),
        (
            torch.ones(5, 11) > 0,
            "(5, 11) does not broadcast to the scores ...(2, 3, 5, 7): it covers 11 keys, there are 7",
        ),
        (
            torch.ones(2, 7) > 0,
            "(2, 7) does not broadcast ...(2, 3, 5, 7); a (B, S) padding mask ...mask[:, None, None, :]",
        ),
        (
            torch.zeros(1, 2, 3, 5, 7),
            "(1, 2, 3, 5, 7) has more axes than the scores (2, 3, 5, 7); drop the leading ones",
        ),
        ([[True]], "mask is a list, not a torch.Tensor; use torch.as_tensor(mask)"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"causal": True}], ids=str)
def test_mask(entry, mask, message, options):
    refuse(MaskError, message, entry, [(2, 3, 5, 2), (2, 3, 7, 2), (2, 3, 7, 2)], mask, **options)


@both_entries
@pytest.mark.parametrize("window", [0, -2, 2.0, True, "3"])
def test_window(entry, window):
    message = f"window={window!r} must be a whole number of keys, 1 or more ...window=None turns it off"
    refuse(OptionError, message, entry, [(5, 2), (5, 2), (5, 2)], window=window)


@pytest.mark.parametrize("dropout_p", [1.0, -0.1, 1.5, float("nan")])
def test_dropout(dropout_p):
    message = f"dropout_p={dropout_p!r} must be in [0, 1): the probability of dropping a weight"
    refuse(OptionError, message, attention, [(5, 2), (5, 2), (5, 2)], dropout_p=dropout_p)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([5], "rows=[5] asks for a row outside 0 ... 4; there are L = 5 queries"),
        ([0, -6], "rows=[0, -6] asks for a row outside 0 ... 4; there are L = 5 queries"),
        (torch.tensor([7]), "rows=[7] asks for a row outside 0 ... 4; there are L = 5 queries"),
        ([0.5], "rows=[0.5] must be a list, a slice or a one-dimensional integer tensor"),
        (3, "rows=3 must be a list, a slice or a one-dimensional integer tensor"),
        (torch.tensor([[1]]), "must be a list, a slice or a one-dimensional integer tensor"),
        (
            [True, False, True, False, True],
            "rows=[True, ... must be a list, a slice or a one-dimensional integer tensor",
        ),
    ],
)
def test_rows(rows, message):
    refuse(OptionError, message, attention_weights, [(5, 2), (5, 2)], rows=rows)
