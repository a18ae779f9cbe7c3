"""The conventions that an assignment may ask for, and how a course key draws them.

Each switch has a first value, the book's, and others. A release differs from the book in at least three switches, so
neither the book's code nor last year's answer fits it.
"""

from __future__ import annotations

import hashlib
import random
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attention_lib.errors import OptionError

__all__ = ["OFF_BOOK", "SWITCHES", "Switch", "book_variant", "check_variant", "draw_variant", "variant_text"]

OFF_BOOK = 3


@dataclass(frozen=True)
class Switch:
    """One convention.

    Args:
        title: What it is about, in a word or two.
        values: Value -> the sentence that asks for it; the book's value comes first.
    """

    title: str
    values: Mapping[Any, str]

    @property
    def book(self) -> Any:
        """The book's value."""
        return next(iter(self.values))


SWITCHES: dict[str, Switch] = {
    "mask": Switch(
        "mask",
        {
            "allowed": "In a mask, True means *may attend*.",
            "blocked": "In a mask, True means *blocked*: the query may not attend to that key.",
            "additive": "A mask is a float tensor, added to scores: 0 where the query may attend, `-inf` where not.",
        },
    ),
    "temperature": Switch(
        "temperature",
        {
            1.0: "Scores have no temperature.",
            2.0: "Scores are divided by a temperature of 2, besides everything else.",
            0.5: "Scores are divided by a temperature of 0.5, besides everything else.",
        },
    ),
    "distance": Switch(
        "distance bias",
        {
            0.0: "Distance between positions plays no part.",
            0.25: "From the score of query position i and key position j, once divided, subtract 0.25 · |i − j|.",
            0.5: "From the score of query position i and key position j, once divided, subtract 0.5 · |i − j|.",
        },
    ),
    "layout": Switch(
        "layout",
        {
            "BHLd": "Tensors come, and go back, as (B, H, L, d): heads before positions.",
            "BLHd": "Tensors come, and go back, as (B, L, H, d): positions before heads.",
        },
    ),
    "keys": Switch(
        "keys",
        {
            "rows": "Keys come as rows: `key` has shape (..., S, d_k).",
            "columns": "Keys come as columns: `key` has shape (..., d_k, S).",
        },
    ),
    "result": Switch(
        "result",
        {
            "queries_first": "The result has one row for each query: (..., L, S).",
            "keys_first": "The result has one row for each key: (..., S, L).",
        },
    ),
    "axis": Switch(
        "key axis",
        {
            "last": "The last axis counts the keys: scores have shape (..., L, S).",
            "first": "The last axis but one counts the keys: scores have shape (..., S, L).",
        },
    ),
    "returns": Switch(
        "weights",
        {
            "weights": "Weights are ordinary weights, from 0 to 1.",
            "log_weights": "Wherever weights are returned, return their natural logarithm; a weight of 0 is `-inf`.",
        },
    ),
    "gives": Switch(
        "return value",
        {
            "output": "`attention` returns the output alone.",
            "output_log_weights": "`attention` returns a pair: the output, and the natural logarithm of the weights, "
            "(B, H, L, S); a weight of 0 is `-inf`.",
        },
    ),
    "corner": Switch(
        "alignment",
        {
            "bottom_right": "With L ≠ S, the L queries are the *last* L of the S positions.",
            "top_left": "With L ≠ S, the L queries are the *first* L of the positions: query 0 stands at key 0.",
        },
    ),
    "side": Switch(
        "padding side",
        {
            "right": "Padding stands at the end of a sequence.",
            "left": "Padding stands at the start of a sequence.",
        },
    ),
    "reach": Switch(
        "window",
        {
            "past": "A window of w lets a query see w keys: itself and the w − 1 before it.",
            "before": "A window of w lets a query see itself and the w keys before it.",
            "around": "A window of w lets a query see every key less than w positions away, before *and* after it.",
        },
    ),
    "order": Switch(
        "features of a head",
        {
            "blocks": "Head h owns d_head neighbouring features, from h · d_head on.",
            "interleaved": "Features are dealt out like cards: feature c belongs to head c mod H, in ascending order.",
        },
    ),
    "heads": Switch(
        "head axis",
        {
            "second": "After the split, tensors are (B, H, L, d_head).",
            "third": "After the split, tensors are (B, L, H, d_head).",
            "first": "After the split, tensors are (H, B, L, d_head).",
        },
    ),
    "groups": Switch(
        "grouped heads",
        {
            1: "Every query head has a key head and a value head of its own.",
            2: "Two neighbouring query heads share one key head and one value head: heads 0 and 1 read "
            "the first, heads 2 and 3 the second, and so on.",
        },
    ),
    "matrices": Switch(
        "weight matrices",
        {
            "in_out": "Weight matrices are (in, out): a projection is `x @ w`.",
            "out_in": "Weight matrices are (out, in), as in `nn.Linear`: a projection is `x @ w.T`.",
        },
    ),
    "cache": Switch(
        "cache",
        {
            "append": "The cache is in the order of time: the newest key comes last.",
            "prepend": "The cache is newest first: the newest key comes at place 0.",
        },
    ),
    "width": Switch(
        "width",
        {
            64: "Take d_k = 64.",
            16: "Take d_k = 16.",
            256: "Take d_k = 256.",
            100: "Take d_k = 100.",
        },
    ),
    "length": Switch(
        "length",
        {
            512: "Take n = 512 tokens.",
            1000: "Take n = 1,000 tokens.",
            3000: "Take n = 3,000 tokens.",
        },
    ),
    "many": Switch(
        "number of heads",
        {
            8: "Take H = 8 heads.",
            4: "Take H = 4 heads.",
            10: "Take H = 10 heads.",
        },
    ),
}


