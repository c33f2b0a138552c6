"""Texts by number: which of them hold some bytes, against plain Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.locations import Location
from lakejoin.model import string_buffers
from lakejoin.store import dictionary as module
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.dictionary import Texts, write_texts

LETTERS = st.text("abü", max_size=6)


def kept(folder: Path, values: list[str]) -> Texts:
    place = Location.of(folder / "texts.lj")
    offsets, data = string_buffers(pa.array(values, pa.large_string()))
    with ArrayFileWriter(place) as out:
        write_texts(out, "text", offsets, data, np.arange(len(values)))
    return Texts(ArrayFile(place, out.record), "text")


@settings(max_examples=60, deadline=None)
@given(st.lists(LETTERS, max_size=40), st.text("abü", min_size=1, max_size=3), st.integers(1, 9))
def test_holding_is_what_a_loop_finds(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], wanted: str, scanned: int
) -> None:
    texts = kept(tmp_path_factory.mktemp("texts"), [*values, "end"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SCANNED", scanned)
        found = list(texts.find_containing(wanted.encode(), 60))
    assert found == [place for place, value in enumerate(values) if wanted in value]


def test_time_that_is_up_is_told(tmp_path: Path) -> None:
    assert list(kept(tmp_path, ["a", "b"]).find_containing(b"a", -1)) == [None]
