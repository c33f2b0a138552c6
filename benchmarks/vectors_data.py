"""Lakes of vectors from a seed, shaped like those of the PEXESO paper (its table III).

A string is the average of one to four words of a Zipf vocabulary, of length 1. Word vectors are
clustered by topic and their variance falls with the number of the principal component as i^-0.6,
which is what averages of real GloVe vectors show (100 dimensions: the first component has 10 % of
the variance, the first 15 have 39 %). Every domain of strings leans on one topic; a column takes
its values from one domain, popular ones more often, and some of them in another spelling: a vector
turned towards another string of the domain, by a distance anywhere between 0 and 10 % of the
largest. So values repeat over columns, and nothing but equal values and spellings is very near.

Queries are columns of the same kind that are not in the lake, half of their values in a spelling of
their own. For every query, every tau of 2, 4, 6 and 8 % and every T of 20, 40, 60 and 80 % one
column is planted in which T of the query's values have matches within tau, but not within
tau - 2 %: there are joinable columns at every tau and T, and more with every step of tau.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.model import Array

TAUS = (0.02, 0.04, 0.06, 0.08)
SHARES = (0.2, 0.4, 0.6, 0.8)
DECAY = 0.6
COMMON = 0.35  # the length of what all word vectors have in common
OF_TOPIC = 0.45  # of a word vector's variance
WORDS = 40_000
TOPICS = 300
STYLED = 0.3  # of a column's values, on average, are in another spelling
LARGEST = 2.0  # distance of two vectors of length 1
SHORTEST_QUERY = 12  # values drawn
FARTHEST_SPELLING = 0.1 * LARGEST


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a lake is; its vectors follow from this and the seed."""

    name: str
    columns: int
    mean_length: float
    strings: int  # to choose from, beside their spellings
    dimension: int
    queries: int
    spellings: float = 0.5  # for every string
    fewest: int = 3  # values of a column
    seed: int = 5

    def scaled(self, share: float) -> Shape:
        """The same at another size: columns and strings shrink alike."""
        columns, strings = int(self.columns * share), int(self.strings * share)
        return replace(self, columns=columns, strings=strings)


SWDC = Shape("SWDC-like", 516_000, 16.7, 700_000, 50, 60)
OPEN = Shape("OPEN-like", 2_000, 796.0, 350_000, 300, 8)


@dataclass(frozen=True)
class Lake:
    """Distinct vectors, the columns that hold them, and queries."""

    name: str
    vectors: Array  # float32, one row for each distinct value
    start: Array  # of each column in `ids`, and the end
    ids: Array  # of a column's distinct values, ascending
    queries: tuple[Array, ...]
    planted: tuple[tuple[int, int, float, float], ...] = ()  # (query, column, tau, share)

    @property
    def columns(self) -> int:
        """How many."""
        return len(self.start) - 1

    @property
    def distinct(self) -> int:
        """How many vectors once each is kept once."""
        return len(self.vectors)

    @property
    def occurrences(self) -> int:
        """How many vectors where every column has its own."""
        return len(self.ids)

    @cached_property
    def column_of(self) -> Array:
        """The column of every occurrence."""
        return np.repeat(np.arange(self.columns, dtype=np.uint32), np.diff(self.start))

    @cached_property
    def lists(self) -> tuple[Array, Array]:
        """(start, columns): which columns hold a vector, by its number."""
        counts = np.bincount(self.ids, minlength=self.distinct)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return start, self.column_of[np.argsort(self.ids, kind="stable")]

    def repeated(self) -> Lake:
        """The same lake where every occurrence is a vector of its own: nothing is deduplicated."""
        own = np.arange(self.occurrences, dtype=np.int64)
        return replace(self, vectors=self.vectors[self.ids], ids=own)

    def facts(self) -> dict[str, Any]:
        """What a figure depends on."""
        lengths = [len(query) for query in self.queries]
        return {
            "lake": self.name,
            "columns": self.columns,
            "vectors": self.occurrences,
            "distinct": self.distinct,
            "dimension": self.vectors.shape[1],
            "queries": len(self.queries),
            "query_values": round(float(np.mean(lengths)), 1),
        }


