"""Estimate how much two columns would overlap by chance, and how much evidence their overlap is.

Row numbers, years, small codes and flags overlap in any two tables. To measure chance, each value
of the smaller column is made wrong on purpose (a whole number by a step, a text in one letter or
digit) and looked up in the other column. With consecutive numbers, wrong values match as often as
right ones; with two-letter codes, a third of them match; with names of towns, hardly any do.

The evidence is n KL(share || chance), in nats: of n values a share matches, where chance alone
would match that many. It is the logarithm of how much likelier the share is if it is not chance.

Numbers are moved by steps, and texts get another letter. A wrong value that nobody would write
never matches and says nothing, so wrong values follow the pattern of the column:

- if all numbers are multiples of a step apart (even numbers, prices in fives), they move by it;
- a letter is replaced by the next letter that the column has at that position, once the column has
  shown all of them (A, C, G and T; hexadecimal digits); constant positions are skipped;
- if the last character follows from the others, as a check digit does, the last two are replaced by
  two that stand for them elsewhere. If `...17` and `...25` are both valid after the same digits,
  they are valid after any digits after which one of them is: this holds for every weighted sum of
  digits, with any modulus.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import Array

Lookup = Callable[[pa.LargeStringArray], Any]  # which texts a column contains: Arrow booleans

LEAST_CHANCE = 0.02  # unrelated tables share a word now and then
PATTERN_VALUES = 5_000  # values of a column that show its pattern; more are not read
_SAMPLE = 500
_WHOLE = r"^-?\d{1,15}$"


def match_chance(values: pa.LargeStringArray, other_values: pa.LargeStringArray) -> float:
    """The share of wrong values that `other_values` contain, at least `LEAST_CHANCE`.

    >>> count = pa.array([str(n) for n in range(1, 101)], pa.large_string())
    >>> match_chance(count, count)
    0.99
    >>> match_chance(pa.array(["bern", "ulm"]), pa.array(["bern", "ulm", "bonn"]))
    0.02
    """
    return match_chance_by(values, lambda wrong: pc.is_in(wrong, value_set=other_values))


def match_chance_by(values: pa.LargeStringArray, lookup: Lookup, sample: int = _SAMPLE) -> float:
    """The share of wrong values that `lookup` finds, at least `LEAST_CHANCE`."""

    def find(wrong: pa.LargeStringArray) -> Array:
        return np.asarray(lookup(wrong).fill_null(False))

    return combine_chances([map_variants(group, find) for group in wrong_values(values, sample)])


@dataclass(frozen=True, slots=True, eq=False)
class WrongValues:
    """Wrong values for a share of a column's values; `variants` has a row per kind of change."""

    share: float
    variants: Any


def wrong_values(values: pa.LargeStringArray, sample: int = _SAMPLE) -> list[WrongValues]:
    """Wrong values for a sample of these, as texts; null where none can be made."""
    values = _sample(values, PATTERN_VALUES)
    whole = pc.match_substring_regex(values, _WHOLE)
    kinds = (
        (values.filter(whole), wrong_numbers),
        (values.filter(pc.invert(whole)), wrong_texts),
    )
    return [
        WrongValues(share, make(kind_values, _sample(kind_values, math.ceil(share * sample))))
        for kind_values, make in kinds
        if (share := len(kind_values) / max(1, len(values)))
    ]


def _sample(values: pa.LargeStringArray, most: int) -> pa.LargeStringArray:
    if len(values) <= most:
        return values
    positions = np.random.default_rng(0).choice(len(values), most, replace=False)
    return values.take(np.sort(positions))


def combine_chances(matched: Sequence[WrongValues]) -> float:
    """The share of wrong values that match in the variants with the most matches.

    It is at least `LEAST_CHANCE`. `variants` are 1 where a wrong value matches, 0 where it does
    not, and -1 where there is none.
    """
    chance = 0.0
    for group in matched:
        hits, tried = (group.variants > 0).sum(axis=1), (group.variants >= 0).sum(axis=1)
        chance += group.share * float((hits / np.maximum(tried, 1)).max())
    return max(LEAST_CHANCE, chance)


