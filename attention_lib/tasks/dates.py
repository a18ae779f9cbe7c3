"""Dates: read "Friday, 5 March 2021", write 2021年3月5日星期五. No package with calendars of the world is needed."""

from __future__ import annotations

import datetime

import torch

from attention_lib.errors import OptionError
from attention_lib.tasks.alphabet import Alphabet
from attention_lib.tasks.arguments import check_generator, check_whole
from attention_lib.tasks.pairs import PairBatch, pad_pairs

__all__ = ["CHINESE_DATE", "ENGLISH_DATE", "STYLES", "chinese_date", "date_batch", "english_date"]

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
STYLES = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{short} {day}, {year}",
    "{day} {short} {year}",
    "{weekday}, {day} {month} {year}",
    "{weekday}, {month} {day}, {year}",
)
ENGLISH_DATE = Alphabet(sorted(set("".join(MONTHS + WEEKDAYS) + "0123456789, ")))
CHINESE_DATE = Alphabet("0123456789年月日星期一二三四五六")
FIRST_DAY, LAST_DAY = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


def english_date(date: datetime.date, style: int = 0) -> str:
    """Write a date in English.

    Args:
        date: Any.
        style: Which of ``STYLES``, 0 to 5; the last two name the weekday.

    Returns:
        The text.

    Raises:
        OptionError: There is no such style.

    Example:
        >>> [english_date(datetime.date(2021, 3, 5), style) for style in (0, 2, 5)]
        ['5 March 2021', 'Mar 5, 2021', 'Friday, March 5, 2021']
    """
    if isinstance(style, bool) or style not in range(len(STYLES)):
        raise OptionError(f"style={style!r} must be from 0 to {len(STYLES) - 1}")
    month, weekday = MONTHS[date.month - 1], WEEKDAYS[date.weekday()]
    return STYLES[style].format(day=date.day, month=month, short=month[:3], year=date.year, weekday=weekday)


def chinese_date(date: datetime.date, *, weekday: bool = False) -> str:
    """Write a date in Chinese: year, month, day, and the weekday when asked.

    Example:
        >>> chinese_date(datetime.date(2021, 3, 5), weekday=True)
        '2021年3月5日星期五'
    """
    day = f"星期{'一二三四五六日'[date.weekday()]}" if weekday else ""
    return f"{date.year}年{date.month}月{date.day}日{day}"


def date_batch(batch: int, *, generator: torch.Generator) -> PairBatch:
    """Draw days from 1900 to 2099 in all styles; the target names the weekday when the source does.

    Args:
        batch: Number of pairs B.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A ``PairBatch``, tokens of ``ENGLISH_DATE`` and ``CHINESE_DATE``.

    Raises:
        OptionError: ``batch`` is not a whole number, 1 or more.

    Example:
        >>> source, _, target = date_batch(1, generator=torch.Generator().manual_seed(0))
        >>> ENGLISH_DATE.decode(source[0]), CHINESE_DATE.decode(target[0])
        ('13 Feb 2075', '2075年2月13日')
    """
    check_generator(generator)
    check_whole(batch=batch)
    days = torch.randint((LAST_DAY - FIRST_DAY).days + 1, (batch,), generator=generator).tolist()
    styles = torch.randint(len(STYLES), (batch,), generator=generator).tolist()
    dates = [FIRST_DAY + datetime.timedelta(days=day) for day in days]
    pairs = list(zip(dates, styles, strict=True))
    return pad_pairs(
        [ENGLISH_DATE.encode(english_date(date, style)) for date, style in pairs],
        [CHINESE_DATE.encode(chinese_date(date, weekday="weekday" in STYLES[style])) for date, style in pairs],
    )
