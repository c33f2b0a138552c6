"""The table `result`: its columns' names, and which of them are numbers, dates or booleans.

The table's file is mapped and read where it lies: the view casts what a statement reads. A column
is cast only if each of its cells can be, so that no cell is lost; otherwise it stays text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.app.server.sql.allowed import TABLE, plain
from lakejoin.lake.nulls import LETTER_NULLS, SIGN_NULLS, SURE_NULLS

_RAW = "table as it lies in its file"
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f",
          "T%H:%M:%SZ", "T%H:%M:%S.%fZ", " %I:%M %p", " %I:%M:%S %p")  # fmt: skip
# Day and month of the formats that a profile names; `%` says that a format is given as it is.
_WORDS = {
    "d month y": ("%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d. %B %Y"),
    "month d y": ("%B %d, %Y", "%b %d, %Y", "%b. %d, %Y", "%B %d %Y", "%b %d %Y"),
}
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The type that a column should have, with the format of its dates."""

    type: str
    date_format: str = ""


class _Scanned:
    """A table that gives a new stream each time it is read; nothing of it is copied."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def different_names(names: Sequence[str]) -> list[str]:
    """Names of columns, made different as DuckDB does when it reads a file.

    >>> different_names(["a", "A", "", "a", "a_1"])
    ['a', 'A_1', 'column2', 'a_2', 'a_1_1']
    """
    taken: set[str] = set()
    found = []
    for place, given in enumerate(names):
        name = given.replace("\0", "").strip() or f"column{place}"
        tried, number = name, 0
        while plain(tried) in taken:
            number += 1
            tried = f"{name}_{number}"
        taken.add(plain(tried))
        found.append(tried)
    return found


def define(
    connection: duckdb.DuckDBPyConnection,
    table: pa.Table,
    wanted: Mapping[int, Wanted],
    used: frozenset[str] | None,
) -> None:
    """Makes the table `result`. Of columns that are not among the `used` ones (None: all may be)
    nothing is found out, and they stay as they are."""
    places = [f"c{place}" for place in range(table.num_columns)]
    connection.register(_RAW, _Scanned(table.rename_columns(places)))
    names = different_names(table.column_names)
    text = {
        place: kind
        for place, kind in wanted.items()
        if 0 <= place < len(names)
        and _is_text(table.schema.field(place).type)
        and (used is None or plain(names[place]) in used)
    }
    chosen = _chosen(connection, text)
    columns = ", ".join(
        f"{chosen[place].value if place in chosen else f'c{place}'} AS {quoted(name)}"
        for place, name in enumerate(names)
    )
    connection.execute(f"CREATE TEMP VIEW {TABLE} AS SELECT {columns} FROM {quoted(_RAW)}")


def cast_of(column: str, kind: str, wanted: Wanted) -> str:
    """The expression that reads a column, which is known to be of that kind, as SQL has it.

    >>> print(cast_of('"d"', "DATE", Wanted("date", "d.m.y")))
    CAST(try_strptime(trim("d"), ['%d.%m.%Y']) AS DATE)
    """
    casts = _casts(f"trim({column})", wanted)
    return next(cast.value for cast in casts if cast.type == kind)


def quoted(name: str) -> str:
    """A name as SQL has it.

    >>> quoted('a "b" c')
    '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@dataclass(frozen=True, slots=True)
class _Cast:
    """A type, the expression that reads a cell as it, and one that tells if nothing is lost."""

    type: str
    value: str
    faithful: str


def _chosen(
    connection: duckdb.DuckDBPyConnection, wanted: Mapping[int, Wanted]
) -> dict[int, _Cast]:
    """For each column the first cast that loses no cell. Cells are taken as they are; only in the
    columns where that does not do, words for nulls are looked for, which takes longer."""
    chosen = _first_faithful(connection, {p: _casts(f"c{p}", w) for p, w in wanted.items()})
    others = {p: _casts(_present(f"c{p}"), w) for p, w in wanted.items() if p not in chosen}
    return chosen | _first_faithful(connection, others)