def evidence(values: float, share: float, chance: float) -> float:
    """The evidence, in nats, that a share of the values matches; 0 if chance explains it.

    >>> round(evidence(100, 1.0, 0.5)), evidence(100, 0.4, 0.5)
    (69, 0.0)
    """
    chance = min(chance, 1 - 1e-9)
    if share <= chance:
        return 0.0
    rest = (1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0.0
    return values * (share * math.log(share / chance) + rest)


def map_variants(group: WrongValues, find: Callable[[pa.LargeStringArray], Array]) -> WrongValues:
    """What `find` says of each wrong text, -1 where there is none.

    All texts are looked up at once, because every lookup may have to prepare a large column.
    """
    wrong = pa.array([text for variant in group.variants for text in variant], pa.large_string())
    exists = np.asarray(wrong.is_valid())
    found = np.full(len(wrong), -1, np.int64)
    if exists.any():
        found[exists] = find(wrong.drop_null())
    return WrongValues(group.share, found.reshape(len(group.variants), -1))


# -- wrong values ----------------------------------------------------------------------------------

WrongTexts = list[str | None]

_STEPS = (1, -1, 2, -2, 5, 10, -10, 100, 1000)
_SHIFTS = (1, 2, 3)
_MIN_STEP_VALUES = 10  # with fewer values a common step may be chance
_MAX_UNSEEN = 0.02  # the share of letters that may still be unseen
_CONSTANT_SHARE = 0.95  # a position is constant if a letter has this share
_MAX_POSITIONS = 12  # letters from either end that are examined
_CHECK_PAIRS = 100  # pairs of values that differ only in the last two characters
_CHECK_RATIO = 50  # at most one pair in 50 shares the second-last character; else one in eleven
_ENDINGS = 3  # other endings per value


def wrong_numbers(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[WrongTexts]:
    """Wrong whole numbers for `some`, in the steps of the `known` numbers.

    >>> even = pa.array([str(n) for n in range(0, 60, 6)], pa.large_string())
    >>> [way[:2] for way in wrong_numbers(even, even)[:3]]
    [['6', '12'], ['-6', '0'], ['12', '18']]
    >>> wrong_numbers(pa.array(["0099"]), pa.array(["0099"]))[:2]
    [['0100'], ['0098']]
    """
    step = _step(known.cast(pa.int64()).to_numpy())
    moved = some.cast(pa.int64()).to_numpy() + step * np.array(_STEPS)[:, None]
    # Numbers that are padded with zeros keep their length.
    zeros = [len(text) if text[:1] == "0" else 0 for text in some.to_pylist()]
    variants: list[WrongTexts] = [
        [str(n).zfill(length) for n, length in zip(numbers, zeros, strict=True)]
        for numbers in moved.tolist()
    ]
    return variants + _other_endings(known, some)


def wrong_texts(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[WrongTexts]:
    """Wrong texts for `some`, with another letter at some positions.

    >>> genes = pa.array([a + b for a in "acgt" for b in "acgt"], pa.large_string())
    >>> wrong_texts(genes, genes)[0][:3]
    ['ac', 'ag', 'at']
    """
    texts = [_Letters(text) for text in some.to_pylist()]
    variants = [
        [wrong for text in texts for wrong in text.change_letter(position, alphabet)]
        for position, alphabet in _positions(texts)
    ]
    size = len(variants[0])
    return variants + [_pad_texts(variant, size) for variant in _other_endings(known, some)]


def _step(numbers: Array) -> int:
    """The largest step that all differences are multiples of."""
    if len(numbers) < _MIN_STEP_VALUES:
        return 1
    return max(1, int(np.gcd.reduce(np.abs(numbers - numbers[0]))))


class _Letters:
    """A text, and the offsets of its first and last letters and digits."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        # Search from both ends: a text may be very long.
        first = (i for i, character in enumerate(text) if character.isalnum())
        last = (i for i in range(len(text) - 1, -1, -1) if text[i].isalnum())
        self.text = text
        self.at = {
            **dict(enumerate(islice(first, _MAX_POSITIONS))),
            **{-position: i for position, i in enumerate(islice(last, _MAX_POSITIONS), 1)},
        }

    def letter(self, position: int) -> str | None:
        """The letter or digit at a position, counted from the end if negative."""
        at = self.at.get(position)
        return None if at is None else self.text[at]

    def change_letter(self, position: int, alphabet: str) -> WrongTexts:
        """The text with the next letters of the alphabet at a position; None if it has none."""
        at = self.at.get(position)
        if at is None:
            return [None] * len(_SHIFTS)
        now, before, after = self.text[at], self.text[:at], self.text[at + 1 :]
        others = [_next(now, shift, alphabet) for shift in _SHIFTS]
        return [None if other == now else before + other + after for other in others]


def _positions(texts: Sequence[_Letters]) -> list[tuple[int, str]]:
    """The last, second-last and first positions where letters vary, with their alphabets.

    An alphabet is empty if the column has not shown all of it.
    """
    chosen = []
    for positions, count in ((range(-1, -_MAX_POSITIONS - 1, -1), 2), (range(_MAX_POSITIONS), 1)):
        varying: list[tuple[int, str]] = []
        for position in positions:
            letters = Counter(filter(None, (text.letter(position) for text in texts)))
            if len(letters) > 1 and max(letters.values()) < _CONSTANT_SHARE * letters.total():
                varying.append((position, _alphabet(letters)))
            if len(varying) == count:
                break
        constant = [(position, "") for position in positions[:count]]
        chosen += (varying + constant)[:count]
    return chosen


def _alphabet(letters: Counter[str]) -> str:
    """All letters in order; empty if more are to be expected (Good-Turing: the share of unseen
    letters is that of letters seen once)."""
    once = sum(count == 1 for count in letters.values())
    return "" if once > _MAX_UNSEEN * letters.total() else "".join(sorted(letters))


def _next(character: str, shift: int, alphabet: str) -> str:
    position = alphabet.find(character)
    if position >= 0:
        return alphabet[(position + shift) % len(alphabet)]
    for first, size in (("0", 10), ("a", 26), ("A", 26)):
        position = ord(character) - ord(first)
        if 0 <= position < size:
            return chr(ord(first) + (position + shift) % size)
    return chr(ord("a") + (ord(character) + shift) % 26)


# -- check digits --------------------------------------------------------------------------------


def _other_endings(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[WrongTexts]:
    """The texts with two other characters at the end; empty if there is no check digit."""
    if not _has_check_digit(known):
        return []
    equivalent = _equivalent_endings(known)
    variants: list[WrongTexts] = [[] for _ in range(_ENDINGS)]
    for text in some.to_pylist():
        others = equivalent.get(text[-2:], ())
        for rank, variant in enumerate(variants):
            variant.append(text[:-2] + others[rank] if rank < len(others) else None)
    return variants


def _has_check_digit(known: pa.LargeStringArray) -> bool:
    """Whether the last character follows from the others.

    Of texts that differ only in the last two characters, about one pair in eleven has the same
    second-last digit, unless that determines the last one.
    """
    pairs = _pairs_equal_except(known, 2)
    return pairs >= _CHECK_PAIRS and _CHECK_RATIO * _pairs_equal_except(known, 1) <= pairs


def _pairs_equal_except(known: pa.LargeStringArray, last: int) -> int:
    """How many pairs are equal except for the last characters."""
    begins = pc.utf8_slice_codeunits(known, 0, -last).dictionary_encode().indices
    counts = np.bincount(begins.to_numpy()) if len(known) else np.zeros(0, np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _equivalent_endings(known: pa.LargeStringArray) -> dict[str, list[str]]:
    """For each ending of two characters, others that occur after the same beginning."""
    after: dict[str, list[str]] = {}
    for text in known.to_pylist():
        after.setdefault(text[:-2], []).append(text[-2:])
    counts_of: dict[str, Counter[str]] = {}
    for endings in after.values():
        for position, ending in enumerate(endings):
            others = endings[:position] + endings[position + 1 :]
            counts_of.setdefault(ending, Counter()).update(others)
    return {
        ending: [other for other, _ in counts.most_common(_ENDINGS)]
        for ending, counts in counts_of.items()
    }


def _pad_texts(texts: WrongTexts, size: int) -> WrongTexts:
    return texts + [None] * (size - len(texts))
