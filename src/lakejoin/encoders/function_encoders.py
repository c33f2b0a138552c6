"""Sentence models by path: a sentence-transformers folder, or an ONNX model with its tokenizer.

Texts are encoded one at a time: in a batch, padding would make the last bits of a vector depend on
the other texts, which an encoder must not allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.encoders.functions import FunctionEncoder
from lakejoin.encoders.protocol import EncoderSpec
from lakejoin.encoders.word_files import fingerprint
from lakejoin.errors import InputError, MissingDependency

_MOST_TOKENS = 512


def _import_library(library: str, extra: str, path: Path) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingDependency(
            f"{path} needs the package {library}: pip install 'lakejoin[{extra}]'"
        ) from None


def _fingerprints(path: Path) -> dict[str, str]:
    """The fingerprint of each file of a model, by name."""
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
        """One vector per text."""
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
            raise InputError(f"{model} has no tokenizer.json beside it: copy the model's own there")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._pooled = "sentence_embedding" in outputs
        self._output = "sentence_embedding" if self._pooled else outputs[0]
        self.settings = {"files": _fingerprints(model) | {"tokenizer.json": fingerprint(tokenizer)}}

    def __call__(self, texts: Sequence[str]) -> Any:
        """One vector per text."""
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


class _ModelEncoder(FunctionEncoder):
    """A model that other processes open again from its path, instead of unpickling it."""

    def __init__(self, function: Any, spec: EncoderSpec) -> None:
        super().__init__(function)
        self.spec = spec


def open_sentences(path: Path) -> FunctionEncoder:
    """Open a sentence-transformers folder."""
    return _ModelEncoder(SentenceTransformer(path), EncoderSpec(open_sentences, (path,)))


def open_onnx(path: Path) -> FunctionEncoder:
    """Open an ONNX model, or a folder that contains one."""
    return _ModelEncoder(OnnxModel(path), EncoderSpec(open_onnx, (path,)))
