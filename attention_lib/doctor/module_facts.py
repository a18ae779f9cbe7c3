"""What can be read off a module without running it, and small helpers for its inputs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["as_image", "by_role", "fewer", "input_norms", "plain", "qk_norms", "says_causal"]


def input_norms(module: nn.Module | None, width: int) -> list[nn.Module]:
    """The module's own normalisations of its input."""
    parts = [] if module is None else list(module.modules())
    return [p for p in parts if "norm" in type(p).__name__.lower() and _width(p) == width]


def qk_norms(module: nn.Module | None) -> dict[str, nn.Module]:
    """Normalisations named for the query and the key, which act on split heads."""
    found: dict[str, nn.Module] = {}
    for path, part in module.named_modules() if module is not None else ():
        words = set(path.lower().replace(".", "_").split("_"))
        if words & {"norm", "layernorm", "ln", "rmsnorm"} and not isinstance(part, nn.Identity):
            for role, names in (("query", {"q", "query"}), ("key", {"k", "key"})):
                if words & names:
                    found[role] = part
    return found


def _width(part: nn.Module) -> int:
    return next((parameter.numel() for parameter in part.parameters(recurse=False)), -1)


def plain(tensor: Tensor) -> Tensor:
    """The tensor in float64 on the CPU."""
    return tensor.to("cpu", torch.float64)


def as_image(places: int) -> tuple[int, int]:
    """Height and width with this many places, as near to a square as it goes."""
    height = next(n for n in range(int(places**0.5), 0, -1) if places % n == 0)
    return height, places // height


def by_role(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Query, key and value inputs, whatever was handed over."""
    query = tensors.get("query", tensors.get("x"))
    assert query is not None
    key = tensors.get("key", tensors.get("context", query))
    return {"query": query, "key": key, "value": tensors.get("value", key)}


def fewer(tensors: dict[str, Tensor], mask: Tensor | None, axis: int) -> tuple[dict[str, Tensor], Tensor | None] | None:
    """One sequence or one token less."""
    if any(tensor.shape[axis] <= 1 for tensor in tensors.values()):
        return None
    tensors = {role: tensor.narrow(axis, 0, tensor.shape[axis] - 1) for role, tensor in tensors.items()}
    for place in ((0,) if axis == 0 else (2, 3)) if mask is not None else ():
        if mask is not None and mask.shape[place] > 1:
            mask = mask.narrow(place, 0, mask.shape[place] - 1)
    if mask is not None and not bool(mask.any(-1).all()):
        return None
    return tensors, mask


def says_causal(module: nn.Module) -> bool:
    """Whether an attribute or a triangular buffer of the module says that it is causal."""
    for part in module.modules():
        if getattr(part, "causal", None) is True or getattr(part, "is_causal", None) is True:
            return True
        for buffer in part.buffers(recurse=False):
            if buffer.ndim >= 2 and buffer.shape[-1] == buffer.shape[-2] > 2 and _triangular(buffer):
                return True
    return False


def _triangular(buffer: Tensor) -> bool:
    square = buffer.detach().cpu().flatten(0, -3)[0] if buffer.ndim > 2 else buffer.detach().cpu()
    blocked = square != 0
    if bool(blocked.all()) or not bool(blocked.any()):
        return False
    above = torch.ones_like(blocked).triu(1)
    lower, upper = blocked & ~above, blocked & above
    return bool((blocked == ~above).all() or (blocked == above).all()) or not (bool(lower.any()) and bool(upper.any()))
