"""What every layer shares: tables, columns, profiles, limits and rules as frozen dataclasses, and
the buffers of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from lakejoin.errors import import_optional

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    Array = np.ndarray[Any, Any]


def __getattr__(name: str) -> Any:
    """`Array` loads numpy when a module asks for it; the other nouns need no library."""
    if name == "Array":
        import numpy as np

        return np.ndarray[Any, Any]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


FRAME_NAME = "my_table"  # the name of a frame in answers and in SQL


class FrameSource:
    """What becomes a frame of another library through `to_arrow`."""

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`."""
        return import_optional("polars").from_arrow(self.to_arrow())


class ColumnType(StrEnum):
    """The type of a column's values.

    >>> ColumnType("integer") is ColumnType.INTEGER
    True
    """

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DATE = "date"
    BOOLEAN = "boolean"
    MIXED = "mixed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The format of a delimited text file, and the confidence of its detection.

    `skip_rows` lines come before the header (or the data), `skip_footer` lines after the data.
    `opinions` records which detector voted for which delimiter, to explain a doubtful choice.

    >>> Dialect(delimiter=";").header
    True
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    newline: str = "\n"
    header: bool = True
    skip_rows: int = 0
    skip_footer: int = 0
    confidence: float = 1.0
    opinions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """Rows or cells that were dropped while reading a table, with a count; never silent.

    >>> Loss("row too long", 3, "first at line 17").count
    3
    """

    reason: str
    count: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the lake as it was listed.

    `name` is the path relative to the lake's root (the stable name shown to users); `uri` is where
    to open it; `size` and `mtime_ns` show whether it has changed.
    """

    name: str
    uri: str
    size: int
    mtime_ns: int


KINDS_OF_FILES = ("partitioned", "job", "series", "delta", "iceberg")


@dataclass(frozen=True, slots=True)
class Composition:
    """What a logical table is made of: its kind, its files and what they are partitioned by.

    `kind` is partitioned, job, series, delta, iceberg, or that of a database; `version` is that of
    a Delta or Iceberg table. `members` names the files of a series, or the first of them.

    >>> str(Composition("partitioned", 60, ("year", "month")))
    '60 files, partitioned by year, month'
    """

    kind: str
    files: int
    keys: tuple[str, ...] = ()
    version: str = ""
    members: tuple[str, ...] = ()

    def __str__(self) -> str:
        single = {"frame": "a frame", "spark": "a Spark table"}
        if self.kind in single:
            return single[self.kind]
        databases = {"postgresql": "PostgreSQL", "duckdb": "DuckDB", "sqlite": "SQLite"}
        if self.kind in databases:
            return f"a table of a {databases[self.kind]} database"
        heads = {
            "delta": f"Delta table, version {self.version}, ",
            "iceberg": f"Iceberg table, snapshot {self.version}, ",
            "series": "a series of ",
        }
        files = f"{self.files:,} file" + ("" if self.files == 1 else "s")
        tails = {"job": " of one job"}
        by = f", partitioned by {', '.join(self.keys)}" if self.keys else ""
        return f"{heads.get(self.kind, '')}{files}{tails.get(self.kind, '')}{by}"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that a database declares to refer to the key of a table."""

    columns: tuple[str, ...]
    table: str
    key_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeclaredKeys:
    """What a database declares about the columns of a table.

    >>> DeclaredKeys(("id",), (ForeignKey(("town_id",), "towns", ("id",)),)).foreign[0].table
    'towns'
    """

    primary: tuple[str, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a logical table, and its values of the partition keys, None for a null."""

    file: SourceFile
    partition: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class LogicalTable:
    """Several files of the lake that are one table, or a table of a database.

    `uri` is its folder, or what names it in its folder; `size` the bytes of its files. `mtime_ns`
    stands for its version: it differs once a file is added, changed or removed, or once a Delta or
    Iceberg table has another version. `columns` are those known before a file is read, in order,
    those in `nested` are structs, lists or maps; `metadata` is the file that describes an Iceberg
    table, of which `snapshot` is read, or the current one. Of a table of a database, `relation` is
    its schema and name, `expressions` read the columns, a statement ends after `timeout` seconds,
    and `declared` are its keys.
    """

    name: str
    uri: str
    size: int
    mtime_ns: int
    composition: Composition
    files: tuple[TableFile, ...]
    columns: tuple[str, ...] = ()
    metadata: str = ""
    snapshot: str = ""
    nested: tuple[str, ...] = ()
    relation: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    timeout: float = 0.0
    declared: DeclaredKeys | None = None

    @property
    def plain_columns(self) -> tuple[str, ...]:
        """The known columns that are not nested."""
        return tuple(name for name in self.columns if name not in self.nested)


Source = SourceFile | LogicalTable


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Statistics of a column, computed from its distinct values and their counts.

    `uniqueness` is distinct values / non-null rows. `key_likeness` (0 to 1) rates how well the
    column would serve as a join key: nearly unique, few nulls, short text or integers.
    """

    type: ColumnType
    rows: int
    nulls: int
    distinct: int
    uniqueness: float
    min_length: int
    max_length: int
    mean_length: float
    key_likeness: float
    examples: tuple[str, ...] = ()
    date_format: str = ""


def null_id(dtype: np.dtype[Any]) -> int:
    """The local id of a null in cells of an unsigned type: all bits set.

    >>> import numpy as np
    >>> null_id(np.dtype(np.uint8))
    255
    """
    return (1 << (8 * int(dtype.itemsize))) - 1


def string_buffers(texts: pa.LargeStringArray) -> tuple[Array, Array]:
    """The (offsets, bytes) of an Arrow array as numpy views; offsets may begin above zero.

    >>> import pyarrow as pa
    >>> offsets, data = string_buffers(pa.array(["ab", "c", "d"], pa.large_string()).slice(1))
    >>> offsets.tolist(), data.tobytes()
    ([2, 3, 4], b'abcd')
    """
    import numpy as np

    _, offset_buffer, data_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    offsets = np.frombuffer(offset_buffer, dtype=np.int64, offset=8 * texts.offset)
    data = (
        np.frombuffer(data_buffer, dtype=np.uint8)
        if data_buffer is not None
        else np.zeros(0, dtype=np.uint8)
    )
    return offsets[: len(texts) + 1], data


class TextEncoder(Protocol):
    """What the index needs from an encoder to compute vectors; see `lakejoin.encoders`."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def identity(self) -> str:
        """Identifies the encoder: only vectors of equal identity are comparable."""

    @property
    def dimension(self) -> int:
        """The number of elements of a vector."""

    def encode(self, texts: pa.LargeStringArray) -> Array:
        """One float32 row per text, of length 1, or zero for a text without meaning."""


@dataclass(frozen=True, slots=True)
class ColumnData:
    """One column, encoded with a dictionary of its own: the input of the index.

    `tokens` are the distinct canonical values. `spellings` are the distinct original texts that
    differ from their canonical value, and `spelling_token[i]` is the token of `spellings[i]`.
    `cells` has one local id per row, in the narrowest unsigned type that fits: ids below
    `len(tokens)` are tokens written canonically, the next `len(spellings)` ids are spellings, and
    `null_id(cells.dtype)` is a null.
    """

    name: str
    profile: ColumnProfile
    tokens: pa.LargeStringArray
    spellings: pa.LargeStringArray
    spelling_token: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, slots=True)
class TableData:
    """One table ready to be indexed, with its source and what was dropped while reading it;
    `composition` if it is a logical table, and the keys that its database declares.

    `notes` are sentences about how it was read, such as renamed columns or a joined header.
    `columns` can be iterated once, in order: a large table makes each column when it is needed.
    """

    name: str
    source: str
    rows: int
    columns: Iterable[ColumnData]
    format: str = ""
    dialect: Dialect | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    composition: Composition | None = None
    declared: DeclaredKeys | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a part of a file, that was skipped, and why.

    >>> str(Skipped("a/b.csv", "empty file"))
    'a/b.csv: empty file'
    """

    name: str
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits that keep one file from exhausting its reader.

    `cell_bytes`: a longer cell becomes a null and is counted. `columns`: a wider table is skipped.
    `expanded_bytes`, `members`, `tables` and `rows` are what one file may unfold to in all; beyond
    that, the rest of it is not read. `batch_bytes`: how much text is parsed at once.
    `child_seconds` and `child_bytes` limit the retry in a child process. What is nested deeper than
    `nesting` levels of objects and lists stays JSON text.
    """

    cell_bytes: int = 1 << 20
    columns: int = 20_000
    expanded_bytes: int = 64 << 30
    members: int = 100_000
    tables: int = 100_000
    rows: int = 10_000_000_000
    batch_bytes: int = 16 << 20
    child_seconds: float = 120.0
    child_bytes: int = 3 << 30
    nesting: int = 8


@dataclass(frozen=True, slots=True)
class ValueRules:
    """How cells become canonical values; `fold=False` is `--values exact`.

    The rules are stored in the index, so that queries are folded exactly like the lake.
    """

    fold: bool = True
    extra_nulls: tuple[str, ...] = field(default=())
