"""Numerals: read 1203, write 一千二百零三."""

from __future__ import annotations

import torch

from attention_lib.axes import is_whole
from attention_lib.errors import OptionError
from attention_lib.tasks.alphabet import Alphabet
from attention_lib.tasks.arguments import check_generator, check_whole
from attention_lib.tasks.pairs import PairBatch, pad_pairs

__all__ = ["ARABIC", "CHINESE", "chinese_numeral", "numeral_batch"]

DIGITS = "零一二三四五六七八九"
UNITS = ("", "十", "百", "千")
GROUPS = ("", "万", "亿")
ARABIC = Alphabet("0123456789")
CHINESE = Alphabet(DIGITS + "十百千万亿")


def chinese_numeral(number: int) -> str:
    """Write a whole number in Chinese, as it is read aloud in Mandarin.

    Every digit is followed by its unit; groups of four end in 万 and 亿; a run of zeros is one 零, or nothing at the
    end of a group; a leading 一十 is shortened to 十.

    Args:
        number: 0 to 10 ** 12 - 1.

    Returns:
        The numeral.

    Raises:
        OptionError: The number is out of range.

    Example:
        >>> chinese_numeral(1203), chinese_numeral(10), chinese_numeral(110), chinese_numeral(20005)
        ('一千二百零三', '十', '一百一十', '二万零五')
    """
    if not is_whole(number) or not 0 <= number < 10**12:
        raise OptionError(f"number={number!r} must be a whole number from 0 to {10**12 - 1}")
    if number == 0:
        return "零"
    text, gap = "", False
    for place in range(11, -1, -1):
        digit = number // 10**place % 10
        if digit:
            text += ("零" if gap else "") + DIGITS[digit] + UNITS[place % 4]
        gap = digit == 0 and bool(text)
        if place % 4 == 0 and number // 10**place % 10**4:
            text, gap = text + GROUPS[place // 4], False
    return text[1:] if text.startswith("一十") else text


def numeral_batch(batch: int, *, most: int = 9999, generator: torch.Generator) -> PairBatch:
    """Draw numbers of all lengths; the source is in Arabic digits, the target in Chinese.

    Each number of digits is equally likely, and so is each number among those.

    Args:
        batch: Number of pairs B.
        most: The largest number, 1 to 10 ** 12 - 1.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A ``PairBatch``, tokens of ``ARABIC`` and ``CHINESE``.

    Raises:
        OptionError: A count is out of range or no whole number.

    Example:
        >>> source, _, target = numeral_batch(1, generator=torch.Generator().manual_seed(1))
        >>> chinese_numeral(int(ARABIC.decode(source[0]))) == CHINESE.decode(target[0])
        True
    """
    check_generator(generator)
    check_whole(batch=batch, most=most)
    chinese_numeral(most)
    lengths = torch.randint(1, len(str(most)) + 1, (batch,), generator=generator).tolist()
    spans = [(0 if length == 1 else 10 ** (length - 1), min(10**length - 1, most)) for length in lengths]
    numbers = [int(torch.randint(least, last + 1, (), generator=generator)) for least, last in spans]
    return pad_pairs(
        [ARABIC.encode(str(number)) for number in numbers],
        [CHINESE.encode(chinese_numeral(number)) for number in numbers],
    )
