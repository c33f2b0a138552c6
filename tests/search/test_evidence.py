"""Evidence against brute force: coverage, fan-out, examples, matched and unmatched values."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.search.evidence import find_most_frequent
from oracle.lakes import PlainTable, canonical_columns, encoded
from oracle.search import join_figures, lake_of

VALUES = st.one_of(
    st.none(),
    st.sampled_from([*"abcdefgh", "A", " b", "n/a", "Ö", "ö"]),
    st.text("xyz", max_size=2),
)


@st.composite
def tables(draw: st.DrawFn, name: str) -> PlainTable:
    rows = draw(st.sampled_from([1, 2, 7, 30]))
    width = draw(st.integers(1, 3))
    cells = st.lists(VALUES, min_size=rows, max_size=rows)
    return PlainTable(name, {f"c{i}": draw(cells) for i in range(width)})


LAKES = st.lists(st.integers(1, 3), min_size=1, max_size=3).flatmap(
    lambda sizes: st.tuples(
        *(
            st.tuples(*(tables(f"s{s}t{t}.csv") for t in range(size)))
            for s, size in enumerate(sizes)
        )
    )
)


def canonical(table: PlainTable) -> dict[str, list[str | None]]:
    return dict(zip(table.columns, canonical_columns(encoded(table)), strict=True))


@given(LAKES, tables("mine"))
@settings(deadline=None, max_examples=60)
def test_evidence(
    tmp_path_factory: pytest.TempPathFactory,
    groups: tuple[tuple[PlainTable, ...], ...],
    mine: PlainTable,
) -> None:
    lake = lake_of(tmp_path_factory.mktemp("lake"), groups)
    theirs = {table.name: canonical(table) for group in groups for table in group}
    cells = mine.columns["c0"]
    own = canonical(mine)["c0"]
    values = Counter(value for value in own if value is not None)
    if not values:
        return
    shown = {value: cells[i] for i, value in reversed(list(enumerate(own))) if value is not None}
    answer = lake.overlap({name: list(column) for name, column in mine.columns.items()}, on="c0")
    for result in answer:
        column = theirs[result.table][result.columns[0]]
        right = Counter(value for value in column if value is not None)
        shared = [value for value in values if value in right]
        assert (result.matched, result.column_size) == (len(shared), len(right))
        assert (result.row_coverage, result.fan_out) == pytest.approx(join_figures(own, column))
        alone = [value for value in values if value not in right]
        # The values of most rows, ties in the order of my rows: `values` keeps that order.
        shared.sort(key=lambda value: -values[value])
        alone.sort(key=lambda value: -values[value])
        assert result.matches().to_pylist() == [
            {"value": shown[v], "mine": values[v], "theirs": right[v]} for v in shared
        ]
        assert result.unmatched().to_pylist() == [
            {"value": shown[v], "mine": values[v]} for v in alone
        ]
        assert result.examples == {
            "matched": [shown[v] for v in shared[:3]],
            "unmatched": [shown[v] for v in alone[:3]],
        }
        assert result.matches(2).equals(result.matches().slice(0, 2))


@given(st.lists(st.integers(1, 4)), st.integers(0, 6))
def test_most_rows(counts: list[int], limit: int) -> None:
    places = np.arange(len(counts))[::2]
    found = find_most_frequent(np.array(counts, dtype=np.int64), places, limit)
    assert found.tolist() == sorted(places.tolist(), key=lambda i: (-counts[i], i))[:limit]
