"""Super keys by plain Python, character by character, as the paper says; bits are sets of numbers.

Bit 0 is the left-most bit of a hash. Everything here is slow and obvious on purpose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz "
_WORD = (1 << 64) - 1
_K1, _K2, _K3 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9

Bits = frozenset[int]


def folded(character: str) -> str:
    """Which of the 37 characters one counts as."""
    if "A" <= character <= "Z":
        return chr(ord(character) + 32)
    return character if character in ALPHABET else ALPHABET[ord(character) % 37]


def alpha(bits: int, values: int) -> int:
    """Equation 5: the smallest number of ones with more patterns than values; at least two."""
    a = 0
    while math.comb(bits, a) <= values:
        a += 1
    return max(a, 2)


def beta(bits: int) -> int:
    """Equation 6: the largest beta with 37 beta < bits."""
    b = 0
    while 37 * (b + 1) < bits:
        b += 1
    return b


def rarest_first(values: Iterable[str]) -> str:
    """The 37 characters by how often they occur in the values, ties as they are ordered."""
    count = Counter(folded(c) for value in values for c in value)
    return "".join(sorted(ALPHABET, key=lambda c: (count[c], c)))


@dataclass(frozen=True)
class Xash:
    """XASH as section 5.3 tells it; the parts can be switched off as in figure 5."""

    bits: int
    alpha: int
    order: str
    length: bool = True
    characters: bool = True
    location: bool = True
    rotation: bool = True

    def __call__(self, text: str) -> Bits:
        b = beta(self.bits)
        length_segment = self.bits - 37 * b
        found: set[int] = set()
        if self.length:
            found.add(len(text) % length_segment)
        characters = [folded(c) for c in text]
        chosen = [c for c in self.order if c in characters][: self.alpha - 1]
        for c in chosen if self.characters else ():
            places = [i for i, other in enumerate(characters, 1) if other == c]
            x = math.ceil(Fraction(sum(places), len(places)) * b / len(text))
            bit = ALPHABET.index(c) * b + (x - 1 if self.location else 0)
            for _ in range(len(text) if self.rotation else 0):
                bit = bit - 1 if bit else 37 * b - 1  # one to the left
            found.add(length_segment + bit)
        return frozenset(found)


def _finish(h: int) -> int:
    h ^= h >> 32
    h = h * _K1 & _WORD
    h ^= h >> 29
    h = h * _K3 & _WORD
    return h ^ h >> 32


def hashed(data: bytes) -> int:
    """The 64-bit hash of docs/format.md, with seed 0."""
    h = len(data) * _K3 & _WORD
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        h = (h ^ (word * _K1 & _WORD)) * _K2 & _WORD
        h = (h << 29 | h >> 35) & _WORD
    return _finish(h)


def drawn(h: int, turn: int) -> int:
    """A word of the stream of random bits that a hash begins."""
    return _finish((h + (turn + 1) * _K1) & _WORD)


@dataclass(frozen=True)
class Bloom:
    """A Bloom filter of so many hash functions."""

    bits: int
    hashes: int

    def __call__(self, text: str) -> Bits:
        words = self.bits // 64
        h = hashed(text.encode())
        first = (drawn(h, 0) >> 60) % words
        found = set()
        for i in range(self.hashes):
            place = (drawn(h, i // 10) >> (6 * (i % 10))) % 64
            found.add(64 * ((first + i) % words) + place)
        return frozenset(found)


@dataclass(frozen=True)
class SimHash:
    """The majority, bit by bit, of the hashes of all n-grams of three bytes."""

    bits: int

    def __call__(self, text: str) -> Bits:
        data = text.encode()
        grams = [data[i : i + 3] for i in range(max(1, len(data) - 2))]
        votes: Counter[int] = Counter()
        for gram in grams:
            for bit in range(self.bits):
                votes[bit] += 1 if drawn(hashed(gram), bit // 64) >> (bit % 64) & 1 else -1
        return frozenset(bit for bit in range(self.bits) if votes[bit] > 0)


Hash = Callable[[str], Bits]


def super_key(values: Iterable[str | None], hash_of: Hash) -> Bits:
    """The OR of the hashes of values; nulls add nothing."""
    return frozenset().union(*(hash_of(v) for v in values if v is not None))


def to_words(keys: Sequence[Bits], bits: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Sets of bits as rows of words."""
    rows = [[sum(1 << b - 64 * w for b in key if b // 64 == w) for w in range(bits // 64)]
            for key in keys]  # fmt: skip
    return np.array(rows, dtype=np.uint64).reshape(len(keys), bits // 64)
