"""Values that a column might hold, but for all that is known does not mean: made from its own.

Numbers go on by steps, and texts get another letter. But a wrong value that nobody would write is
met by nothing and says nothing. So they are made the way the column makes its own:

- numbers that all are multiples of a step apart (even ones, prices in fives) go on by that step;
- a letter is exchanged for the next of those that the column has in that place, once it has shown
  all of them (of A, C, G and T for another of these; of hexadecimal digits likewise), and places in
  which the column always has the same one are passed over;
- where the last character follows from the others, as a check digit does, the last two are
  exchanged for two that stand in their stead elsewhere. If `...17` and `...25` are both right after
  the same digits, they are right after any others in which one of them is: every sum of weighed
  digits, to whatever modulus, allows for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Made = list[str | None]

_STEPS = (1, -1, 2, -2, 5, 10, -10, 100, 1000)
_SHIFTS = (1, 2, 3)
_ENOUGH = 10  # values from which on a common step is none by chance
_UNSEEN = 0.02  # the share of letters that may be unknown yet
_VARIES = 0.95  # a letter that more have in a place is always there
_FAR = 12  # letters from either end that are looked at
_PAIRS = 100  # of values that differ in the last two characters only
_ONE_IN = 50  # of which share the last but one where it is a check digit; else it is one in eleven
_INSTEAD = 3  # endings


def wrong_numbers(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[Made]:
    """Whole numbers instead of `some`, in the steps of the `known` ones.

    >>> import pyarrow as pa
    >>> even = pa.array([str(n) for n in range(0, 60, 6)], pa.large_string())
    >>> [way[:2] for way in wrong_numbers(even, even)[:3]]
    [['6', '12'], ['-6', '0'], ['12', '18']]
    >>> wrong_numbers(pa.array(["0099"]), pa.array(["0099"]))[:2]
    [['0100'], ['0098']]
    """
    import pyarrow as pa

    step = _step(known.cast(pa.int64()).to_numpy())
    moved = some.cast(pa.int64()).to_numpy() + step * np.array(_STEPS)[:, None]
    # Numbers that are filled up with zeros stay as long as they are.
    zeros = [len(text) if text[:1] == "0" else 0 for text in some.to_pylist()]
    ways: list[Made] = [
        [str(n).zfill(length) for n, length in zip(each, zeros, strict=True)]
        for each in moved.tolist()
    ]
    return ways + _other_endings(known, some)


def wrong_texts(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[Made]:
    """Texts instead of `some`, with another letter in some places.

    >>> import pyarrow as pa
    >>> genes = pa.array([a + b for a in "acgt" for b in "acgt"], pa.large_string())
    >>> wrong_texts(genes, genes)[0][:3]
    ['ac', 'ag', 'at']
    """
    texts = [_Letters(text) for text in some.to_pylist()]
    ways = [
        [made for text in texts for made in text.changed(place, alphabet)]
        for place, alphabet in _places(texts)
    ]
    return ways + [_padded(way, len(ways[0])) for way in _other_endings(known, some)]


def _step(numbers: Array) -> int:
    """What all numbers are apart, or multiples of it."""
    if len(numbers) < _ENOUGH:
        return 1
    return max(1, int(np.gcd.reduce(np.abs(numbers - numbers[0]))))


class _Letters:
    """A text, and where the first and the last of its letters and digits stand."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        # Looked for from either end: a text may be endless.
        first = (i for i, character in enumerate(text) if character.isalnum())
        last = (i for i in range(len(text) - 1, -1, -1) if text[i].isalnum())
        self.text = text
        self.at = {
            **dict(enumerate(islice(first, _FAR))),
            **{-place: i for place, i in enumerate(islice(last, _FAR), 1)},
        }

    def letter(self, place: int) -> str | None:
        """The letter or digit in a place, counted from the end if below 0."""
        at = self.at.get(place)
        return None if at is None else self.text[at]

    def changed(self, place: int, alphabet: str) -> Made:
        """The text with others there, those next in the alphabet; none where it has none."""
        at = self.at.get(place)
        if at is None:
            return [None] * len(_SHIFTS)
        now, before, after = self.text[at], self.text[:at], self.text[at + 1 :]
        others = [_next(now, shift, alphabet) for shift in _SHIFTS]
        return [None if other == now else before + other + after for other in others]


