"""Met, missed, tie, or not measured and why: each target of a case judged from what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from attention_lib.bench.case import OURS, Target
from attention_lib.bench.measure import Measured, Variant

__all__ = ["TIE", "Verdict", "compared", "judge", "names", "words"]

TIE = 0.05  # a ratio this close to 1 is no difference
ERROR = Target("error", "", 0.5)  # row 13: an error of at most twice that of SDPA, in every case


@dataclass(frozen=True)
class Verdict:
    """One line of the table; ``ratios`` is peer over ours, one a number of threads, or one alone."""

    row: int
    title: str
    target: str
    ratios: dict[str, float]
    verdict: str
    why: str = ""
    required: float = 1.0

    def measured(self) -> str:
        """The ratios as text, one a number of threads."""
        return ", ".join(f"{ratio:.3g}x" for ratio in self.ratios.values())


def judge(measured: Measured, targets: tuple[Target, ...]) -> list[Verdict]:
    """All verdicts of a case, that on its error last.

    Args:
        measured: The case.
        targets: What it must reach.

    Returns:
        One :class:`Verdict` a target. With several numbers of threads the worst ratio counts.
    """
    if measured.error_peer:
        targets = (*targets, ERROR._replace(peer=measured.error_peer))
    return [_one(measured, target) for target in targets]


def words(target: Target) -> str:
    """The target as a sentence.

    Example:
        >>> words(Target("time", "SDPA", 1.5)), words(Target("memory", "SDPA", 4)), words(Target("error", "SDPA", 0.5))
        ('at least 1.5x faster than SDPA', 'at most 1/4 the memory of SDPA', 'at most 2x the error of SDPA')
    """
    if target.measure == "time":
        if target.factor >= 1:
            return f"at least {target.factor:g}x faster than {target.peer}" if target.factor > 1 else (
                f"not slower than {target.peer}")  # fmt: skip
        return f"at most {1 / target.factor:.3g}x the time of {target.peer}"
    share = f"{1 / target.factor:.3g}x" if target.factor <= 1 else f"1/{target.factor:g}"
    return f"at most {share} the {target.measure} of {target.peer}"


def names(verdicts: list[Verdict]) -> list[str]:
    """A short name for each: its row, and a letter where the row has several.

    Example:
        >>> names([Verdict(row, "", "", {}, "met") for row in (1, 5, 5)])
        ['1', '5a', '5b']
    """
    rows = [each.row for each in verdicts]
    seen: dict[int, int] = {}
    found = []
    for row in rows:
        letter = seen.get(row, 0)
        seen[row] = letter + 1
        found.append(f"{row}{_letters(letter)}" if rows.count(row) > 1 else str(row))
    return found


def _letters(number: int) -> str:
    """0, 1, ... 25, 26 as a, b, ... z, aa."""
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)


def compared(measured: Measured, target: Target) -> list[Variant]:
    """The peers that a target names, those that failed among them."""
    return [each for each in measured.variants if each.name.startswith(target.peer) and each.name != OURS]


def _one(measured: Measured, target: Target) -> Verdict:
    def verdict(word: str, why: str = "", ratios: dict[str, float] | None = None) -> Verdict:
        row = 13 if target.measure == "error" else measured.row
        return Verdict(row, measured.title, words(target), ratios or {}, word, why, target.factor)

    ours = measured.variant(OURS)
    if ours is None:
        return verdict("not measured", measured.absent.get(OURS, "there is no variant of ours"))
    if ours.failure:
        return verdict("not measured", f"ours raised {ours.failure}")
    peers = compared(measured, target)
    working = [each for each in peers if not each.failure]
    if not working and not (target.measure == "memory" and target.peer in measured.sizes):
        absent = next((why for name, why in measured.absent.items() if name.startswith(target.peer)), "")
        return verdict("not measured", absent or (f"the peer raised {peers[0].failure}" if peers else "no such peer"))
    ratios = _ratios(measured, target, ours, working)
    if not ratios:
        return verdict("not measured", f"no {target.measure} of both")
    return verdict(_word(min(ratios.values()), target), ratios=ratios)


def _ratios(measured: Measured, target: Target, ours: Variant, peers: list[Variant]) -> dict[str, float]:
    """Peer over ours; of several peers the best."""
    if target.measure == "time":
        return {
            count: min(peer.median(count) for peer in peers) / ours.median(count)
            for count in ours.seconds
            if all(count in peer.seconds for peer in peers)
        }
    if target.measure == "memory":
        theirs = [measured.sizes[target.peer]] if target.peer in measured.sizes else [
            peer.peak_bytes for peer in peers if peer.peak_bytes is not None]  # fmt: skip
        return {"": min(theirs) / max(ours.peak_bytes, 1)} if theirs and ours.peak_bytes is not None else {}
    errors = [peer.error for peer in peers if peer.error is not None]
    return {"": max(min(errors), 1e-30) / max(ours.error, 1e-30)} if errors and ours.error is not None else {}


def _word(ratio: float, target: Target) -> str:
    if target.measure == "time" and abs(ratio - 1) <= TIE and abs(target.factor - 1) <= TIE:
        return "tie"
    return "met" if ratio >= target.factor else "missed"
