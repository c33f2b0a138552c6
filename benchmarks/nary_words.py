"""The values of a planted lake: domains that every table draws from, as texts with real spelling.

Words are made of syllables with the letters' usual frequencies, because XASH hashes what a value is
spelt like. Domains are small enough that a single column matches nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakejoin.model import Array, ColumnType
from lakejoin.values.column_encoder import encode_query

Rng = np.random.Generator

_ONSETS = "b br c ch d dr f fr g gr h j k kl l m n p pr r s sch sh st t th tr v w z".split()  # noqa: SIM905
_NUCLEI = "a a a e e e e i i o o u ai au ea ei ie oo ou y".split()  # noqa: SIM905
_CODAS = ["", "", "", "", "n", "n", "r", "r", "s", "l", "t", "m", "nd", "ng", "rt", "ck", "x"]


def _words(
    rng: Rng, count: int, syllables: tuple[int, int], endings: tuple[str, ...] = ("",)
) -> Array:
    """Distinct words of so many syllables, in an order of their own."""
    found: dict[str, None] = {}
    while len(found) < count:
        most = syllables[1]
        onset = (len(_ONSETS) * rng.random((count, most)) ** 1.3).astype(np.int64)
        nucleus = rng.integers(0, len(_NUCLEI), (count, most))
        coda = rng.integers(0, len(_CODAS), (count, most))
        long = rng.integers(syllables[0], most + 1, count).tolist()
        ending = rng.integers(0, len(endings), count).tolist()
        parts = [
            [_ONSETS[a] + _NUCLEI[b] + _CODAS[c] for a, b, c in zip(*row, strict=True)]
            for row in zip(onset.tolist(), nucleus.tolist(), coda.tolist(), strict=True)
        ]
        for word, n, last in zip(parts, long, ending, strict=True):
            found["".join(word[:n]) + endings[last]] = None
    return np.array(list(found)[:count], dtype=object)


def _pairs(rng: Rng, count: int, endings: tuple[str, ...]) -> Array:
    """Two words, such as a firm or a street is called."""
    one, other = _words(rng, count, (1, 2)), _words(rng, count, (1, 3), endings)
    return np.array([f"{a} {b}" for a, b in zip(one, other, strict=True)], dtype=object)


def _letters(rng: Rng, count: int, length: int) -> Array:
    """Codes of so many letters."""
    drawn = rng.permutation(26**length)[:count]
    digits = drawn[:, None] // 26 ** np.arange(length) % 26
    return np.array(["".join(chr(97 + d) for d in row) for row in digits.tolist()], dtype=object)


def _numbers(begin: int, end: int) -> Array:
    return np.array([str(n) for n in range(begin, end)], dtype=object)


def _days(count: int) -> Array:
    days = np.datetime64("1998-01-01") + np.arange(count)
    return np.datetime_as_string(days).astype(object)


def _articles(rng: Rng, count: int) -> Array:
    return np.array(
        [f"{a}-{n}" for a, n in zip(_letters(rng, 400, 2)[rng.integers(0, 400, count)],
                                    rng.permutation(10**6)[:count], strict=True)],
        dtype=object,
    )  # fmt: skip


_MAKERS: dict[str, Callable[[Rng], Array]] = {
    "first name": lambda rng: _words(rng, 1_500, (1, 3)),
    "last name": lambda rng: _words(rng, 8_000, (1, 4), ("", "", "er", "son", "mann")),
    "city": lambda rng: _words(rng, 4_000, (2, 4), ("", "", "burg", "ton", " city")),
    "country": lambda rng: _words(rng, 190, (2, 4), ("ia", "land", "")),
    "language": lambda rng: _words(rng, 60, (1, 3), ("ish", "ese", "")),
    "year": lambda rng: _numbers(1_950, 2_025),
    "day": lambda rng: _days(6_000),
    "country code": lambda rng: _letters(rng, 240, 2),
    "airport": lambda rng: _letters(rng, 3_000, 3),
    "number": lambda rng: _numbers(0, 1_000),
    "article": lambda rng: _articles(rng, 30_000),
    "category": lambda rng: _words(rng, 24, (2, 3), ("", "s", "ing")),
    "firm": lambda rng: _pairs(rng, 9_000, (" ltd", " inc", " ag", "")),
    "street": lambda rng: _pairs(rng, 6_000, (" street", " road", " way")),
    "postcode": lambda rng: _numbers(10_000, 25_000),
    "id": lambda rng: _letters(rng, 200_000, 5),
}
INTEGERS = frozenset({"year", "number", "postcode"})
ALONE = "id"  # the domain that tables share least


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All texts, canonical, with the domains one after another: [first[d], first[d] + size[d])."""

    names: tuple[str, ...]
    texts: pa.LargeStringArray
    first: Array
    size: Array
    types: tuple[ColumnType, ...]

    def draw(self, rng: Rng, domain: int, count: int) -> Array:
        """Values of a domain: the first of them come more often, as in real tables."""
        u = rng.random(count) if self.names[domain] == ALONE else rng.random(count) ** 2
        return self.first[domain] + (self.size[domain] * u).astype(np.int64)

    def shared(self) -> list[int]:
        """The domains that most tables have columns of."""
        return [d for d, name in enumerate(self.names) if name != ALONE]


def make_vocabulary(seed: int) -> Vocabulary:
    """The domains of a planted lake; a text that the value rules would rewrite is left out."""
    rng = np.random.default_rng(seed)
    parts, sizes, types = [], [], []
    for name, make in _MAKERS.items():
        data = encode_query(pa.array(make(rng).tolist(), pa.string()))
        parts.append(data.tokens)
        sizes.append(len(data.tokens))
        types.append(ColumnType.INTEGER if name in INTEGERS else ColumnType.TEXT)
    size = np.array(sizes, dtype=np.int64)
    texts = pa.chunked_array(parts).combine_chunks()
    return Vocabulary(tuple(_MAKERS), texts, np.cumsum(size) - size, size, tuple(types))
