"""Why a target of time is missed: what this machine leaves at most, and which kernels take the time."""

from __future__ import annotations

from dataclasses import replace

from attention_lib.bench.case import OURS, Target
from attention_lib.bench.measure import Measured
from attention_lib.bench.roof import Roof
from attention_lib.bench.verdict import Verdict, compared, judge

__all__ = ["explained_verdicts", "most_possible"]


def most_possible(measured: Measured, target: Target, roof: Roof) -> dict[str, float]:
    """The ratio for each number of threads, if matrix products and softmax ran at the roof and all else cost nothing.

    ``ratio = peer's time / (multiplications / roof + weights / roof of softmax)``
    """
    found = {}
    for count, peak in roof.multiplications.items():
        least = measured.multiplications / peak + measured.weights / roof.weights[count]
        peers = [each.median(count) for each in compared(measured, target) if count in each.seconds]
        if least and peers:
            found[count] = min(peers) / least
    return found


def explained_verdicts(measured: Measured, targets: tuple[Target, ...], roof: Roof) -> list[Verdict]:
    """The verdicts of a case; those of time that are missed say what bounds them."""
    verdicts = judge(measured, targets)
    explained = [_explained(each, target, measured, roof) for each, target in zip(verdicts, targets, strict=False)]
    return explained + verdicts[len(targets) :]


def _explained(verdict: Verdict, target: Target, measured: Measured, roof: Roof) -> Verdict:
    if verdict.verdict != "missed" or target.measure != "time":
        return verdict
    ceilings = most_possible(measured, target, roof)
    parts = []
    if ceilings:
        most = ", ".join(f"{ratio:.3g}x" for ratio in ceilings.values())
        parts.append(f"matrix products and softmax alone, at this machine's peak, would give {most}")
    ours = measured.variant(OURS)
    if ours is not None and ours.kernels:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in ours.kernels.items())
        parts.append(f"time of ours: {shares}")
    return replace(verdict, why="; ".join(parts))
