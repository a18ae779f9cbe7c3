"""Shape annotations: jaxtyping's when it is installed, transparent stand-ins otherwise.

The annotations are documentation that tests check; using the library needs no type checker. Letters, here
and everywhere: B batch, H heads, L query length, S key length, d_k, d_v, d_model.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Bool", "Float", "Int", "Num"]

try:
    from jaxtyping import Bool, Float, Int, Num
except ModuleNotFoundError:

    class _AnyShape:
        def __class_getitem__(cls, item: Any) -> Any:
            return item[0]

    Bool = Float = Int = Num = _AnyShape  # type: ignore[assignment,misc]
