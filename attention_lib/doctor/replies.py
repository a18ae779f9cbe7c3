"""Reads what a candidate returned: which tensor is the output, which are the weights."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_lib.doctor.guard import Failure

__all__ = ["Reply", "read", "read_any"]


@dataclass
class Reply:
    """One answer: the output (still attached to its graph), what may be the weights, or what went wrong."""

    output: Tensor | None = None
    like_weights: tuple[Tensor, ...] = ()
    dtype: torch.dtype | None = None
    failure: Failure | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    tensors: tuple[Tensor, ...] = ()
    mutated: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.output is not None


def read(value: Any, expected: tuple[int, ...], scores: tuple[int, int]) -> Reply:
    """Find the output, of exactly the expected shape, and what may be weights: last axes ``scores``."""
    if isinstance(value, Failure):
        return Reply(failure=value)
    tensors = [_dense(tensor) for tensor in _tensors(value)]
    if any(tensor.is_meta or tensor.is_complex() for tensor in tensors):
        return Reply(failure=Failure("nothing", "returned a tensor without real numbers (complex, or on device meta)"))
    if not tensors:
        return Reply(failure=Failure("nothing", f"returned {type(value).__name__}, which holds no tensor"))
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    place = next((number for number, shape in enumerate(shapes) if shape == expected), None)
    if place is None:
        return Reply(shapes=shapes, tensors=tuple(tensors))
    others = [tensor for number, tensor in enumerate(tensors) if number != place]
    like_weights = tuple(t for t in others if t.ndim >= 2 and tuple(t.shape[-2:]) == scores and t.dtype != torch.bool)
    return Reply(tensors[place], like_weights, tensors[place].dtype, shapes=shapes, tensors=tuple(tensors))


def _dense(tensor: Tensor) -> Tensor:
    if tensor.is_nested:
        return tensor.to_padded_tensor(0.0)
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def read_any(value: Any) -> Tensor | None:
    """The first tensor of whatever was returned."""
    return next((_dense(tensor) for tensor in _tensors(value) if not tensor.is_meta), None)


def _tensors(value: Any, depth: int = 0) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return [torch.from_numpy(value.copy())]
    if depth > 3 or value is None or isinstance(value, (str, bytes)):
        return []
    if isinstance(value, list) and _numbers(value):
        return [torch.tensor(value, dtype=torch.float64)]
    if isinstance(value, (list, tuple)):
        return [tensor for part in value for tensor in _tensors(part, depth + 1)]
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in _tensors(part, depth + 1)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return [tensor for part in parts for tensor in _tensors(part, depth + 1)]
    return []


def _numbers(value: list) -> bool:
    """Whether a list nests down to plain numbers."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, (int, float))
