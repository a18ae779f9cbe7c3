"""What a computation costs, counted while it runs: multiplications, and the largest tensor it makes. No times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Work", "work_of"]


class Work(NamedTuple):
    """``multiplications`` in matrix products; ``largest``, the bytes of the largest tensor made."""

    multiplications: int
    largest: int


class _Counter(TorchDispatchMode):
    """Sees every operation that torch carries out, with the shapes of its tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplications, self.largest = 0, 0

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = operation(*args, **(kwargs or {}))
        made = _tensors(result)
        self.multiplications += _multiplications(str(operation), args, made)
        given = {tensor.untyped_storage().data_ptr() for tensor in _tensors((args, kwargs))}
        for storage in (tensor.untyped_storage() for tensor in made):
            if storage.data_ptr() not in given:  # else a view, or written in place
                self.largest = max(self.largest, storage.nbytes())
        return result


def work_of(function: Callable[[], Any]) -> Work:
    """Count the work of a call.

    A fused attention is counted by its shapes, d_k + d_v multiplications for each of the L x S pairs of query and
    key: it is given all of them, and a mask.

    Args:
        function: Called once, without arguments.

    Returns:
        :class:`Work`. A view takes no memory and counts as nothing.

    Example:
        >>> query, key = torch.zeros(2, 3, 5), torch.zeros(2, 7, 5)
        >>> work_of(lambda: query @ key.mT)  # 2 x 3 x 7 scores, 5 products and 4 bytes each
        Work(multiplications=210, largest=168)
    """
    counter = _Counter()
    with torch.no_grad(), counter:
        function()
    return Work(counter.multiplications, counter.largest)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _multiplications(name: str, args: tuple[Any, ...], made: list[Tensor]) -> int:
    if name.startswith(("aten.mm.", "aten.bmm.")):
        return made[0].numel() * args[0].shape[-1]
    if name.startswith(("aten.addmm.", "aten.baddbmm.")):
        return made[0].numel() * args[1].shape[-1]
    if name.startswith("aten._scaled_dot_product"):
        query, key, value = args[:3]
        return query[..., 0].numel() * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    return 0
