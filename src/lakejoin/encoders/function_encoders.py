"""Encoders from any function (its vectors are checked and scaled to length 1), and sentence models
by path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.encoders.mixed_encoder import text_batches, to_text_array
from lakejoin.encoders.protocol import BaseEncoder, Encoder, EncoderSpec, Texts, is_cheap
from lakejoin.encoders.word_files import fingerprint
from lakejoin.errors import InputError, MissingDependency
from lakejoin.model import Array

EncodingFunction = Callable[[Sequence[str]], Any]
_PROBE = "lakejoin"


class FunctionEncoder(BaseEncoder):
    """Encode strings by a function of the caller's.

    Its attributes `name`, `version` and `settings` identify it, if it has them; otherwise its
    module and name do, and a change of the function goes unnoticed. Other processes open it by
    `spec`, else they unpickle the function.

    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> lengths.version = "2"
    >>> encoder = FunctionEncoder(lengths)
    >>> encoder.version, encoder.encode(["abc", ""]).round(2).tolist()
    ('2', [[0.949999988079071, 0.3199999928474426], [0.0, 0.0]])
    """

    def __init__(self, function: EncodingFunction, spec: EncoderSpec | None = None) -> None:
        self._function = function
        kind: Any = function if hasattr(function, "__qualname__") else type(function)
        self.name = str(getattr(function, "name", f"{kind.__module__}.{kind.__qualname__}"))
        self.version = str(getattr(function, "version", "unversioned"))
        settings = getattr(function, "settings", {})
        self.settings = dict(settings) if isinstance(settings, Mapping) else {}
        try:
            json.dumps(self.settings)
        except (TypeError, ValueError) as problem:
            raise InputError(f"the settings of {self.name} must be JSON: {problem}") from None
        self.spec = spec or EncoderSpec(FunctionEncoder, (function,))
        self.dimension = -1
        self.dimension = self._call_function([_PROBE]).shape[1]

    def encode(self, texts: Texts) -> Array:
        """One unit vector per text; null, empty and blank texts are not passed to the function."""
        whole = to_text_array(texts)
        out = np.zeros((len(whole), self.dimension), np.float32)
        for row, batch in text_batches(whole):
            filled = [
                (at, text) for at, text in enumerate(batch.to_pylist()) if text and text.strip()
            ]
            if filled:
                at, words = zip(*filled, strict=True)
                out[row + np.array(at)] = self._call_function(list(words))
        return out

    def _call_function(self, texts: list[str]) -> Array:
        try:
            vectors = np.ascontiguousarray(self._function(texts), dtype=np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"{self.name} did not return vectors: {problem}") from problem
        if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.shape[1] == 0:
            raise InputError(
                f"{self.name} must return a matrix of shape ({len(texts)}, dimension) for"
                f" {len(texts)} texts, not {vectors.shape}"
            )
        if self.dimension not in (-1, vectors.shape[1]):
            raise InputError(
                f"{self.name} returned vectors of dimension {self.dimension} before, and"
                f" {vectors.shape[1]} now"
            )
        if not np.isfinite(vectors).all():
            raise InputError(f"{self.name} returned numbers that are not finite")
        lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        lengths[lengths == 0] = 1.0
        unit: Array = (vectors / lengths).astype(np.float32)
        return unit


class CheckedEncoder(FunctionEncoder):
    """An encoder of the caller's, under its own identity, with its vectors checked."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.encode, EncoderSpec(CheckedEncoder, (encoder,)))
        self.name, self.version = encoder.name, encoder.version
        self.settings = encoder.settings
        self.cheap = is_cheap(encoder)
        self._identity = encoder.identity

    @property
    def identity(self) -> str:
        return self._identity


_MOST_TOKENS = 512


def _import_library(library: str, extra: str, path: Path) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingDependency(
            f"{path} needs the package {library}: pip install 'lakejoin[{extra}]'"
        ) from None


def _fingerprints(path: Path) -> dict[str, str]:
    if path.is_file():
        return {path.name: fingerprint(path)}
    suffixes = {".safetensors", ".bin", ".onnx", ".json"}
    files = sorted(file for file in path.rglob("*") if file.suffix in suffixes and file.is_file())
    return {file.relative_to(path).as_posix(): fingerprint(file) for file in files}


class SentenceTransformer:
    """A sentence-transformers folder as an encoding function."""

    name = "sentence-transformers"
    version = "1"

    def __init__(self, path: Path) -> None:
        library = _import_library("sentence_transformers", "sentences", path)
        self._model = library.SentenceTransformer(str(path), local_files_only=True)
        self.settings = {"files": _fingerprints(path)}

    def __call__(self, texts: Sequence[str]) -> Any:
        encode = self._model.encode
        return np.stack([np.asarray(encode(text, show_progress_bar=False)) for text in texts])


class OnnxModel:
    """An ONNX model with a `tokenizer.json` beside it as a function: the mean over its tokens.

    The output `sentence_embedding`, if the model has one, is already pooled.
    """

    name = "onnx"
    version = "1"

    def __init__(self, path: Path) -> None:
        runtime = _import_library("onnxruntime", "onnx", path)
        tokenizers = _import_library("tokenizers", "onnx", path)
        if path.is_dir():
            models = sorted(path.rglob("*.onnx"))
            model = next((m for m in models if m.name == "model.onnx"), models[0])
        else:
            model = path
        paths = [model.parent / "tokenizer.json", model.parent.parent / "tokenizer.json"]
        tokenizer = next((file for file in paths if file.exists()), None)
        if tokenizer is None:
            raise InputError(
                f"{model} has no tokenizer.json next to it: copy the one that came with the model"
            )
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._pooled = "sentence_embedding" in outputs
        self._output = "sentence_embedding" if self._pooled else outputs[0]
        self.settings = {"files": _fingerprints(model) | {"tokenizer.json": fingerprint(tokenizer)}}

    def __call__(self, texts: Sequence[str]) -> Any:
        return np.stack([self._embed(text) for text in texts])

    def _embed(self, text: str) -> Any:
        tokens = self._tokenizer.encode(text)
        inputs = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
        }
        feed = {n: np.array([ids], np.int64) for n, ids in inputs.items() if n in self._inputs}
        (output,) = self._session.run([self._output], feed)
        if self._pooled:
            return output[0]
        mask = np.array(tokens.attention_mask, np.float64)[:, None]
        return (output[0] * mask).sum(0) / np.maximum(mask.sum(), 1)


def open_sentences(path: Path) -> FunctionEncoder:
    return FunctionEncoder(SentenceTransformer(path), EncoderSpec(open_sentences, (path,)))


def open_onnx(path: Path) -> FunctionEncoder:
    """Open an ONNX model, or a folder that contains one."""
    return FunctionEncoder(OnnxModel(path), EncoderSpec(open_onnx, (path,)))