def make_lake(shape: Shape) -> Lake:
    """A lake, the same for the same shape."""
    chance = np.random.default_rng(shape.seed)
    strings = _Strings.drawn(shape, chance)
    counts = _lengths(shape, chance, shape.columns + shape.queries, strings)
    counts[shape.columns :] = np.maximum(counts[shape.columns :], SHORTEST_QUERY)
    column, value = strings.columns(counts, chance)
    asked = np.searchsorted(column, shape.columns)
    queries = _queries(strings, column[asked:], value[asked:], chance)
    columns, values, grown = [column[:asked]], [value[:asked]], [strings.vectors]
    planted: list[tuple[int, int, float, float]] = []
    number, room = shape.columns, len(strings.vectors)
    for asking, query in enumerate(queries):
        for tau in TAUS:
            for share in SHARES:
                own = _partners(query, tau, share, strings, chance)
                padding = chance.integers(0, len(strings.vectors), _padding(shape, len(own)))
                mine = np.concatenate([room + np.arange(len(own)), np.unique(padding)])
                grown.append(own)
                columns.append(np.full(len(mine), number))
                values.append(mine)
                planted.append((asking, number, tau, share))
                number, room = number + 1, room + len(own)
    held = (np.concatenate(columns), np.concatenate(values))
    return _numbered(shape.name, np.concatenate(grown), *held, number, queries, planted)


def _numbered(
    name: str,
    vectors: Array,
    column: Array,
    value: Array,
    columns: int,
    queries: list[Array],
    planted: list[tuple[int, int, float, float]],
) -> Lake:
    """Vectors that no column holds are left out, and the others are numbered anew, at random."""
    used = np.zeros(len(vectors), bool)
    used[value] = True
    kept = np.flatnonzero(used)
    kept = np.random.default_rng(len(kept)).permutation(kept)
    renumbered = np.full(len(vectors), -1, np.int64)
    renumbered[kept] = np.arange(len(kept))
    value = renumbered[value]
    order = np.lexsort((value, column))
    sizes = np.bincount(column, minlength=columns)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Lake(name, vectors[kept], start, value[order], tuple(queries), tuple(planted))


# -- strings -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Strings:
    """The strings of all domains, a domain's together and its popular ones first."""

    vectors: Array  # strings, then their spellings
    first: Array  # string of a domain, and the end
    spelling: Array  # the first spelling of a string, among the vectors, and the end

    @classmethod
    def drawn(cls, shape: Shape, chance: np.random.Generator) -> _Strings:
        """Makes words, averages them, and respells some."""
        words, topic_of = _words(shape.dimension, chance)
        domains = max(4, shape.strings // 1_200)
        weights = (1.0 + np.arange(domains)) ** -0.6
        sizes = np.maximum(100, shape.strings * weights / weights.sum()).astype(np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)])
        domain = np.repeat(np.arange(domains), sizes)
        vectors = _averages(words, topic_of, domain, chance)
        times = chance.poisson(shape.spellings, len(vectors))
        base = np.repeat(np.arange(len(vectors)), times)
        other = first[domain[base]] + (chance.random(len(base)) * sizes[domain[base]]).astype(int)
        spelled = turned(
            vectors[base], vectors[other], FARTHEST_SPELLING * chance.random(len(base))
        )
        spelling = len(vectors) + np.concatenate([[0], np.cumsum(times)])
        return cls(np.concatenate([vectors, spelled]), first, spelling)

    def columns(self, counts: Array, chance: np.random.Generator) -> tuple[Array, Array]:
        """(column, value) of columns with so many values drawn, ascending, each pair once."""
        sizes = np.diff(self.first)
        domain = chance.choice(len(sizes), len(counts), p=sizes / sizes.sum())
        column = np.repeat(np.arange(len(counts)), counts)
        within = domain[column]
        rank = (sizes[within] * chance.random(len(column)) ** 3).astype(np.int64)
        string = self.first[within] + rank
        style = np.minimum(1.0, chance.exponential(STYLED, len(counts)))
        spellings = self.spelling[string + 1] - self.spelling[string]
        respelled = (chance.random(len(column)) < style[column]) & (spellings > 0)
        which = self.spelling[string] + (chance.random(len(column)) * spellings).astype(np.int64)
        value = np.where(respelled, which, string)
        pairs = np.unique(column * np.int64(len(self.vectors)) + value)
        return pairs // len(self.vectors), pairs % len(self.vectors)


