"""Small lakes that are searched for composite keys, and random tables with many equal values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from lakejoin.lake import Lake
from lakejoin.store.index_records import SuperKeyOptions
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.super_keys import SuperKeyComponent
from oracle.lakes import PlainTable
from oracle.search import lake_of

CELLS = st.sampled_from(["a", "b", "c", "A", " b", "n/a", None, "ö", "Ö"])


def key_lake(folder: Path, *groups: Sequence[PlainTable], **options: Any) -> Lake:
    """An opened lake of these tables with super keys, one segment for each group of them."""
    components = (PostingsComponent(), SuperKeyComponent(SuperKeyOptions()))
    return lake_of(folder, groups, components=components, **options)


@st.composite
def tables(draw: st.DrawFn, name: str, narrowest: int = 1) -> PlainTable:
    """Tables of up to four columns."""
    rows = draw(st.sampled_from([1, 2, 5, 12]))
    column = st.lists(CELLS, min_size=rows, max_size=rows)
    width = draw(st.integers(narrowest, 4))
    return PlainTable(name, {f"c{i}": draw(column) for i in range(width)})
