"""Small tables in which everything ties: few values in many spellings, nulls, copies, constants."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from lakejoin.joins.predicates.facts import Facts
from oracle.predicates import Joined

# Spellings of four values, and of none: by the value rules, what stands in a line is equal.
SPELLINGS = [
    "a", "A ",
    "7", "7.0",
    "zürich", "Zürich ", "ZU\N{COMBINING DIAERESIS}RICH",
    "x y", "X  Y",
    None, "", "n/a",
]  # fmt: skip
CELLS = st.sampled_from(SPELLINGS)
NAMES = ("abc", "axc", "cyz", "wbz")  # by table: some columns have the name of another table's

Cells = list[str | None]


def table_of(columns: dict[str, Cells]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def column_of(rows: int) -> st.SearchStrategy[Cells]:
    """Any cells, cells of two values only, or the same cell throughout, which may be a null."""
    return st.one_of(
        st.lists(CELLS, min_size=rows, max_size=rows),
        st.lists(st.sampled_from(["a", "7"]), min_size=rows, max_size=rows),
        CELLS.map(lambda cell: [cell] * rows),
    )


@st.composite
def tables(draw: st.DrawFn, number: int = 0, columns: int = 3, rows: int = 5) -> pa.Table:
    """A table of the given place, with copies of columns and of rows in it."""
    count = draw(st.integers(0, rows))
    made: list[Cells] = []
    for _ in range(draw(st.integers(1, columns))):
        fresh = column_of(count)
        made.append(draw(fresh | st.sampled_from(made) if made else fresh))
    order = draw(st.permutations(range(count)) | st.just([n // 2 for n in range(count)]))
    return table_of({NAMES[number][i]: [cells[n] for n in order] for i, cells in enumerate(made)})


def facts_of(joined: Joined) -> Facts:
    """What brute force counts, as the engine would tell it."""
    return Facts(
        joined.sizes,
        joined.involved,
        joined.groups,
        joined.inner,
        joined.entropy,
        joined.most_groups,
    )
