"""Changed copies of labelled pairs: does the first key still hold if names or rows are missing?

A copy has the right keys of its pair, and one thing changed:

- `query names`, `table names`, `both names`: the columns are called `c1`, `c2`, …, as in a file
  without a header;
- `query rows`, `table rows`: three rows of ten are left, drawn with a seed;
- `swapped`: the query is the table, and the table the query.

Copies are written as Parquet files below a folder, under the names of the files that they are made
from. A copy is left out if too few rows are left to join. Only pairs for trying things have copies.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from first_join_cases import Case, Pair, joined_rows, query_rows, read_rows, sorted_key

CHANGES = ("query names", "table names", "both names", "query rows", "table rows", "swapped")
# A search asks an index of the tables as they are.
OF_SEARCH = ("query names", "query rows", "swapped")
_KEPT = 0.3  # of the rows
_FEWEST = 20  # rows to draw from
_JOINED = 5  # rows that must still join

_SWAPPED = {"query": "table", "table": "query"}


def copies(case: Case, folder: Path, changes: tuple[str, ...] = CHANGES) -> Iterator[Case]:
    """The copies of a pair, with the rows that they need below a folder."""
    for change in changes:
        copy = _copy(case, change, folder / change.replace(" ", "-") / case.pair.name)
        if copy is not None:
            yield copy


def _copy(case: Case, change: str, folder: Path) -> Case | None:
    name = f"{case.pair.name} ({change})"
    pair = replace(case.pair, name=name, change=change)
    if change == "swapped":
        if isinstance(case.query, pa.Table):
            return None  # its columns were renamed, and no file has those names
        return replace(case, pair=_swap(pair), query=case.table, table=case.query)
    sides, what = change.split()
    rows = {"query": query_rows(case), "table": read_rows(case.table)}
    for side in rows if sides == "both" else (sides,):
        if what == "names":
            pair = _rename(pair, side, rows[side].column_names)
            rows[side] = rows[side].rename_columns(_neutral(rows[side].column_names))
        elif rows[side].num_rows < _FEWEST:
            return None
        else:
            rows[side] = _some(rows[side], name)
    if pair.right and joined_rows(*rows.values(), pair.right[0], pair.rewrite) < _JOINED:
        return None
    query = case.query if rows["query"] is query_rows(case) else rows["query"]
    if isinstance(case.query, Path) and query is not case.query:
        query = _written(rows["query"], folder / "query", case.query)
    table = case.table
    if rows["table"] is not read_rows(case.table):
        table = _written(rows["table"], folder / "table", case.table)
    return replace(case, pair=pair, query=query, table=table)


def _swap(pair: Pair) -> Pair:
    return replace(
        pair,
        query=pair.table,
        table=pair.query,
        right=tuple(sorted_key((theirs, mine) for mine, theirs in key) for key in pair.right),
        rewrite=tuple((_SWAPPED[side], *how) for side, *how in pair.rewrite),
    )


def _rename(pair: Pair, side: str, names: list[str]) -> Pair:
    new = dict(zip(names, _neutral(names), strict=True))
    keys = (
        ((new[mine], theirs) if side == "query" else (mine, new[theirs]) for mine, theirs in key)
        for key in pair.right
    )
    rewrite = tuple(
        (where, new[column] if where == side else column, how, what)
        for where, column, how, what in pair.rewrite
    )
    return replace(pair, right=tuple(map(sorted_key, keys)), rewrite=rewrite)


def _neutral(names: list[str]) -> list[str]:
    return [f"c{number}" for number, _ in enumerate(names, 1)]


def _some(rows: pa.Table, name: str) -> pa.Table:
    random = np.random.default_rng(zlib.crc32(name.encode()))
    kept = random.choice(rows.num_rows, round(_KEPT * rows.num_rows), replace=False)
    return rows.take(np.sort(kept))


def _written(rows: pa.Table, folder: Path, source: Path) -> Path:
    """The file of a changed table, with the name of the table that it is made from."""
    subject = str(source).rpartition("/")[2].rpartition("#")[2].partition(".")[0]
    file = folder / f"{subject}.parquet"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file)
    return file
