"""Where the rows of a table can be read again, by SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.model import ColumnType, Dialect

if TYPE_CHECKING:
    from lakejoin.store.catalog import TableEntry


DELIMITED = ("csv", "tsv")
_WORDS = (ColumnType.TEXT, ColumnType.MIXED)


@dataclass(frozen=True, slots=True)
class Origin:
    """A file with its format and dialect; `path` is empty for what lies in no file of its own.

    `plain` says that other readers see the same rows and names: nothing was left out or renamed.
    """

    path: str = ""
    format: str = ""
    dialect: Dialect | None = None
    plain: bool = True


def origin_of(lakes: Sequence[str], entry: TableEntry) -> Origin:
    """The file of a table of the lake; no path where it is inside a container, or has gone."""
    from lakejoin.lake.files import file_of

    place = file_of(lakes, entry.source) if entry.name == entry.source else None
    plain = not entry.losses and not entry.notes
    return Origin("" if place is None else place.uri, entry.format, entry.dialect, plain)


def written_as_text(origin: Origin, kind: ColumnType) -> bool:
    """Whether a column is text in its file, and not a number or a date of a type of its own."""
    return origin.format in DELIMITED or kind in _WORDS
