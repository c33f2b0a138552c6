"""The encoder by words and characters, and the preparation of texts for it and others.

The encoder joins word vectors with hashed character n-grams: the default, and all word-vector
files. A text is split into words (`kernels/word_kernels.py`), abbreviations are expanded, and the
vectors of its words are summed; that is one half of its vector. The other half sums signed, hashed
character n-grams, which keep misspellings and other formats close. Each half has length 1 before
they are joined, so `share` is the n-grams' part of a squared distance.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from lakejoin.encoders.protocol import BaseEncoder, EncoderSpec, Texts
from lakejoin.errors import InputError
from lakejoin.kernels import word_kernels
from lakejoin.kernels.word_kernels import (
    BLANK,
    GAP,
    LETTER,
    LONGEST_WORD,
    STREET,
    STREET_LAST,
    compute_word_scales,
    expand_words,
    hash_character_grams,
    pool_texts,
    split_words,
)
from lakejoin.model import Array, string_buffers


@dataclass(frozen=True)
class Abbreviations:
    """The rules as arrays, sorted by short form; rules of one form keep the order of the file."""

    shorts: Any  # distinct short forms
    starts: Array  # short form i has rules starts[i] .. starts[i + 1]
    when: Array
    word_starts: Array  # rule r has long words word_starts[r] .. word_starts[r + 1]
    longs: Any  # the words of all long forms
    streets: Any  # words that mark an address
    last_streets: Any  # words that mark one only at the end: `st` may be a saint
    digest: str

    def expand(self, text_words: Array, codes: Array, distinct: Any) -> tuple[Array, Array, Any]:
        """Replace short forms by long ones; returns (text offsets, codes, distinct words)."""
        which = pc.fill_null(pc.index_in(distinct, self.shorts), len(self.shorts)).to_numpy()
        if len(which) == 0 or which.min() == len(self.shorts):
            return text_words, codes, distinct
        starts = np.append(self.starts, self.starts[-1])
        rules = np.zeros(len(which) + 1, np.int64)
        # Each word has a contiguous run of rules: repeat the run word by word.
        counts = starts[which + 1] - starts[which]
        np.cumsum(counts, out=rules[1:])
        taken = np.repeat(starts[which] - rules[:-1], counts) + np.arange(rules[-1])
        spans = np.stack([self.word_starts[taken], self.word_starts[taken + 1]], axis=1)
        most = int((spans[:, 1] - spans[:, 0]).max())
        offsets, data = string_buffers(distinct)
        first = data[np.minimum(offsets[:-1], len(data) - 1)]
        new_text_words = np.empty_like(text_words)
        new_codes = np.empty(len(codes) * most, np.int64)
        count = expand_words(
            text_words,
            codes,
            (first >= ord("0")) & (first <= ord("9")),
            self._streets_of(distinct),
            rules,
            self.when[taken],
            spans,
            len(distinct),
            new_text_words,
            new_codes,
        )
        return new_text_words, new_codes[:count], pa.concat_arrays([distinct, self.longs])

    def _streets_of(self, distinct: Any) -> Array:
        kinds = np.zeros(len(distinct), np.uint8)
        for words, kind in ((self.streets, STREET), (self.last_streets, STREET_LAST)):
            kinds[pc.is_in(distinct, words).to_numpy(zero_copy_only=False)] = kind
        return kinds


@cache
def abbreviations() -> Abbreviations:
    """The rules that ship with lakejoin.

    >>> rules = abbreviations()
    >>> rules.shorts.to_pylist()[:3]
    ['apr', 'apt', 'aug']
    """
    text = files("lakejoin.encoders").joinpath("abbreviations.csv").read_text(encoding="utf-8")
    rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: row["short"])
    when_codes = {
        "always": word_kernels.ALWAYS,
        "date": word_kernels.DATE,
        "after": word_kernels.AFTER,
        "before": word_kernels.BEFORE,
        "address": word_kernels.ADDRESS,
    }
    shorts = sorted({row["short"] for row in rows})
    longs = [row["long"].split() for row in rows]
    street_rows = [row for row in rows if row["when"] in ("after", "always")]
    streets = {word for row in street_rows for word in (row["short"], row["long"])}
    ambiguous = {row["short"] for row in rows if row["when"] == "before"} & streets
    return Abbreviations(
        shorts=pa.array(shorts, pa.large_string()),
        starts=np.searchsorted([row["short"] for row in rows], [*shorts, "\U0010ffff"]),
        when=np.array([when_codes[row["when"]] for row in rows], np.int64),
        word_starts=np.cumsum([0, *(len(words) for words in longs)]),
        longs=pa.array([word for words in longs for word in words], pa.large_string()),
        streets=pa.array(sorted(streets - ambiguous), pa.large_string()),
        last_streets=pa.array(sorted(ambiguous), pa.large_string()),
        digest=xxhash.xxh3_64_hexdigest(text.encode()),
    )


# The size of a batch, which bounds the memory needed beside the result.
MOST_TEXTS = 1 << 15
MOST_BYTES = 1 << 22


def to_text_array(texts: Texts) -> Any:
    """Convert texts to one LargeStringArray.

    >>> to_text_array(["a", None]).type
    DataType(large_string)
    """
    if isinstance(texts, str):
        raise InputError("encode takes a list of texts: put a single text in a list")
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        if pa.types.is_dictionary(texts.type):
            texts = texts.dictionary_decode()
        try:
            return texts if texts.type == pa.large_string() else texts.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"encode takes texts, not {texts.type}") from None
    values = list(texts)
    try:
        return pa.array(values, type=pa.large_string())
    except UnicodeEncodeError:  # lone surrogates
        valid = [None if t is None else t.encode("utf-8", "replace").decode() for t in values]
        return pa.array(valid, type=pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        other = next(type(t).__name__ for t in values if not isinstance(t, str | None))
        raise InputError(f"encode takes texts, not {other}") from None


def text_batches(texts: Any) -> Iterator[tuple[int, Any]]:
    """Yield (first row, slice) of at most `MOST_TEXTS` texts or `MOST_BYTES` bytes."""
    offsets, _ = string_buffers(texts)
    row = 0
    while row < len(texts):
        by_bytes = int(np.searchsorted(offsets, offsets[row] + MOST_BYTES, side="right")) - 1
        stop = max(row + 1, min(by_bytes, row + MOST_TEXTS, len(texts)))
        yield row, texts.slice(row, stop - row)
        row = stop


def fold_for_encoding(texts: Any) -> Any:
    """Fold case and compatibility forms, so that spelling variants are encoded alike.

    Canonical values change only by their compatibility forms (`ﬁ`, full-width letters).

    >>> fold_for_encoding(pa.array(["ZÜRICH", "Straße", None], type=pa.large_string())).to_pylist()
    ['zürich', 'strasse', '']
    """
    texts = pc.fill_null(texts, "")
    offsets, data = string_buffers(texts)
    used = data[offsets[0] : offsets[-1]]
    if len(used) == 0 or used.max() < 0x80:
        return pc.ascii_lower(texts)
    lower = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    for letter, plain in (("ß", "ss"), ("ς", "σ")):  # as canonical values are folded
        lower = pc.replace_substring(lower, letter, plain)
    return lower


_KINDS = 0x20000
_LETTERS = 0x2000
# Letters with a stroke, which Unicode does not decompose.
_STRUCK = {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i"}


@cache
def letter_kinds() -> Array:
    """For each code point: part of a word, blank, or neither.

    Letters, digits, marks and pictures (emoji) form words; punctuation and mathematical signs do
    not.

    >>> table = letter_kinds()
    >>> [int(table[ord(c)]) for c in "aß9東😀+ "]
    [1, 1, 1, 1, 1, 0, 2]
    """
    table = np.full(_KINDS, GAP, np.uint8)
    for point in range(_KINDS):
        char = chr(point)
        if char.isspace():
            table[point] = BLANK
        elif char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "So"):
            table[point] = LETTER
    return table


@cache
def plain_letters() -> Array:
    """For each code point: the letter without its accent.

    >>> "".join(chr(plain_letters()[ord(c)]) for c in "são łódź")
    'sao lodz'
    """
    table = np.arange(_LETTERS, dtype=np.uint32)
    for point in range(0x80, _LETTERS):
        first, *rest = list(unicodedata.normalize("NFKD", chr(point)))
        if rest and all(unicodedata.combining(mark) for mark in rest):
            table[point] = ord(first)
    for struck, letter in _STRUCK.items():
        table[ord(struck)] = ord(letter)
    return table


@cache
def capitals() -> Array:
    """For each code point: its capital, if that is one code point."""
    uppers = (chr(point).upper() for point in range(_LETTERS))
    points = [ord(upper) if len(upper) == 1 else point for point, upper in enumerate(uppers)]
    return np.array(points, dtype=np.uint32)


VERSION = "1"


@dataclass(frozen=True)
class Mix:
    """How word vectors and character n-grams are mixed.

    `characters` is the dimension of the n-grams (a power of two, or 0 for none), `sizes` their
    lengths, `share` their part of the squared length. `power` damps long words: the sum of a
    word's rows is divided by its length to this power (0, 0.5 or 1).

    >>> Mix(characters=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: characters must be 0 or a power of two from 16 to 4096, not 100
    """

    characters: int = 128
    sizes: tuple[int, ...] = (3,)
    share: float = 0.5
    power: float = 0.5
    expand: bool = True

    def __post_init__(self) -> None:
        n = self.characters
        if n and (n & (n - 1) or not 16 <= n <= 4096):
            raise InputError(f"characters must be 0 or a power of two from 16 to 4096, not {n}")
        if not 0 <= self.share <= 1 or (n == 0) != (self.share == 0):
            raise InputError(
                f"share must be between 0 and 1, and 0 only without n-grams; got {self.share}"
            )
        if n and not (self.sizes and all(1 <= size <= 8 for size in self.sizes)):
            raise InputError(f"sizes of n-grams must be between 1 and 8, not {self.sizes}")
        if self.power not in (0, 0.5, 1):
            raise InputError(f"power must be 0, 0.5 or 1, not {self.power}")


class WordRows(NamedTuple):
    """The table rows of each word, and the weight of its n-grams."""

    table: Array
    offsets: Array
    rows: Array
    weights: Array


class WordTable(Protocol):
    """A source of word vectors."""

    settings: dict[str, Any]
    dimension: int

    def look_up(self, words: Any) -> WordRows:
        """Look up the rows of distinct words (a LargeStringArray)."""


class NoWords:
    """A table without words, for n-grams alone."""

    dimension = 0

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def look_up(self, words: Any) -> WordRows:
        count = len(words)
        no_rows = np.zeros(count + 1, np.int64)
        table = np.zeros((1, 0), np.float32)
        return WordRows(table, no_rows, np.zeros(0, np.int64), np.ones(count, np.float32))


class MixedEncoder(BaseEncoder):
    """Encode texts by their words and character n-grams."""

    version = VERSION
    cheap = True

    def __init__(self, name: str, words: WordTable, mix: Mix, spec: EncoderSpec) -> None:
        self.name = name
        self.spec = spec
        self.dimension = words.dimension + mix.characters
        # Words and characters, which a match compares separately.
        self.parts = tuple(size for size in (words.dimension, mix.characters) if size)
        self.settings = {
            **words.settings,
            "characters": mix.characters,
            "sizes": list(mix.sizes) if mix.characters else [],
            "share": mix.share,
            "power": mix.power if words.dimension else 0,
            "abbreviations": abbreviations().digest if mix.expand else "",
        }
        self._words = words
        self._mix = mix
        self._sizes = np.array(mix.sizes, np.int64)

    def encode(self, texts: Texts) -> Array:
        """One float32 unit vector per text; zero for a null, empty or blank text."""
        whole = to_text_array(texts)
        out = np.empty((len(whole), self.dimension), np.float32)
        for row, batch in text_batches(whole):
            self._encode(batch, out[row : row + len(batch)])
        return out

    def _encode(self, texts: Any, out: Array) -> None:
        text_words, codes, words = split_texts(fold_for_encoding(texts))
        if self._mix.expand:
            text_words, codes, words = abbreviations().expand(text_words, codes, words)
        rows = self._words.look_up(words)
        scales = np.empty(len(words), np.float32)
        compute_word_scales(rows.offsets, rows.rows, rows.table, float(self._mix.power), scales)
        offsets, data = string_buffers(words)
        starts = np.zeros(len(words) + 1, np.int64)
        grams = np.zeros(0, np.int32)
        if self._mix.characters:
            grams = np.empty((len(data) + 2 * len(words)) * len(self._sizes), np.int32)
            hash_character_grams(
                offsets, data, plain_letters(), self._sizes, self._mix.characters, starts, grams
            )
        counts = np.maximum(np.diff(starts), 1)
        gram_scales = (rows.weights / np.sqrt(np.sqrt(counts))).astype(np.float32)
        pool_texts(
            text_words,
            codes,
            rows.offsets,
            rows.rows,
            scales,
            rows.table,
            starts,
            grams,
            gram_scales,
            float(self._mix.share),
            out,
        )


def split_texts(texts: Any) -> tuple[Array, Array, Any]:
    """Split texts into words; returns (word offsets of each text, word codes, distinct words)."""
    offsets, data = string_buffers(texts)
    size = int(offsets[-1] - offsets[0])
    text_words = np.empty(len(texts) + 1, np.int64)
    word_offsets = np.empty(size // 2 + size // LONGEST_WORD + len(texts) + 2, np.int64)
    letters = np.empty(size, np.uint8)
    count = split_words(offsets, data, letter_kinds(), text_words, word_offsets, letters)
    occurrences = pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(word_offsets[: count + 1]), pa.py_buffer(letters)
    )
    coded = occurrences.dictionary_encode()
    return text_words, coded.indices.to_numpy().astype(np.int64), coded.dictionary


def open_characters(mix: Mix | None = None) -> MixedEncoder:
    """Open the encoder of character n-grams alone, which needs no other package.

    >>> open_characters().dimension
    256
    """
    mix = mix or Mix(characters=256, share=1.0)
    return MixedEncoder("characters", NoWords(), mix, EncoderSpec(open_characters, (mix,)))
