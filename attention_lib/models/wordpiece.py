"""From text to tokens as BERT does it: words first, then the longest known pieces of each word."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.errors import OptionError
from attention_lib.shapes import Int

__all__ = ["TextBatch", "WordPiece", "split_words"]

LONGEST_WORD = 100
CHINESE = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0xF900, 0xFAFF))


class TextBatch(NamedTuple):
    """``tokens`` (B, L), padded with 0; ``lengths`` (B,); ``pieces``, the tokens of each text as strings."""

    tokens: Int[Tensor, "B L"]
    lengths: Int[Tensor, "B"]
    pieces: list[list[str]]


def split_words(text: str) -> list[str]:
    """Lower case, no accents, cut at spaces; every punctuation mark and Chinese character is a word of its own.

    Example:
        >>> split_words("The café isn't  open!")
        ['the', 'cafe', 'isn', "'", 't', 'open', '!']

    Source: google-research/bert, tokenization.py, BasicTokenizer.
    """
    cleaned = "".join(_cleaned(character) for character in text)
    plain = "".join(c for c in unicodedata.normalize("NFD", cleaned.lower()) if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_punctuation(c) else c for c in plain).split()


class WordPiece:
    """The tokenizer of an uncased BERT.

    Args:
        vocabulary: The pieces in the order of their numbers; pieces inside a word begin with "##".

    Raises:
        OptionError: One of [PAD] [UNK] [CLS] [SEP] is missing, or [PAD] is not number 0.

    Example:
        >>> tokenizer = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able"])
        >>> tokenizer.pieces("unaffable dog")
        ['[CLS]', 'un', '##aff', '##able', '[UNK]', '[SEP]']

    Source: Devlin et al. (2018), BERT; Wu et al. (2016), section 4.1.
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}
        missing = [piece for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]") if piece not in self.numbers]
        if missing or self.numbers["[PAD]"] != 0:
            raise OptionError(
                f"the vocabulary of {len(self.numbers)} pieces lacks {', '.join(missing) or '[PAD] at number 0'}; "
                "take the vocab.txt of an uncased BERT"
            )

    @classmethod
    def from_file(cls, path: str | os.PathLike) -> WordPiece:
        """From a vocab.txt with one piece a line."""
        return cls(Path(path).read_text(encoding="utf-8").splitlines())

    def pieces(self, text: str) -> list[str]:
        """The tokens of one text, from [CLS] to [SEP]."""
        inside = [piece for word in split_words(text) for piece in self._split(word)]
        return ["[CLS]", *inside, "[SEP]"]

    def __call__(self, texts: Sequence[str]) -> TextBatch:
        """Tokens of several texts, padded to the longest.

        Args:
            texts: Strings; a single one is refused, since it would be read letter by letter.

        Returns:
            A :class:`TextBatch`.

        Raises:
            OptionError: ``texts`` is a single string, or empty.
        """
        if isinstance(texts, str) or not texts:
            raise OptionError(f"texts={texts!r} must be a list with at least one text: [{texts!r}]")
        pieces = [self.pieces(text) for text in texts]
        lengths = torch.tensor([len(one) for one in pieces])
        tokens = torch.zeros(len(pieces), int(lengths.max()), dtype=torch.long)
        for row, one in zip(tokens, pieces, strict=True):
            row[: len(one)] = torch.tensor([self.numbers[piece] for piece in one])
        return TextBatch(tokens, lengths, pieces)

    def _split(self, word: str) -> list[str]:
        """Take the longest known piece from the left until nothing is left; one unknown rest spoils the word."""
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.numbers), None)
            if end is None or len(word) > LONGEST_WORD:
                return ["[UNK]"]
            found.append(prefix + word[start:end])
            start = end
        return found


def _cleaned(character: str) -> str:
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    if character in "\0\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    is_chinese = any(first <= ord(character) <= last for first, last in CHINESE)
    return f" {character} " if is_chinese else character


def _is_punctuation(character: str) -> bool:
    """Unicode's punctuation, and all of ASCII that is neither letter, digit nor space ($ and + are, to BERT)."""
    in_ascii = character.isascii() and not character.isalnum() and not character.isspace()
    return in_ascii or unicodedata.category(character).startswith("P")
