"""What a student is asked to write, torch has already: those places refuse while an answer runs.

The grader refuses in the sandbox, ``check`` around each call; so both say the same. It keeps honest people honest:
who goes round it has written more than the exercise asks for.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

__all__ = ["TORCH_ATTENTION", "TORCH_GRADIENTS", "Withheld", "find", "withheld", "withhold"]

TORCH_ATTENTION = (
    "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.multi_head_attention_forward",
    "torch.nn:MultiheadAttention.__init__", "torch.nn:TransformerEncoderLayer.__init__",
    "torch.nn.attention.flex_attention.flex_attention", "torch._C._nn.*attention*", "torch.*attention*",
    "torch._C:_VariableFunctions.*attention*", "torch.ops.aten.*attention*",
)  # fmt: skip
TORCH_GRADIENTS = (
    "torch.autograd.grad", "torch.autograd.backward", "torch.autograd.forward_ad.make_dual", "torch.*softmax_backward*",
    "torch._C:_VariableFunctions.*softmax_backward*", "torch.ops.aten.*softmax_backward*",
)  # fmt: skip


class Withheld(RuntimeError):
    """An answer called what it is asked to write."""


def withhold(places: Sequence[str]) -> list[tuple[Any, str, Any]]:
    """Make every place refuse.

    Args:
        places: ``module.name`` or ``module:class.name``; the name may be a pattern.

    Returns:
        (owner, name, what was there), to undo it.
    """
    before = []
    for place in places:
        for owner, name in _found(place):
            there = getattr(owner, name, None)
            try:
                setattr(owner, name, _refusal(f"{place.rpartition('.')[0].replace(':', '.')}.{name}"))
            except (AttributeError, TypeError):  # part of the interpreter, not to be changed
                continue
            before.append((owner, name, there))
    return before


def find(places: Sequence[str]) -> None:
    """Look the places up, which is slow the first time: a worker does it before it forks."""
    for place in places:
        _found(place)


@contextmanager
def withheld(places: Sequence[str]) -> Iterator[None]:
    """The places refuse inside, and are as before afterwards."""
    before = withhold(places)
    try:
        yield
    finally:
        for owner, name, there in reversed(before):
            setattr(owner, name, there)


def _refusal(place: str) -> Any:
    def refuse(*_args: Any, **_options: Any) -> NoReturn:
        raise Withheld(f"{place} is what you are asked to write; the grader withholds it")

    return refuse


@functools.cache
def _found(place: str) -> list[tuple[Any, str]]:
    """Owners and names that a place stands for; none where torch has no such thing."""
    where, _, name = place.rpartition(".")
    module, _, inner = where.partition(":")
    try:
        owner = torch.ops.aten if where == "torch.ops.aten" else importlib.import_module(module)
        owner = getattr(owner, inner) if inner else owner
    except (ImportError, AttributeError):
        return []
    if "*" not in name:
        return [(owner, name)] if hasattr(owner, name) else []
    names = _operators() if where == "torch.ops.aten" else dir(owner)
    return [(owner, one) for one in fnmatch.filter(names, name) if callable(getattr(owner, one, None))]


@functools.cache
def _operators() -> list[str]:
    """Names of torch's own operators."""
    schemas = torch._C._jit_get_all_schemas()
    return sorted({schema.name.partition("::")[2] for schema in schemas if schema.name.startswith("aten::")})
