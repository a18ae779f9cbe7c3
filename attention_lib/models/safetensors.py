"""Read a .safetensors file with torch alone: a length, a table of contents, and the numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from torch import Tensor

from attention_lib.errors import OptionError

__all__ = ["read_safetensors"]

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_safetensors(path: str | os.PathLike) -> dict[str, Tensor]:
    """All tensors of the file, by name.

    The file is: 8 bytes, the length n of the table, least byte first; n bytes of json, which give each name its
    dtype, shape and span; then the numbers, row by row.

    Args:
        path: The file.

    Returns:
        Name -> tensor, on the CPU; the tensors share one buffer in memory, not the file.

    Raises:
        OptionError: There is no such file, or it is cut off, no safetensors file, or holds a dtype not known here.

    Example:
        >>> import tempfile
        >>> table = b'{"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
        >>> numbers = torch.tensor([1.5, -2.0]).numpy().tobytes()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "two.safetensors")
        ...     _ = path.write_bytes(len(table).to_bytes(8, "little") + table + numbers)
        ...     read_safetensors(path)
        {'x': tensor([ 1.5000, -2.0000])}

    Source: the format description of huggingface/safetensors.
    """
    if not Path(path).is_file():
        raise OptionError(f"there is no file {Path(path)}; name an existing .safetensors file")
    content = bytearray(Path(path).read_bytes())
    end = 8 + int.from_bytes(content[:8], "little")
    if len(content) < 8 or end > len(content):
        raise OptionError(
            f"{Path(path).name} has {len(content)} bytes but its table of contents would end at byte {end}; "
            "it is cut off or no .safetensors file: fetch it again"
        )
    try:
        table = json.loads(content[8:end])
    except ValueError as error:
        raise OptionError(f"{Path(path).name} has no json table after 8 bytes; it is no .safetensors file") from error
    table.pop("__metadata__", None)
    return {name: _tensor(content, end, name, **entry) for name, entry in table.items()}


def _tensor(
    content: bytearray, end: int, name: str, *, dtype: str, shape: list[int], data_offsets: list[int]
) -> Tensor:
    if dtype not in DTYPES:
        raise OptionError(f"{name} has dtype {dtype!r}; known are {', '.join(DTYPES)}")
    first, last = (end + offset for offset in data_offsets)
    if last > len(content):
        raise OptionError(f"{name} ends at byte {last}, the file at {len(content)}; it is cut off: fetch it again")
    if first == last:
        return torch.empty(shape, dtype=DTYPES[dtype])
    numbers = torch.frombuffer(memoryview(content)[first:last], dtype=torch.uint8)
    if first % DTYPES[dtype].itemsize:
        numbers = numbers.clone()  # a view in a wider dtype must begin at a multiple of its size
    return numbers.view(DTYPES[dtype]).reshape(shape)
