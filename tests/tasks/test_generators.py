"""The toy tasks: what each batch must be, by hand and in general, and that the same generator draws the same."""

import datetime

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.tasks import dates, numerals
from attention_lib.tasks.alphabet import Alphabet
from attention_lib.tasks.copying import copy_batch, reversal_batch
from attention_lib.tasks.digits import digit_batch
from attention_lib.tasks.far_corners import far_corner_batch
from attention_lib.tasks.glyphs import digit_glyphs
from attention_lib.tasks.induction import induction_batch
from attention_lib.tasks.lag_copy import lag_copy_batch
from attention_lib.tasks.pairs import END, FIRST, PAD, START, decoder_input, pad_pairs
from attention_lib.tasks.two_relations import two_relation_batch

DRAWN = {
    "copy": lambda g: copy_batch(5, shortest=2, longest=7, generator=g),
    "reversal": lambda g: reversal_batch(5, shortest=2, longest=7, generator=g),
    "two relations": lambda g: two_relation_batch(5, 6, generator=g),
    "induction": lambda g: induction_batch(5, 7, generator=g),
    "lag copy": lambda g: lag_copy_batch(5, 11, lag=3, generator=g),
    "digits": lambda g: digit_batch(5, generator=g),
    "far corners": lambda g: far_corner_batch(5, generator=g),
    "numerals": lambda g: numerals.numeral_batch(5, generator=g),
    "dates": lambda g: dates.date_batch(5, generator=g),
}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", DRAWN)
def test_the_generator_alone_decides(name):
    torch.manual_seed(1)
    first = DRAWN[name](generator(7))
    torch.manual_seed(2)
    again, other = DRAWN[name](generator(7)), DRAWN[name](generator(8))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(a.shape != b.shape or not torch.equal(a, b) for a, b in zip(first, other, strict=True))
    assert all(part.shape[0] == 5 for part in first if part.dtype != torch.bool)


@pytest.mark.parametrize(("draw", "turn"), [(copy_batch, 1), (reversal_batch, -1)])
def test_copy_and_reversal(draw, turn):
    source, lengths, target = draw(211, shortest=2, longest=7, symbols=5, generator=generator())
    assert set(lengths.tolist()) == {2, 3, 4, 5, 6, 7}
    for row, length, wanted in zip(source.tolist(), lengths.tolist(), target.tolist(), strict=True):
        assert row[length:] == [PAD] * (len(row) - length)
        assert wanted == [*row[:length][::turn], END, *[PAD] * (len(wanted) - length - 1)]
    assert set(source.unique().tolist()) == {PAD, *range(FIRST, FIRST + 5)}


def test_pairs_by_hand():
    batch = pad_pairs([[5, 6, 7], [8]], [[], [9, 3]])
    assert [part.tolist() for part in batch] == [[[5, 6, 7], [8, 0, 0]], [3, 1], [[2, 0, 0], [9, 3, 2]]]
    assert decoder_input(batch.target).tolist() == [[START, 2, 0], [START, 9, 3]]


def test_two_relations():
    tokens, answers = two_relation_batch(5, 6, symbols=7, generator=generator())
    for row, wanted in zip(tokens.tolist(), answers.tolist(), strict=True):
        assert wanted == [[row[place - 1], row[place - 3]] for place in range(6)]


@pytest.mark.parametrize(("half", "symbols"), [(5, 7), (7, 7), (11, 3)])
def test_induction(half, symbols):
    tokens, answer, known = induction_batch(5, half, symbols=symbols, generator=generator())
    assert tokens.shape == answer.shape == (5, 2 * half - 1)
    assert torch.equal(tokens[:, 1:], answer[:, :-1])
    assert torch.equal(answer[:, known], tokens[:, 1:half])
    if half <= symbols:
        assert all(len(set(row[:half])) == half for row in tokens.tolist())


