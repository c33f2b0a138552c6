"""Where SQL can read the rows of a table."""

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
class TableOrigin:
    """A file with its format and dialect; `path` is empty for a table without a file of its own.

    `plain` if other readers see the same rows and names, as nothing was left out or renamed.
    """

    path: str = ""
    format: str = ""
    dialect: Dialect | None = None
    plain: bool = True


def find_origin(lakes: Sequence[str], entry: TableEntry) -> TableOrigin:
    """The file of a lake table; without a path if it is in a container or no longer there."""
    from lakejoin.sources.lake_files import find_file

    location = find_file(lakes, entry.source) if entry.name == entry.source else None
    plain = not entry.losses and not entry.notes
    return TableOrigin("" if location is None else location.uri, entry.format, entry.dialect, plain)


def is_stored_as_text(origin: TableOrigin, kind: ColumnType) -> bool:
    """Whether a column is stored as text in its file, not as a typed number or date."""
    return origin.format in DELIMITED or kind in _WORDS
