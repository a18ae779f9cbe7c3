"""What this machine can do at most: multiplications a second in one matrix product, bytes a second in one copy, weights
a second in a softmax that stays in the cache."""

from __future__ import annotations

from typing import NamedTuple

import torch

from attention_lib.experiments.stopwatch import interleaved, settle_threads, threads

__all__ = ["Roof", "measure_roof"]


class Roof(NamedTuple):
    """For each number of threads, per processor second (on a GPU: per second)."""

    multiplications: dict[str, float]
    bytes: dict[str, float]
    weights: dict[str, float]

    def share(self, count: str, seconds: float, multiplications: int, moved: int) -> float:
        """How much of the roof a call reaches: of the one that is nearer, multiplications or bytes."""
        return max(
            multiplications / seconds / self.multiplications[count] if multiplications else 0.0,
            moved / seconds / self.bytes[count] if moved else 0.0,
        )


def measure_roof(device: torch.device, thread_counts: list[int], *, quick: bool = False) -> Roof:
    """The best of several rounds: a float32 matrix product, a copy too large for the caches, a softmax inside them."""
    n, megabytes, rounds = (1024, 128, 3) if quick else (2048, 256, 5)
    if device.type == "cuda":
        n, megabytes = 4 * n, 4 * megabytes
    left, right, product = (torch.ones(n, n, device=device) for _ in range(3))
    source = torch.ones(megabytes * 2**18, device=device)
    target = torch.empty_like(source)
    table = torch.ones(256, 512, device=device)
    calls = {"product": lambda: torch.mm(left, right, out=product), "copy": lambda: target.copy_(source)}
    calls["softmax"] = lambda: torch.softmax(table, dim=-1, out=table)
    roof = Roof({}, {}, {})
    for count in thread_counts:
        with threads(count), torch.no_grad():
            if count > 1:
                settle_threads(calls, 0.2 if quick else 1.0)
            taken = interleaved(calls, rounds, device=device)
        roof.multiplications[str(count)] = n**3 / min(taken["product"])
        roof.bytes[str(count)] = 2 * source.nbytes / min(taken["copy"])
        roof.weights[str(count)] = table.numel() / min(taken["softmax"])
    return roof
