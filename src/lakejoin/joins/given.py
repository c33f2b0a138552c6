"""Read what a caller passes as a table: a file, a `Table` or a data frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import Loss


def table_and_losses(thing: Any) -> tuple[pa.Table, tuple[Loss, ...]]:
    """The rows of a path (`book.xlsx#sheet` for a part of a file), a `Table` or a data frame, and
    what was lost in reading.

    Columns that share a name get unique names.

    >>> table_and_losses({"town": ["Bern"], "people": [134]})[0].column_names
    ['town', 'people']
    """
    from lakejoin.lake.frames import to_table
    from lakejoin.lake.names import unique_names
    from lakejoin.lake.tables import Table

    if isinstance(thing, str | os.PathLike):
        thing = _read(os.fspath(thing))
    if isinstance(thing, list) and thing and isinstance(thing[0], Table):
        names = ", ".join(table.name for table in thing[:3])
        raise InputError(f"got {len(thing)} tables ({names}, …): pass one of them")
    losses = thing.losses if isinstance(thing, Table) else ()
    rows = to_table(thing.rows if isinstance(thing, Table) else thing)
    if len(set(rows.column_names)) < rows.num_columns:
        rows = rows.rename_columns(list(unique_names(rows.column_names)[0]))
    return rows, losses


def plain_columns(table: pa.Table) -> pa.Table:
    """Decode dictionary columns and convert string views, which Arrow only partly supports.

    >>> import pyarrow as pa
    >>> plain_columns(pa.table({"town": pa.array(["Bern"]).dictionary_encode()})).schema.types
    [DataType(string)]
    """
    for index, (field, column) in enumerate(zip(table.schema, table.columns, strict=True)):
        plain = _plain(column)
        if plain is not column:
            table = table.set_column(index, field.name, plain)
    return table


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if not pa.types.is_dictionary(kind):
        return column
    if pa.types.is_string_view(kind.value_type):  # Arrow cannot take rows of these
        kind = pa.dictionary(kind.index_type, pa.large_string())
    chunks = [chunk.dictionary.cast(kind.value_type).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind.value_type)


def name_given(thing: Any, default: str) -> str:
    """The name of a table: its file or its own name."""
    if isinstance(thing, str | os.PathLike):
        return os.fspath(thing)
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) and name else default


def subject(name: str) -> str:
    """What a table is about, from its name without folders and extensions.

    >>> subject("data/films.csv.gz"), subject("shop.xlsx#orders")
    ('films', 'orders')
    """
    return name.rpartition("#")[2].rpartition("/")[2].partition(".")[0]


def _read(name: str) -> Any:
    from lakejoin.lake.read import file_and_part, open_one, readable
    from lakejoin.lake.tables import Table

    if not file_and_part(name)[0]:
        raise InputError(f"there is no file {name}")
    with readable(name):
        return Table.of(open_one(name))