def _first_faithful(
    connection: duckdb.DuckDBPyConnection, choices: dict[int, list[_Cast]]
) -> dict[int, _Cast]:
    """Counts in one pass over the table which cells each cast would lose."""
    counted = [(place, cast) for place, casts in choices.items() for cast in casts]
    if not counted:
        return {}
    counts = ", ".join(f"count(*) FILTER (NOT ({cast.faithful}))" for _, cast in counted)
    lost = connection.execute(f"SELECT {counts} FROM {quoted(_RAW)}").fetchone() or ()
    chosen: dict[int, _Cast] = {}
    for (place, cast), cells in zip(counted, lost, strict=True):
        if cells == 0:
            chosen.setdefault(place, cast)
    return chosen


def _present(column: str) -> str:
    """A cell without the blanks around it; null where it is blank or a word for a null."""
    words = (*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS)
    cell = f"nullif(trim({column}), '')"
    return f"(CASE WHEN lower({cell}) IN ({_listed(words)}) THEN NULL ELSE {cell} END)"


def _casts(cell: str, wanted: Wanted) -> list[_Cast]:
    match wanted.type:
        case "integer":
            # 7.0 and +7 are no text of an integer, but numbers they are.
            return [_integer(cell, "BIGINT"), _integer(cell, "HUGEINT"), _double(cell, 2.0**53)]
        case "decimal":
            return [_double(cell, sys.float_info.max)]
        case "boolean":
            true, false = _listed(_TRUE), _listed(_FALSE)
            word = f"lower({cell})"
            value = (
                f"CASE WHEN {word} IN ({true}) THEN true WHEN {word} IN ({false}) THEN false END"
            )
            return [_no_nulls("BOOLEAN", cell, value)]
        case "date":
            return _dates(cell, wanted.date_format)
    return []


def _integer(cell: str, kind: str) -> _Cast:
    """Back to text it must be the same: 007, 1.5 and +7 are not integers."""
    number = f"TRY_CAST({cell} AS {kind})"
    same = f"coalesce(CAST({number} AS VARCHAR) = {cell}, false)"
    return _Cast(kind, number, f"{cell} IS NULL OR {same}")


def _double(cell: str, most: float) -> _Cast:
    """A number up to `most`; with zeros before it, it would be a code."""
    number = f"TRY_CAST({cell} AS DOUBLE)"
    code = f"starts_with({cell}, '0') AND substr({cell}, 2, 1) BETWEEN '0' AND '9'"
    within = f"coalesce(abs({number}) <= CAST({most!r} AS DOUBLE), false)"
    return _Cast("DOUBLE", number, f"{cell} IS NULL OR ({within} AND NOT ({code}))")


def _no_nulls(kind: str, cell: str, value: str) -> _Cast:
    return _Cast(kind, value, f"{cell} IS NULL OR ({value}) IS NOT NULL")


def _dates(cell: str, named: str) -> list[_Cast]:
    """Days without times if all are, else points in time."""
    if "%" in named:
        timed = any(part in named for part in ("%H", "%I", "%c", "%s"))
        days, times = [named], [""]
    else:
        timed = False
        days, times = list(_WORDS.get(named, ())) or [_numbers(named or "y-m-d")], list(_TIMES)
    with_times = [day + time for day in days for time in times]
    casts = [_no_nulls("TIMESTAMP", cell, _strptime(cell, with_times))]
    if not timed:
        casts.insert(0, _no_nulls("DATE", cell, f"CAST({_strptime(cell, days)} AS DATE)"))
    return casts


def _numbers(named: str) -> str:
    """The format for a name like `d.m.y`."""
    return named.replace("y", "%Y").replace("m", "%m").replace("d", "%d")


def _strptime(cell: str, formats: Sequence[str]) -> str:
    return f"try_strptime({cell}, [{_listed(formats)}])"


def _listed(texts: Sequence[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
