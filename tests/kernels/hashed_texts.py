"""Texts of all kinds to hash to bits, and the hashes of a row filter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lakejoin.model import Array, string_buffers

SIZES = (128, 256, 512)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

_text = st.one_of(
    st.text("0123456789-", max_size=14),
    st.text("abcxyzAZ 09.,_", max_size=40),
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            " ",
            "a",
            "aaaaaaaa",
            "muhammad",
            "Zürich",
            "日本国",
            "e\u0301",
            "😀 a😀",
            "\x00",
            "x" * 254,
            "x" * 255,
            "x" * 256,
            "ab" * 700,
            "ü" * 127,
            "ü" * 128,
            "ü" * 300,
            "q" + "0" * 70_000,
        ]
    ),
)
hashable_texts = st.lists(_text, max_size=12)


def buffers(texts: list[str]) -> tuple[Array, Array]:
    return string_buffers(pa.array(texts, pa.large_string()))


def hashed_by(row_filter: Any, texts: list[str]) -> Array:
    out = np.full((len(texts), row_filter.words), 0xAAAA, dtype=np.uint64)  # to be overwritten
    row_filter.hash_texts(*buffers(texts), 0, out)
    return out
