"""Encoders from any function: its vectors are checked and scaled to length 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lakejoin.encoders.protocol import Array, Encoder, EncoderSpec, BaseEncoder, Texts, is_cheap
from lakejoin.encoders.texts import to_text_array, text_batches
from lakejoin.errors import InputError

EncodingFunction = Callable[[Sequence[str]], Any]
_PROBE = "lakejoin"


class FunctionEncoder(BaseEncoder):
    """Encode strings by a function of the caller's.

    Its attributes `name`, `version` and `settings` identify it, if it has them; otherwise its
    module and name do, and a change of the function goes unnoticed.

    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> lengths.version = "2"
    >>> encoder = FunctionEncoder(lengths)
    >>> encoder.version, encoder.encode(["abc", ""]).round(2).tolist()
    ('2', [[0.949999988079071, 0.3199999928474426], [0.0, 0.0]])
    """

    def __init__(self, function: EncodingFunction) -> None:
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
        self.spec = EncoderSpec(FunctionEncoder, (function,))
        self.dimension = -1
        self.dimension = self._checked([_PROBE]).shape[1]

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
                out[row + np.array(at)] = self._checked(list(words))
        return out

    def _checked(self, texts: list[str]) -> Array:
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
        super().__init__(encoder.encode)
        self.name, self.version = encoder.name, encoder.version
        self.settings = encoder.settings
        self.cheap = is_cheap(encoder)
        self.spec = EncoderSpec(CheckedEncoder, (encoder,))
        self._identity = encoder.identity

    @property
    def identity(self) -> str:
        """The identity that the encoder states."""
        return self._identity
