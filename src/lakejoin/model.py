"""The nouns that every layer shares: frozen dataclasses with no behaviour beyond themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


class ColumnType(StrEnum):
    """What kind of values a column holds.

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
    """How a delimited text file is written, and how sure we are of it.

    `skip_rows` lines stand before the header (or the data), `skip_footer` lines after the data.
    `opinions` says which detector voted for which delimiter, so that a doubt can be explained.

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
    """Something that was left out of a table while reading it, counted and never silent.

    >>> Loss("row too long", 3, "first at line 17").count
    3
    """

    reason: str
    count: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the lake as the listing saw it.

    `name` is the path relative to the lake's root (the stable name shown to users), `uri` where to
    open it, and `size` and `mtime_ns` tell whether it has changed.
    """

    name: str
    uri: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column looks like, from its distinct values and how often each occurs.

    `uniqueness` is distinct / non-null rows; `key_likeness` (0..1) says how much the column looks
    like something to join on: nearly unique, nearly without nulls, short text or integers.
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
    """The local id that stands for a null in cells of an unsigned type: all bits set.

    >>> import numpy as np
    >>> null_id(np.dtype(np.uint8))
    255
    """
    return (1 << (8 * int(dtype.itemsize))) - 1


@dataclass(frozen=True, slots=True)
class ColumnData:
    """One column, encoded against itself: what the index takes.

    `tokens` are the distinct canonical values. `spellings` are the distinct original texts that
    differ from their canonical value, and `spelling_token[i]` is the token of `spellings[i]`.
    `cells` has one local id a row in the narrowest unsigned type that fits: ids below
    `len(tokens)` are tokens written canonically, the next `len(spellings)` are spellings, and
    `null_id(cells.dtype)` (all bits set) is a null.
    """

    name: str
    profile: ColumnProfile
    tokens: pa.LargeStringArray
    spellings: pa.LargeStringArray
    spelling_token: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True, slots=True)
class TableData:
    """One table ready to be indexed, with where it came from and what was lost on the way.

    `notes` are sentences about how it was read: columns that were renamed, a joined header.
    `columns` are taken once, in order: a large table makes them one by one as they are taken.
    """

    name: str
    source: str
    rows: int
    columns: Iterable[ColumnData]
    format: str = ""
    dialect: Dialect | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a part of one, from which no table was read, and why.

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
    """The bounds that keep one file from starving its reader.

    `cell_bytes`: a longer cell is cut to a null and counted. `columns`: a wider file is skipped.
    `expanded_bytes`: a compressed file that unfolds beyond this is skipped. `batch_bytes`: how
    much text is parsed at once. `child_seconds` and `child_bytes` bound the isolated retry.
    """

    cell_bytes: int = 1 << 20
    columns: int = 20_000
    expanded_bytes: int = 64 << 30
    batch_bytes: int = 16 << 20
    child_seconds: float = 120.0
    child_bytes: int = 3 << 30


@dataclass(frozen=True, slots=True)
class ValueRules:
    """How cells become canonical values: `fold` off is `--values exact`.

    The rules travel with the index, so that a query is always folded as the lake was.
    """

    fold: bool = True
    extra_nulls: tuple[str, ...] = field(default=())
