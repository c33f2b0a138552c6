"""Define the view `result` over an Arrow table, with numbers, dates and booleans cast from text.

The file is memory-mapped and not copied: the view casts what a statement reads. A column is cast
only if every cell can be, so that no cell is lost; otherwise it stays text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lakejoin.quoting import list_literals, quote_identifier
from lakejoin.server.sql.statement_checks import TABLE, fold_name
from lakejoin.server.sql.statement_runner import TargetType
from lakejoin.values.canonical_values import LETTER_NULLS, SIGN_NULLS, SURE_NULLS
from lakejoin.values.column_names import make_names_unique
from lakejoin.values.plain_columns import is_text

_RAW = "raw table"
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f",
          "T%H:%M:%SZ", "T%H:%M:%S.%fZ", " %I:%M %p", " %I:%M:%S %p")  # fmt: skip
# strptime formats for the names in column profiles; a name with `%` is a format itself.
_WORDS = {
    "d month y": ("%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%d. %B %Y"),
    "month d y": ("%B %d, %Y", "%b %d, %Y", "%b. %d, %Y", "%B %d %Y", "%b %d %Y"),
}
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


class _ScannableTable:
    """A table that gives DuckDB a new stream for each scan, without copying."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def name_columns(names: Sequence[str]) -> list[str]:
    """Unique column names, as DuckDB makes them when it reads a file.

    >>> name_columns(["a", "A", "", "a", "a_1"])
    ['a', 'A_1', 'column2', 'a_2', 'a_1_1']
    """
    plain = (name.replace("\0", "").strip() for name in names)
    filled = [name or f"column{index}" for index, name in enumerate(plain)]
    return make_names_unique(filled, (), fold_name, lambda name, number: f"{name}_{number - 1}")


def define_view(
    connection: duckdb.DuckDBPyConnection,
    table: pa.Table,
    targets: Mapping[int, TargetType],
    used: frozenset[str] | None,
) -> None:
    """Create the view `result`. Columns that are not in `used` (None: any may be) are neither
    checked nor cast."""
    raw_names = [f"c{index}" for index in range(table.num_columns)]
    connection.register(_RAW, _ScannableTable(table.rename_columns(raw_names)))
    names = name_columns(table.column_names)
    castable = {
        index: kind
        for index, kind in targets.items()
        if 0 <= index < len(names)
        and _is_text(table.schema.field(index).type)
        and (used is None or fold_name(names[index]) in used)
    }
    casts = _choose_casts(connection, castable)
    columns = ", ".join(
        f"{casts[index].value if index in casts else f'c{index}'} AS {quote_identifier(name)}"
        for index, name in enumerate(names)
    )
    source = quote_identifier(_RAW)
    connection.execute(f"CREATE TEMP VIEW {TABLE} AS SELECT {columns} FROM {source}")


def cast_expression(column: str, kind: str, target: TargetType) -> str:
    """The SQL expression that casts a column to `kind`.

    >>> print(cast_expression('"d"', "DATE", TargetType("date", "d.m.y")))
    CAST(try_strptime(trim("d"), ['%d.%m.%Y']) AS DATE)
    """
    casts = _casts(f"trim({column})", target)
    return next(cast.value for cast in casts if cast.type == kind)


def _is_text(kind: pa.DataType) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


@dataclass(frozen=True, slots=True)
class _Cast:
    """A type, the expression that casts a cell to it, and one that is true if nothing is lost."""

    type: str
    value: str
    faithful: str


def _choose_casts(
    connection: duckdb.DuckDBPyConnection, targets: Mapping[int, TargetType]
) -> dict[int, _Cast]:
    """For each column the first cast that loses no cell. Words for nulls are slower to check, so
    they are considered only for columns where that fails."""
    chosen = _first_faithful(connection, {i: _casts(f"c{i}", kind) for i, kind in targets.items()})
    others = {
        i: _casts(_without_nulls(f"c{i}"), kind) for i, kind in targets.items() if i not in chosen
    }
    return chosen | _first_faithful(connection, others)


