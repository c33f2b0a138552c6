"""The tables of a join with lazily read rows, and the pairs of columns that the caller names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.model import Loss, ValueRules
from lakejoin.values.column_names import find_column, unique_names

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment


def parse_column_pair(
    text: str, left: Sequence[str], right: Sequence[str], left_table: str, right_table: str
) -> tuple[str, str]:
    """Resolve `left=right`, or one name for both, to two columns; indexes count from zero.

    A name may contain `=` itself: the text is split where both sides are columns.

    >>> parse_column_pair("code=iso", ["name", "code"], ["iso"], "a.csv", "b.csv")
    ('code', 'iso')
    >>> parse_column_pair("a=b=0", ["a=b", "c"], ["x"], "a.csv", "b.csv")
    ('a=b', 'x')
    """
    parts = text.split("=")
    splits = [("=".join(parts[:i]), "=".join(parts[i:])) for i in range(1, len(parts))]
    splits += [(text, text)]
    exact = [(a, b) for a, b in splits if a in left and b in right]
    pairs = _distinct(exact) or _distinct(_fitting(splits, left, right, left_table, right_table))
    if len(pairs) == 1:
        return pairs[0]
    if pairs:
        options = " or ".join(f"{a!r} with {b!r}" for a, b in pairs)
        raise InputError(f"{text!r} is ambiguous ({options}): use column indexes, such as 0=1")
    if len(parts) > 2:
        raise InputError(
            f"{text!r} does not name a column of {left_table} and one of {right_table}: write "
            "LEFT=RIGHT, or use column indexes such as 0=1"
        )
    left_name, right_name = splits[0]
    find_column(left, left_name, left_table)
    find_column(right, right_name, right_table)
    raise AssertionError(text)  # one of the two raises


def _fitting(
    splits: Sequence[tuple[str, str]],
    left: Sequence[str],
    right: Sequence[str],
    left_table: str,
    right_table: str,
) -> list[tuple[str, str]]:
    """The splits whose sides are both columns, by index or ignoring case."""
    pairs = []
    for left_name, right_name in splits:
        try:
            left_index = find_column(left, left_name, left_table)
            right_index = find_column(right, right_name, right_table)
        except InputError:
            continue
        pairs.append((left[left_index], right[right_index]))
    return pairs


def _distinct(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys(pairs))


TABLE_NAMES = ("the left table", "the right table")  # of tables without a name


def parse_column_pairs(
    on: Any, left: Sequence[str], right: Sequence[str], tables: tuple[str, str] = TABLE_NAMES
) -> tuple[tuple[str, str], ...]:
    """Resolve `on` of the Python API: a text, a mapping, or a list of texts and pairs.

    >>> parse_column_pairs({"code": 0}, ["code"], ["iso"])
    (('code', 'iso'),)
    >>> parse_column_pairs(["year", ("code", "iso")], ["code", "year"], ["iso", "year"])
    (('year', 'year'), ('code', 'iso'))
    """
    if on is None:
        return ()
    if isinstance(on, Mapping):
        items: list[Any] = list(on.items())
    elif isinstance(on, str | int):
        items = [on]
    else:
        items = list(on)
    return tuple(_resolve_pair(item, left, right, tables) for item in items)


def _resolve_pair(
    item: Any, left: Sequence[str], right: Sequence[str], tables: tuple[str, str]
) -> tuple[str, str]:
    if isinstance(item, str):
        return parse_column_pair(item, left, right, *tables)
    pair = (item, item) if isinstance(item, int) else tuple(item)
    if len(pair) != 2 or not all(isinstance(name, str | int) for name in pair):
        raise InputError(
            f"{item!r} is not a pair of columns: pass one name, or a left and a right name"
        )
    left_index = find_column(left, pair[0], tables[0])
    right_index = find_column(right, pair[1], tables[1])
    return left[left_index], right[right_index]


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


def table_subject(name: str) -> str:
    """What a table is about, from its name without folders and extensions.

    >>> table_subject("data/films.csv.gz"), table_subject("shop.xlsx#orders")
    ('films', 'orders')
    """
    return name.rpartition("#")[2].rpartition("/")[2].partition(".")[0]


ReadRows = tuple["pa.Table", tuple[Loss, ...]]  # rows, and what reading lost


@dataclass(frozen=True, eq=False)
class JoinInput:
    """A table to join; its rows are read once, when they are needed.

    If it is in an index, `stored` says where its codes are, `index` is the location of the index
    and `rules` are its value rules.
    """

    name: str
    read: Callable[[], ReadRows]
    stored: tuple[Segment, TableEntry] | None = None
    index: str = ""
    rules: ValueRules | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with its rows, since how they are read may mean nothing elsewhere."""
        read = partial(tuple, (self.rows, self.losses))
        return JoinInput, (self.name, read, None, self.index, self.rules)

    @cached_property
    def _rows_and_losses(self) -> ReadRows:
        rows, losses = self.read()
        if len(set(rows.column_names)) < rows.num_columns:
            rows = rows.rename_columns(list(unique_names(rows.column_names)[0]))
        return plain_columns(rows), losses

    @property
    def rows(self) -> pa.Table:
        """Its rows; columns that share a name get unique names."""
        return self._rows_and_losses[0]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What reading it lost."""
        return self.stored[1].losses if self.stored else self._rows_and_losses[1]

    @property
    def size(self) -> int:
        return self.stored[1].rows if self.stored else self.rows.num_rows

    @cached_property
    def columns(self) -> tuple[str, ...]:
        if self.stored is None:
            return tuple(self.rows.column_names)
        segment, entry = self.stored
        return segment.catalog.column_names(entry)


def loaded_input(name: str, rows: pa.Table, losses: tuple[Loss, ...] = ()) -> JoinInput:
    """A table whose rows are in memory."""
    return JoinInput(name, lambda: (rows, losses))


def common_value_rules(tables: Sequence[JoinInput]) -> ValueRules:
    """The value rules of the index that the tables are in, else the defaults."""
    indexed = {table.rules: table.index for table in tables if table.rules is not None}
    if len(indexed) > 1:
        first, second, *_ = indexed.values()
        raise InputError(
            f"indexes {first} and {second} were built with different --values: rebuild one of "
            "them, or pass its tables as files or data frames"
        )
    return next(iter(indexed), ValueRules())