def test_lag_copy():
    tokens, answer = lag_copy_batch(5, 11, lag=3, generator=generator())
    assert all(answer[b, i - 3] == tokens[b, i - 3] for b in range(5) for i in range(3, 11))
    assert answer.shape == (5, 8)


def test_glyphs_are_ten_different_pictures():
    glyphs = digit_glyphs()
    assert glyphs.shape == (10, 7, 5)
    assert len({tuple(glyph.flatten().tolist()) for glyph in glyphs}) == 10
    assert set(glyphs.unique().tolist()) == {0.0, 1.0}


def test_digits_without_jitter_are_alike_and_with_it_are_not():
    images, label = digit_batch(97, jitter=0.0, noise=0.0, generator=generator())
    for digit in range(10):
        same = images[label == digit]
        assert len(same) > 1
        assert torch.equal(same, same[:1].expand_as(same))
    assert images.min() >= 0.0
    assert images.max() <= 1.0
    moved, label = digit_batch(97, noise=0.0, generator=generator())
    assert not torch.equal(moved[label == 3][0], moved[label == 3][1])
    assert moved.sum(dim=(1, 2, 3)).min() > 5  # nothing is pushed out of the picture


def test_digits_are_upright():
    images, label = digit_batch(97, side=10, jitter=0.0, noise=0.0, generator=generator())
    seven = images[label == 7][0, 0]
    assert torch.equal(seven[2:9, 3:8].round(), digit_glyphs()[7])


def test_far_corners():
    images, label = far_corner_batch(211, kinds=3, noise=0.0, generator=generator())
    glyphs = digit_glyphs()[:3]
    upper, lower = images[:, 0, :7, :5], images[:, 0, -7:, -5:]
    assert torch.equal((upper == lower).all(dim=(1, 2)), label == 1)
    assert 0.4 < label.double().mean() < 0.6
    for corner in (upper, lower):
        which = (corner[:, None] == glyphs).all(dim=(2, 3)).double()
        assert torch.equal(which.sum(1), torch.ones(211, dtype=torch.float64))
        for value in (0, 1):  # one corner alone says nothing
            assert which[label == value].mean(0).min() > 0.2


NUMERALS = {
    0: "零", 7: "七", 10: "十", 13: "十三", 20: "二十", 100: "一百", 101: "一百零一", 110: "一百一十",
    115: "一百一十五",
    1000: "一千", 1001: "一千零一", 1010: "一千零一十", 1203: "一千二百零三", 9999: "九千九百九十九", 10000: "一万",
    10001: "一万零一", 10010: "一万零一十", 12000: "一万二千", 20005: "二万零五", 100000: "十万", 110000: "十一万",
    1000010: "一百万零一十", 10203040: "一千零二十万三千零四十", 100000000: "一亿", 100010000: "一亿零一万",
    100000001: "一亿零一", 203000: "二十万三千", 100001000: "一亿零一千",
    1000000100: "十亿零一百", 120000000000: "一千二百亿",
}  # fmt: skip


@pytest.mark.parametrize("number", NUMERALS)
def test_numerals_by_hand(number):
    assert numerals.chinese_numeral(number) == NUMERALS[number]


def value_of(text):
    """Read a numeral back, by another way than it was written."""
    total = 0
    for group, size in (("亿", 10**8), ("万", 10**4), ("", 1)):
        head, mark, text = text.partition(group) if group else (text, "", "")
        if group and not mark:
            head, text = "", head
        number = digit = 0
        for character in head.replace("零", ""):
            if character in "十百千":
                number += (digit or 1) * 10 ** (1 + "十百千".index(character))
                digit = 0
            else:
                digit = "零一二三四五六七八九".index(character)
        total += (number + digit) * size
    return total


def test_numerals_read_back():
    numbers = torch.randint(10**11, (499,), generator=generator()).tolist()
    assert [value_of(numerals.chinese_numeral(number)) for number in numbers] == numbers
    texts = [numerals.chinese_numeral(number) for number in range(12_000)]
    assert len(set(texts)) == 12_000
    assert [value_of(text) for text in texts] == list(range(12_000))


