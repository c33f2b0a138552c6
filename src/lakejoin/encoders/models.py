"""Sentence models by path: a sentence-transformers folder, or an ONNX model with its tokenizer.

Texts go through one by one. In a batch a text is padded to the longest beside it, and its vector
would depend on its neighbours in the last bits; an encoder must not.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.encoders.functions import FunctionEncoder
from lakejoin.encoders.protocol import EncoderSpec
from lakejoin.encoders.wordfiles import fingerprint
from lakejoin.errors import InputError, MissingPart

_MOST_TOKENS = 512


def _needed(library: str, extra: str, path: Path) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise MissingPart(
            f"{path} needs the package {library}: pip install 'lakejoin[{extra}]'"
        ) from None


def _weights(path: Path) -> dict[str, str]:
    """The fingerprints of a model's files, by name."""
    if path.is_file():
        return {path.name: fingerprint(path)}
    kinds = {".safetensors", ".bin", ".onnx", ".json"}
    found = sorted(file for file in path.rglob("*") if file.suffix in kinds and file.is_file())
    return {file.relative_to(path).as_posix(): fingerprint(file) for file in found}


class SentenceTransformer:
    """A sentence-transformers folder as a function."""

    name = "sentence-transformers"
    version = "1"

    def __init__(self, path: Path) -> None:
        library = _needed("sentence_transformers", "sentences", path)
        self._model = library.SentenceTransformer(str(path), local_files_only=True)
        self.settings = {"files": _weights(path)}

    def __call__(self, texts: Sequence[str]) -> Any:
        """One vector a text."""
        encode = self._model.encode
        return np.stack([np.asarray(encode(text, show_progress_bar=False)) for text in texts])


class OnnxModel:
    """An ONNX model with a `tokenizer.json` beside it as a function: the mean over its tokens.

    A model with an output `sentence_embedding` has pooled already.
    """

    name = "onnx"
    version = "1"

    def __init__(self, path: Path) -> None:
        runtime = _needed("onnxruntime", "onnx", path)
        tokenizers = _needed("tokenizers", "onnx", path)
        if path.is_dir():
            models = sorted(path.rglob("*.onnx"))
            model = next((m for m in models if m.name == "model.onnx"), models[0])
        else:
            model = path
        places = [model.parent / "tokenizer.json", model.parent.parent / "tokenizer.json"]
        beside = next((place for place in places if place.exists()), None)
        if beside is None:
            raise InputError(f"{model} has no tokenizer.json beside it: put the model's own there")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(beside))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._pooled = "sentence_embedding" in outputs
        self._output = "sentence_embedding" if self._pooled else outputs[0]
        self.settings = {"files": _weights(model) | {"tokenizer.json": fingerprint(beside)}}

    def __call__(self, texts: Sequence[str]) -> Any:
        """One vector a text."""
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Any:
        encoding = self._tokenizer.encode(text)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {n: np.array([ids], np.int64) for n, ids in given.items() if n in self._inputs}
        (found,) = self._session.run([self._output], feed)
        if self._pooled:
            return found[0]
        mask = np.array(encoding.attention_mask, np.float64)[:, None]
        return (found[0] * mask).sum(0) / np.maximum(mask.sum(), 1)


class _Opened(FunctionEncoder):
    """A model that is opened again from its path, not pickled."""

    def __init__(self, function: Any, spec: EncoderSpec) -> None:
        super().__init__(function)
        self.spec = spec


def open_sentences(path: Path) -> FunctionEncoder:
    """A sentence-transformers folder."""
    return _Opened(SentenceTransformer(path), EncoderSpec(open_sentences, (path,)))


def open_onnx(path: Path) -> FunctionEncoder:
    """An ONNX model, or a folder that holds one."""
    return _Opened(OnnxModel(path), EncoderSpec(open_onnx, (path,)))
