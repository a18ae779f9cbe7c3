"""What a decoder remembers between steps: the keys and values of the tokens it has read."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import torch
from torch import Tensor

from attention_lib.arguments import check_instance
from attention_lib.axes import check_tensor
from attention_lib.errors import OptionError, ShapeError
from attention_lib.shapes import Float

__all__ = ["KVCache", "check_cache"]


class KVCache:
    """Keys and values of earlier positions, one cache for one attention layer and one batch of sequences.

    ``module(x_new, causal=True, cache=cache)`` appends the new positions and attends to all of them, so that
    chunks of any length give what one full pass gives. The cache belongs to the caller; the module keeps nothing.

    Example:
        >>> cache = KVCache()
        >>> keys, values = cache.append(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4))
        >>> keys, values = cache.append(torch.ones(1, 2, 1, 4), torch.ones(1, 2, 1, 4))
        >>> len(cache), keys.shape
        (4, torch.Size([1, 2, 4, 4]))
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None
        self._owner: weakref.ref[object] | None = None  # weak: a cache keeps no layer alive

    def __len__(self) -> int:
        """Number of positions held."""
        return 0 if self.key is None else self.key.shape[-2]

    def append(
        self, key: Float[Tensor, "B H_kv new d_k"], value: Float[Tensor, "B H_kv new d_v"]
    ) -> tuple[Tensor, Tensor]:
        """Add positions at the end and return all keys and values held.

        Args:
            key: ``(B, H_kv, new, d_k)``.
            value: ``(B, H_kv, new, d_v)``.

        Returns:
            Keys ``(B, H_kv, S, d_k)`` and values ``(B, H_kv, S, d_v)``, S counting the new positions.

        Raises:
            ShapeError: Not four axes, key and value of different B, H_kv or length, or batch, heads, width, dtype or
                device differ from what the cache holds.
        """
        check_tensor("key", key)
        check_tensor("value", value)
        if key.ndim != 4 or key.shape[:-1] != value.shape[:-1]:
            raise ShapeError(
                f"the new key and value have shapes {tuple(key.shape)} and {tuple(value.shape)}; the cache takes "
                "(B, H_kv, new, d_k) and (B, H_kv, new, d_v) with equal B, H_kv and new"
            )
        if self.key is None or self.value is None:
            self.key, self.value = key, value
            return key, value
        for name, new, held in (("key", key, self.key), ("value", value, self.value)):
            _check_same(name, new, held)
        self.key = torch.cat((self.key, key), dim=-2)
        self.value = torch.cat((self.value, value), dim=-2)
        return self.key, self.value

    def claim(self, owner: object) -> None:
        """Tie the cache to the first layer that uses it; keys of two layers must not mix.

        Raises:
            OptionError: Another layer has used this cache.
        """
        if self._owner is not None and self._owner() is not owner:
            raise OptionError(
                "this KVCache already holds the keys of another layer; give each layer a KVCache() of its own"
            )
        self._owner = weakref.ref(owner)

    def __deepcopy__(self, memo: Any) -> KVCache:
        """A second continuation of the same sequence, in the same layer."""
        twin = KVCache()
        twin.key, twin.value, twin._owner = copy.deepcopy(self.key, memo), copy.deepcopy(self.value, memo), self._owner
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """A pickle leaves the owner out: there may be no such layer where it is read."""
        return {**self.__dict__, "_owner": None}


def check_cache(cache: KVCache | None, other: Tensor | None, *, causal: bool) -> None:
    """Check that a call with a cache is causal self-attention.

    Raises:
        OptionError: ``cache`` is none, ``other``, a key or value, was given too, or the call is not causal.
    """
    if cache is None:
        return
    check_instance("cache", cache, KVCache, "KVCache()")
    if other is not None:
        raise OptionError(
            "cache is for self-attention, where the keys grow; leave key and value out, or leave cache out"
        )
    if not causal:
        raise OptionError("cache needs causal=True: without it a later chunk would change what earlier positions saw")


def _check_same(name: str, new: Tensor, held: Tensor) -> None:
    for letter, axis in (("B", 0), ("H_kv", 1), ("width", 3)):
        if new.shape[axis] != held.shape[axis]:
            raise ShapeError(
                f"axis {letter} is {new.shape[axis]} in the new {name} but {held.shape[axis]} in the cache; "
                f"shapes {tuple(new.shape)} and {tuple(held.shape)}; start another sequence with a fresh KVCache()"
            )
    if (new.dtype, new.device) != (held.dtype, held.device):
        raise ShapeError(
            f"the new {name} is {new.dtype} on {new.device} but the cache holds {held.dtype} on {held.device}; "
            "start with a fresh KVCache()"
        )