def _places(texts: Sequence[_Letters]) -> list[tuple[int, str]]:
    """The last, the last but one and the first place in which letters vary, with their alphabets.

    An alphabet that the column has not shown as a whole is empty.
    """
    found = []
    for places, wanted in ((range(-1, -_FAR - 1, -1), 2), (range(_FAR), 1)):
        varying: list[tuple[int, str]] = []
        for place in places:
            letters = Counter(filter(None, (text.letter(place) for text in texts)))
            if len(letters) > 1 and max(letters.values()) < _VARIES * letters.total():
                varying.append((place, _alphabet(letters)))
            if len(varying) == wanted:
                break
        always = [(place, "") for place in places[:wanted]]
        found += (varying + always)[:wanted]
    return found


def _alphabet(letters: Counter[str]) -> str:
    """All letters, in order; nothing where there are more to come (by Good and Turing: as often as
    those that were seen once)."""
    once = sum(count == 1 for count in letters.values())
    return "" if once > _UNSEEN * letters.total() else "".join(sorted(letters))


def _next(character: str, shift: int, alphabet: str) -> str:
    place = alphabet.find(character)
    if place >= 0:
        return alphabet[(place + shift) % len(alphabet)]
    for first, size in (("0", 10), ("a", 26), ("A", 26)):
        place = ord(character) - ord(first)
        if 0 <= place < size:
            return chr(ord(first) + (place + shift) % size)
    return chr(ord("a") + (ord(character) + shift) % 26)


# -- check digits --------------------------------------------------------------------------------


def _other_endings(known: pa.LargeStringArray, some: pa.LargeStringArray) -> list[Made]:
    """The texts with two other characters at the end; none where the last is no check digit."""
    if not _is_checked(known):
        return []
    instead = _endings(known)
    ways: list[Made] = [[] for _ in range(_INSTEAD)]
    for text in some.to_pylist():
        others = instead.get(text[-2:], ())
        for place, way in enumerate(ways):
            way.append(text[:-2] + others[place] if place < len(others) else None)
    return ways


def _is_checked(known: pa.LargeStringArray) -> bool:
    """Whether the last character follows from the others.

    Of texts that differ in the last two characters only, about one pair in eleven has the same
    digit before the last, unless that leaves the last one no choice.
    """
    pairs = _alike_but(known, 2)
    return pairs >= _PAIRS and _ONE_IN * _alike_but(known, 1) <= pairs


def _alike_but(known: pa.LargeStringArray, last: int) -> int:
    """How many pairs are alike but for the last characters."""
    import pyarrow.compute as pc

    begins = pc.utf8_slice_codeunits(known, 0, -last).dictionary_encode().indices
    counts = np.bincount(begins.to_numpy()) if len(known) else np.zeros(0, np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _endings(known: pa.LargeStringArray) -> dict[str, list[str]]:
    """For two characters at the end, some that stand in their stead after the same others."""
    after: dict[str, list[str]] = {}
    for text in known.to_pylist():
        after.setdefault(text[:-2], []).append(text[-2:])
    found: dict[str, Counter[str]] = {}
    for endings in after.values():
        for place, ending in enumerate(endings):
            beside = endings[:place] + endings[place + 1 :]
            found.setdefault(ending, Counter()).update(beside)
    return {ending: [one for one, _ in c.most_common(_INSTEAD)] for ending, c in found.items()}


def _padded(way: Made, size: int) -> Made:
    return way + [None] * (size - len(way))
