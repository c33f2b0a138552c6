"""SQL casts for text columns, as a person would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakejoin.server.jobs.chain_code import quote_sql_name

if TYPE_CHECKING:
    import pyarrow as pa

_DATES = ("DATE", "TIMESTAMP")


def infer_casts(rows: pa.Table, info: dict[str, Any]) -> dict[str, str]:
    """The cast of each text column that contains only numbers, dates or booleans.

    >>> import pyarrow as pa
    >>> about = [{"type": "integer", "date_format": ""}, {"type": "text", "date_format": ""}]
    >>> infer_casts(pa.table({"n": ["1", None], "t": ["a", "b"]}), {"columns": about})
    {'n': 'TRY_CAST("n" AS BIGINT)'}
    """
    import duckdb

    from lakejoin.server.sql.typed_view import TargetType, cast_expression, define_view

    targets = {
        index: TargetType(str(column["type"]), column["date_format"])
        for index, column in enumerate(info["columns"])
    }
    with duckdb.connect() as connection:
        define_view(connection, rows, targets, None)
        described = {
            name: kind for name, kind, *_ in connection.execute("DESCRIBE result").fetchall()
        }
    casts = {}
    for index, (name, kind) in enumerate(described.items()):
        if kind == "VARCHAR" or not _is_text(rows, index):
            continue
        if kind in _DATES and targets[index].date_format not in ("", "y-m-d"):
            casts[name] = cast_expression(quote_sql_name(name), kind, targets[index])
        else:
            casts[name] = f"TRY_CAST({quote_sql_name(name)} AS {kind})"
    return casts


def _is_text(rows: pa.Table, index: int) -> bool:
    from lakejoin.values.printing import is_text

    return is_text(rows.schema.field(index).type)