def test_numeral_pairs():
    source, lengths, target = numerals.numeral_batch(211, most=20_305, generator=generator())
    numbers = [int(numerals.ARABIC.decode(row)) for row in source]
    assert set(lengths.tolist()) == {1, 2, 3, 4, 5}
    assert max(numbers) <= 20_305
    assert [numerals.CHINESE.decode(row) for row in target] == [numerals.chinese_numeral(n) for n in numbers]


def test_dates_by_hand():
    day = datetime.date(2000, 2, 29)
    assert [dates.english_date(day, style) for style in range(6)] == [
        "29 February 2000", "February 29, 2000", "Feb 29, 2000", "29 Feb 2000",
        "Tuesday, 29 February 2000", "Tuesday, February 29, 2000",
    ]  # fmt: skip
    assert dates.chinese_date(day) == "2000年2月29日"
    assert dates.chinese_date(datetime.date(2021, 3, 7), weekday=True) == "2021年3月7日星期日"


def test_date_pairs_name_the_same_day():
    source, _, target = dates.date_batch(211, generator=generator())
    for english, chinese in zip(source, target, strict=True):
        english, chinese = dates.ENGLISH_DATE.decode(english), dates.CHINESE_DATE.decode(chinese)
        numbers = chinese.split("星")[0].replace("年", " ").replace("月", " ").replace("日", "").split()
        day = datetime.date(*map(int, numbers))
        assert english in {dates.english_date(day, style) for style in range(6)}
        assert chinese == dates.chinese_date(day, weekday="星期" in chinese)
        assert ("星期" in chinese) == english.split(",")[0].endswith("day")


def test_alphabet():
    letters = Alphabet("banana")
    assert (letters.characters, len(letters)) == ("ban", 6)
    assert letters.decode([START, *letters.encode("nab"), END, FIRST]) == "nab"


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: copy_batch(0, shortest=2, longest=7, generator=g), "batch=0 must be a whole number, 1 or more"),
        (lambda g: reversal_batch(5, shortest=8, longest=7, generator=g), "shortest=8 is more than longest=7"),
        (lambda g: two_relation_batch(5, 7, generator=g), "length=7 is odd, .* choose length=6 or 8"),
        (lambda g: two_relation_batch(5, 2, generator=g), "length=2 must be a whole number, 4 or more"),
        (lambda g: induction_batch(5, 1, generator=g), "half=1 must be a whole number, 2 or more"),
        (lambda g: lag_copy_batch(5, 7, lag=7, generator=g), "lag=7 reaches .* length=7 tokens; choose lag=6"),
        (lambda g: digit_batch(5, side=7, generator=g), "side=7 must be a whole number, 8 or more"),
        (lambda g: digit_batch(5, noise=-1.0, generator=g), "noise=-1.0 must be 0 or more"),
        (lambda g: far_corner_batch(5, side=13, generator=g), "side=13 must be a whole number, 14 or more"),
        (lambda g: far_corner_batch(5, kinds=11, generator=g), "kinds=11 must be at most 10"),
        (lambda g: numerals.numeral_batch(5, most=10**12, generator=g), "number=1000000000000 must be"),
        (lambda g: numerals.chinese_numeral(-1), "number=-1 must be a whole number from 0 to 999999999999"),
        (lambda g: dates.english_date(datetime.date(2021, 3, 5), 6), "style=6 must be from 0 to 5"),
        (lambda g: dates.date_batch(2.5, generator=g), "batch=2.5 must be a whole number"),
        (lambda g: Alphabet("ab").encode("abc"), "'c' in 'abc' is not in the alphabet 'ab'"),
        (lambda g: Alphabet("ab").decode([5]), r"token 5 stands for nothing; this alphabet has tokens 0 ... 4"),
    ],
)
def test_errors(call, message):
    with pytest.raises(OptionError, match=message):
        call(generator())
