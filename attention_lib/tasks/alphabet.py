"""Letters as tokens: what a task with written text needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from attention_lib.errors import OptionError
from attention_lib.shapes import Int
from attention_lib.tasks.pairs import END, FIRST, PAD, START

__all__ = ["Alphabet"]


class Alphabet:
    """A number for each character, from FIRST on; smaller ones are PAD, START and END.

    Args:
        characters: All that may occur; their order decides the numbers, repeated ones count once.

    Example:
        >>> letters = Alphabet("abc")
        >>> letters.encode("cab"), letters.decode([5, 3, 4, 2, 0]), len(letters)
        ([5, 3, 4], 'cab', 6)
    """

    def __init__(self, characters: Iterable[str]) -> None:
        self.characters = "".join(dict.fromkeys(characters))
        self._numbers = {character: number for number, character in enumerate(self.characters, start=FIRST)}

    def __len__(self) -> int:
        """Number of tokens, the three special ones included: what a model's ``symbols`` must be."""
        return FIRST + len(self.characters)

    def encode(self, text: str) -> list[int]:
        """One number a character.

        Raises:
            OptionError: A character is not in the alphabet.
        """
        for character in text:
            if character not in self._numbers:
                raise OptionError(f"{character!r} in {text!r} is not in the alphabet {self.characters!r}")
        return [self._numbers[character] for character in text]

    def decode(self, tokens: Sequence[int] | Int[Tensor, "T"]) -> str:
        """The text up to the first END; PAD and START are left out.

        Raises:
            OptionError: A number that stands for nothing.
        """
        text = ""
        for token in map(int, tokens):
            if token == END:
                break
            if not 0 <= token < len(self):
                raise OptionError(f"token {token} stands for nothing; this alphabet has tokens 0 ... {len(self) - 1}")
            text += "" if token in (PAD, START) else self.characters[token - FIRST]
        return text
