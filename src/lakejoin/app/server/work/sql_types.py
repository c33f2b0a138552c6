"""Which types SQL gives to columns of text, as a person would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_DATES = ("DATE", "TIMESTAMP")


def sql_types(rows: pa.Table, info: dict[str, Any]) -> dict[str, str]:
    """The cast of each column of text that holds only numbers, dates or booleans.

    >>> import pyarrow as pa
    >>> about = [{"type": "integer", "date_format": ""}, {"type": "text", "date_format": ""}]
    >>> sql_types(pa.table({"n": ["1", None], "t": ["a", "b"]}), {"columns": about})
    {'n': 'TRY_CAST("n" AS BIGINT)'}
    """
    import duckdb

    from lakejoin.app.server.sql.typed import Wanted, cast_of, define, quoted

    wanted = {
        place: Wanted(str(column["type"]), column["date_format"])
        for place, column in enumerate(info["columns"])
    }
    with duckdb.connect() as connection:
        define(connection, rows, wanted, None)
        found = {name: kind for name, kind, *_ in connection.execute("DESCRIBE result").fetchall()}
    casts = {}
    for place, (name, kind) in enumerate(found.items()):
        if kind == "VARCHAR" or not _is_text(rows, place):
            continue
        if kind in _DATES and wanted[place].date_format not in ("", "y-m-d"):
            casts[name] = cast_of(quoted(name), kind, wanted[place])
        else:
            casts[name] = f"TRY_CAST({quoted(name)} AS {kind})"
    return casts


def _is_text(rows: pa.Table, place: int) -> bool:
    from lakejoin.lake.printing import is_text

    return is_text(rows.schema.field(place).type)