def _first_faithful(
    connection: duckdb.DuckDBPyConnection, choices: dict[int, list[_Cast]]
) -> dict[int, _Cast]:
    """Count in one pass over the table how many cells each cast would lose."""
    pairs = [(index, cast) for index, casts in choices.items() for cast in casts]
    if not pairs:
        return {}
    counts = ", ".join(f"count(*) FILTER (NOT ({cast.faithful}))" for _, cast in pairs)
    lost = connection.execute(f"SELECT {counts} FROM {quote_identifier(_RAW)}").fetchone() or ()
    chosen: dict[int, _Cast] = {}
    for (index, cast), cells in zip(pairs, lost, strict=True):
        if cells == 0:
            chosen.setdefault(index, cast)
    return chosen


def _without_nulls(column: str) -> str:
    """A cell without surrounding blanks; null if it is blank or a word for null."""
    words = (*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS)
    cell = f"nullif(trim({column}), '')"
    return f"(CASE WHEN lower({cell}) IN ({list_literals(words)}) THEN NULL ELSE {cell} END)"


def _casts(cell: str, target: TargetType) -> list[_Cast]:
    match target.type:
        case "integer":
            # 7.0 and +7 do not survive a cast to integer and back, but they are numbers.
            return [_integer(cell, "BIGINT"), _integer(cell, "HUGEINT"), _double(cell, 2.0**53)]
        case "decimal":
            return [_double(cell, sys.float_info.max)]
        case "boolean":
            true, false = list_literals(_TRUE), list_literals(_FALSE)
            word = f"lower({cell})"
            value = (
                f"CASE WHEN {word} IN ({true}) THEN true WHEN {word} IN ({false}) THEN false END"
            )
            return [_no_nulls("BOOLEAN", cell, value)]
        case "date":
            return _dates(cell, target.date_format)
    return []


def _integer(cell: str, kind: str) -> _Cast:
    """Cast back to text it must be the same: 007, 1.5 and +7 are not integers."""
    number = f"TRY_CAST({cell} AS {kind})"
    same = f"coalesce(CAST({number} AS VARCHAR) = {cell}, false)"
    return _Cast(kind, number, f"{cell} IS NULL OR {same}")


def _double(cell: str, most: float) -> _Cast:
    """A number up to `most`; with leading zeros it would be an identifier."""
    number = f"TRY_CAST({cell} AS DOUBLE)"
    padded = f"starts_with({cell}, '0') AND substr({cell}, 2, 1) BETWEEN '0' AND '9'"
    within = f"coalesce(abs({number}) <= CAST({most!r} AS DOUBLE), false)"
    return _Cast("DOUBLE", number, f"{cell} IS NULL OR ({within} AND NOT ({padded}))")


def _no_nulls(kind: str, cell: str, value: str) -> _Cast:
    return _Cast(kind, value, f"{cell} IS NULL OR ({value}) IS NOT NULL")


def _dates(cell: str, named: str) -> list[_Cast]:
    """DATE if no cell has a time, else TIMESTAMP."""
    timed = False
    days, times = _WORDS.get(named), list(_TIMES)
    if "%" in named:
        timed = any(code in named for code in ("%H", "%I", "%c", "%s"))
        days, times = (named,), [""]
    elif days is None:  # a name like d.m.y
        named = named or "y-m-d"
        days = (named.replace("y", "%Y").replace("m", "%m").replace("d", "%d"),)
    with_times = [day + time for day in days for time in times]
    casts = [_no_nulls("TIMESTAMP", cell, _strptime(cell, with_times))]
    if not timed:
        casts.insert(0, _no_nulls("DATE", cell, f"CAST({_strptime(cell, days)} AS DATE)"))
    return casts


def _strptime(cell: str, formats: Sequence[str]) -> str:
    return f"try_strptime({cell}, [{list_literals(formats)}])"
