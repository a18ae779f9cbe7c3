"""Widening half precision, and coming back without infinities."""

import pytest
import torch

from attention_lib.steps.precision import saturate, widen


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(torch.float16, torch.float32), (torch.bfloat16, torch.float32), (torch.float32, torch.float32),
     (torch.float64, torch.float64)],
    ids=str,
)  # fmt: skip
def test_widen(dtype, wide):
    tensor = torch.ones(2, dtype=dtype)
    assert widen(tensor).dtype == wide
    assert (widen(tensor) is tensor) == (dtype == wide)


def test_saturate():
    numbers = torch.tensor([1e6, -1e6, 3.0])
    assert saturate(numbers, torch.float16).tolist() == [65504.0, -65504.0, 3.0]
    assert saturate(numbers, torch.float32) is numbers
    assert saturate(torch.tensor([3.4e38]), torch.bfloat16).isfinite().all()