def book_variant(switches: Sequence[str]) -> dict[str, Any]:
    """The book's own conventions.

    Example:
        >>> book_variant(["mask", "layout"])
        {'mask': 'allowed', 'layout': 'BHLd'}
    """
    return {name: SWITCHES[name].book for name in switches}


def draw_variant(key: str, assignment: str, switches: Sequence[str]) -> dict[str, Any]:
    """The conventions of one release; the same key gives the same conventions for ever.

    Args:
        key: The course key: any text, another one for each term.
        assignment: Its id.
        switches: Which switches it has.

    Returns:
        Switch -> value, off the book's value in at least three switches.

    Raises:
        OptionError: The key is empty.

    Example:
        >>> drawn = draw_variant("autumn", "attention", ["mask", "layout", "gives", "temperature"])
        >>> sum(drawn[name] != SWITCHES[name].book for name in drawn) >= 3
        True
    """
    key = unicodedata.normalize("NFC", key).strip()  # as it looks, however it was typed
    if not key:
        raise OptionError("the course key is empty; give --key any text, such as autumn-2026")
    digest = hashlib.sha256(f"{assignment}\n{key}".encode()).digest()
    chance = random.Random(digest)
    variant = book_variant(switches)
    count = chance.randint(min(OFF_BOOK, len(switches)), len(switches))
    for name in chance.sample(sorted(switches), count):
        variant[name] = chance.choice(list(SWITCHES[name].values)[1:])
    return variant


def check_variant(variant: Mapping[str, Any]) -> None:
    """Raise ``OptionError`` for a switch or a value that does not exist."""
    for name, value in variant.items():
        if name not in SWITCHES:
            raise OptionError(f"there is no convention {name!r}; known are {', '.join(SWITCHES)}")
        if value not in SWITCHES[name].values:
            known = ", ".join(map(repr, SWITCHES[name].values))
            raise OptionError(f"convention {name!r} cannot be {value!r}; choose one of {known}")


def variant_text(variant: Mapping[str, Any]) -> str:
    """The conventions as a Markdown list, the same sentences as ``check`` uses."""
    return "\n".join(f"- **{SWITCHES[name].title}**: {SWITCHES[name].values[value]}" for name, value in variant.items())
