"""Read what a caller passes as a table: a file, a `Table` or a data frame."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import Loss


def read_input(thing: Any) -> tuple[pa.Table, tuple[Loss, ...]]:
    """The rows of a path (`book.xlsx#sheet` for a part of a file), a `Table` or a data frame, and
    what was lost in reading.

    Columns that share a name get unique names.

    >>> read_input({"town": ["Bern"], "people": [134]})[0].column_names
    ['town', 'people']
    """
    from lakejoin.sources.frames import to_table
    from lakejoin.values.column_names import unique_names
    from lakejoin.formats.table_stream import Table

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


def input_name(thing: Any, default: str) -> str:
    """The name of a table: its file or its own name."""
    if isinstance(thing, str | os.PathLike):
        return os.fspath(thing)
    name = getattr(thing, "name", None)
    return name if isinstance(name, str) and name else default


def table_subject(name: str) -> str:
    """What a table is about, from its name without folders and extensions.

    >>> table_subject("data/films.csv.gz"), table_subject("shop.xlsx#orders")
    ('films', 'orders')
    """
    return name.rpartition("#")[2].rpartition("/")[2].partition(".")[0]


def _read(name: str) -> Any:
    from lakejoin.formats.file_reader import split_part, open_table, wrap_reader_errors
    from lakejoin.formats.table_stream import Table

    if not split_part(name)[0]:
        raise InputError(f"there is no file {name}")
    with wrap_reader_errors(name):
        return Table.of(open_table(name))