def _words(dimension: int, chance: np.random.Generator) -> tuple[Array, Array]:
    """(vectors, topic of each, ascending)."""
    spectrum = (1.0 + np.arange(dimension)) ** -DECAY
    spread = np.sqrt(spectrum / spectrum.sum())
    weights = (1.0 + np.arange(TOPICS)) ** -0.5
    topic_of = np.sort(chance.choice(TOPICS, WORDS, p=weights / weights.sum()))
    common = chance.standard_normal(dimension)
    topics = chance.standard_normal((TOPICS, dimension)) * spread
    own = chance.standard_normal((WORDS, dimension)) * spread
    drawn = np.sqrt(OF_TOPIC) * topics[topic_of] + np.sqrt(1 - OF_TOPIC) * own
    drawn += COMMON * common / np.linalg.norm(common)
    turn = np.linalg.qr(chance.standard_normal((dimension, dimension)))[0]
    return (drawn @ turn).astype(np.float32), topic_of


def _averages(words: Array, topic_of: Array, domain: Array, chance: np.random.Generator) -> Array:
    """One string for every entry of `domain`: the average of one to four words."""
    begin = np.searchsorted(topic_of, np.arange(TOPICS + 1))
    topic = chance.integers(0, TOPICS, int(domain.max()) + 1)[domain]
    total = np.zeros((len(domain), words.shape[1]), np.float32)
    lengths = chance.choice(4, len(domain), p=[0.25, 0.35, 0.25, 0.15]) + 1
    for place in range(4):
        at = np.flatnonzero(lengths > place)
        of_topic = (chance.random(len(at)) < 0.7) & (place > 0)
        low = np.where(of_topic, begin[topic[at]], 0)
        high = np.where(of_topic, begin[topic[at] + 1], WORDS)
        word = low + ((high - low) * chance.random(len(at)) ** 2).astype(np.int64)
        total[at] += words[np.minimum(word, WORDS - 1)]
    return unit(total)


# -- columns and queries -------------------------------------------------------------------


def _lengths(shape: Shape, chance: np.random.Generator, count: int, strings: _Strings) -> Array:
    """How many values to draw for each column, so that the mean without repeats is as wanted."""
    sigma = 0.8
    wanted = np.exp(sigma * chance.standard_normal(count)) / np.exp(sigma**2 / 2)
    drawn = wanted * shape.mean_length
    pilot = slice(0, min(count, 3_000))
    for _ in range(3):
        counts = np.maximum(shape.fewest, drawn).astype(np.int64)
        kept = len(strings.columns(counts[pilot], np.random.default_rng(0))[0])
        drawn *= shape.mean_length * len(counts[pilot]) / kept
    return np.maximum(shape.fewest, drawn).astype(np.int64)


def _queries(
    strings: _Strings, column: Array, value: Array, chance: np.random.Generator
) -> list[Array]:
    """Columns as vectors, half of the values in a spelling that the lake does not have."""
    queries = []
    for number in np.unique(column):
        own = strings.vectors[value[column == number]]
        other = strings.vectors[chance.integers(0, len(strings.vectors), len(own))]
        far = FARTHEST_SPELLING * chance.random(len(own)) * (chance.random(len(own)) < 0.5)
        queries.append(turned(own, other, far))
    return queries


def _partners(
    query: Array, tau: float, share: float, strings: _Strings, chance: np.random.Generator
) -> Array:
    """Vectors for a share of the query's values, within tau but not within tau - 2 %."""
    chosen = chance.permutation(len(query))[: int(np.ceil(share * len(query)))]
    other = strings.vectors[chance.integers(0, len(strings.vectors), len(chosen))]
    step = TAUS[1] - TAUS[0]
    far = LARGEST * (tau - step * chance.uniform(0.05, 0.95, len(chosen)))
    return turned(query[chosen], other, far)


def _padding(shape: Shape, partners: int) -> int:
    """How many other values a planted column has."""
    return max(1, int(shape.mean_length) - partners // 2)


def unit(vectors: Array) -> Array:
    """The same directions at length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)


def turned(base: Array, towards: Array, far: Array) -> Array:
    """Unit vectors at a distance of `far` from `base`, on the way to `towards`."""
    out = np.empty_like(base)
    for begin in range(0, len(base), 1 << 16):  # in pieces: float64 takes room
        piece = slice(begin, begin + (1 << 16))
        one, two = base[piece].astype(np.float64), towards[piece].astype(np.float64)
        across = two - np.sum(one * two, axis=1, keepdims=True) * one
        width = np.linalg.norm(across, axis=1, keepdims=True)
        across = np.divide(across, width, out=np.zeros_like(across), where=width > 1e-6)
        angle = 2 * np.arcsin(far[piece, None] / 2)
        out[piece] = one * np.cos(angle) + across * np.sin(angle)
    return unit(out)
