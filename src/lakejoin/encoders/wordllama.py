"""The default encoder: token vectors from the wordllama wheel, joined with character n-grams.

Only the weights and the vocabulary of the installed wheel are read; none of its code is imported.
The vocabulary is that of Llama 2: byte-pair merges over a text whose blanks are marks. No token
spans a blank, so each distinct word is tokenised once.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from lakejoin.encoders.mixed_encoder import Mix, MixedEncoder, WordRows, capitals
from lakejoin.encoders.protocol import EncoderSpec
from lakejoin.errors import MissingDependency
from lakejoin.kernels.subwords import fill_merges, merge_words
from lakejoin.model import Array, string_buffers

DIMENSION = 128  # of the 256 dimensions of a token vector: see docs/encoders.md
SMALL = 64
_COLUMNS = 256
_WEIGHTS = "weights/l2_supercat_256.safetensors"
VOCABULARY = "tokenizers/l2_supercat_tokenizer_config.json"
_MARK = "▁"
_FIRST_MERGED = 259  # below: <unk>, <s>, </s> and the 256 bytes
_RARE = 40_000
_INSTALL = "pip install 'lakejoin[meaning]'"


class WordllamaWords:
    """Word vectors from token vectors, cut to their first `dimension` numbers.

    The vectors were trained so that their first numbers are useful vectors by themselves.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder = folder
        raw = (folder / _WEIGHTS).read_bytes()
        whole = _matrix(raw)
        self.dimension = dimension
        self.table = np.ascontiguousarray(whole[:, :dimension], dtype=np.float32)
        vocabulary = (folder / VOCABULARY).read_bytes()
        model = json.loads(vocabulary)["model"]
        self._set_vocabulary(model["vocab"], model["merges"])
        self.settings: dict[str, Any] = {
            "weights": xxhash.xxh3_64_hexdigest(raw + vocabulary),
            "meaning": dimension,
        }

    def _set_vocabulary(self, token_ids: dict[str, int], merges: list[Any]) -> None:
        self._mark = token_ids[_MARK]
        singles = {ord(token): id for token, id in token_ids.items() if len(token) == 1}
        self._singles = np.full(max(singles) + 1, -1, np.int32)
        self._singles[list(singles)] = list(singles.values())
        # A merge is two tokens, in newer files a list of them: without a loop, as there are 60,000.
        texts = merges if all(isinstance(one, str) for one in merges) else map(" ".join, merges)
        tokens = " ".join(texts).split(" ")
        pairs = tokens[::2], tokens[1::2], map(str.__add__, tokens[::2], tokens[1::2])
        left, right, self._merged = (
            np.array([*map(token_ids.__getitem__, part)], np.int32) for part in pairs
        )
        size = 1 << (2 * len(merges)).bit_length()
        self._keys = np.full(size, np.iinfo(np.uint64).max, np.uint64)
        self._ranks = np.zeros(size, np.int32)
        fill_merges(left, right, self._keys, self._ranks)
        # Merges are ordered by frequency, so the id of a whole word says how rare it is. Rounded so
        # that all machines agree.
        ranks = np.maximum(np.arange(len(token_ids)) - _FIRST_MERGED + 2, 1)
        self._weights = np.round(1024 * np.log(ranks + 1) / np.log(_RARE + 1)) / 1024
        self._weights[:_FIRST_MERGED] = 1.0

    def look_up(self, words: Any) -> WordRows:
        offsets, data = string_buffers(words)
        at = np.empty(len(words) + 1, np.int64)
        rows = np.empty(int(offsets[-1] - offsets[0]) + len(words), np.int32)
        count = merge_words(
            offsets,
            data,
            self._singles,
            capitals(),
            self._mark,
            self._keys,
            self._ranks,
            self._merged,
            at,
            rows,
        )
        first = rows[at[:-1]] if len(words) else rows[:0]
        weights = np.where(np.diff(at) == 1, self._weights[first], 1.0).astype(np.float32)
        return WordRows(self.table, at, rows[:count], weights)


def _matrix(raw: bytes) -> Array:
    """The only matrix of a safetensors file: a length, a JSON header, the numbers."""
    start = 8 + int.from_bytes(raw[:8], "little")
    (tensor,) = (v for k, v in json.loads(raw[8:start]).items() if k != "__metadata__")
    rows, columns = tensor["shape"]
    if tensor["dtype"] != "F16" or columns != _COLUMNS:
        raise ValueError(f"{tensor['dtype']} {tensor['shape']}")
    return np.frombuffer(raw, "<f2", rows * columns, start).reshape(rows, columns)


@cache
def open_words(dimension: int) -> WordllamaWords:
    """Open the word vectors once per process; they are read-only, so threads can share them."""
    package = find_spec("wordllama")  # finds the folder without importing the package
    if package is None or not package.submodule_search_locations:
        raise MissingDependency(f"the default encoder needs the package wordllama: {_INSTALL}")
    folder = Path(package.submodule_search_locations[0])
    try:
        return WordllamaWords(folder, dimension)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise MissingDependency(
            f"cannot read the wordllama weights in {folder} ({problem!r}): {_INSTALL}"
        ) from None


def open_default(dimension: int = DIMENSION, mix: Mix | None = None) -> MixedEncoder:
    """Open the default encoder: `dimension` numbers for words, plus those of `mix`."""
    mix = mix or Mix()
    spec = EncoderSpec(open_default, (dimension, mix))
    return MixedEncoder("wordllama+characters", open_words(dimension), mix, spec)


def open_small(mix: Mix | None = None) -> MixedEncoder:
    """Open the default encoder at half the dimension: slightly less accurate, faster to search."""
    return open_default(SMALL, mix or Mix(SMALL))


def open_wide(mix: Mix | None = None) -> MixedEncoder:
    """Open the default encoder at twice the dimension: more accurate, slower to search."""
    return open_default(_COLUMNS, mix or Mix(_COLUMNS))
