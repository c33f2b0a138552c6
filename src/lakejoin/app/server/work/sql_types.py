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

    from lakejoin.app.server.sql.typed import Wanted, define, quoted

    wanted = {
        place: Wanted(str(column["type"]), column["date_format"])
        for place, column in enumerate(info["columns"])
    }
    with duckdb.connect() as connection:
        define(connection, rows, wanted, None)
        found = {name: kind for name, kind, *_ in connection.execute("DESCRIBE result").fetchall()}
    formats = dict(zip(found, info["columns"], strict=True))
    casts = {}
    for name, kind in found.items():
        form = formats[name]["date_format"]
        if kind in _DATES and form not in ("", "y-m-d"):
            continue  # a statement that needs it as a date says how it is written
        if kind != "VARCHAR" and _is_text(rows, list(found).index(name)):
            casts[name] = f"TRY_CAST({quoted(name)} AS {kind})"
    return casts


def _is_text(rows: pa.Table, place: int) -> bool:
    from lakejoin.lake.printing import is_text

    return is_text(rows.schema.field(place).type)
