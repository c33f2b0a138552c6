"""Tables by id (of the lake, uploads and results), and the lake and stored files that the server
and its workers share."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import pyarrow as pa

from lakejoin.inputs import LakeTable
from lakejoin.lake import CurrentLake, Lake
from lakejoin.model import ColumnProfile, ColumnType
from lakejoin.server.api_problems import Problem
from lakejoin.server.disk_cache import DiskCache
from lakejoin.server.settings import Limits

if TYPE_CHECKING:
    from lakejoin.formats.table_stream import Table


TableDescription = dict[str, Any]
Result = TypeVar("Result")

_LOG = logging.getLogger(__name__)

ARROW_SUFFIX, DESCRIPTION_SUFFIX = ".arrow", ".json"
_SUGGESTED = 3
_KEY_LIKE = 0.5
_GONE = {
    "upload": "this uploaded table is no longer stored here; upload it again",
    "result": "this result is no longer stored; open the link that led to it to compute it again",
}


class ServedLakeTable:
    """A table in the lake. `identity` is a text that changes whenever its rows do."""

    def __init__(self, id: TableId, table: LakeTable) -> None:
        self.id = id
        self.table = table

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def identity(self) -> str:
        # Segments never change, so a table that is indexed again is in another segment.
        return f"lake:{self.table.identity}"

    @property
    def rows(self) -> int:
        return self.table.rows

    @cached_property
    def column_names(self) -> Sequence[str]:
        return [column.name for column in self.table.columns()]

    def info(self) -> TableDescription:
        """Its description, with the keys of `lakejoin columns --json`; what a logical table is made
        of is a note."""
        described = self.table.to_dict()
        del described["dialect"], described["composition"]
        if self.table.entry.composition is not None:
            described["notes"].insert(0, f"made of {self.table.entry.composition}")
        mark_suggested(described["columns"])
        return {"id": str(self.id), **described, "made": None}

    def read_rows(
        self, begin: int, end: int, column_indexes: Sequence[int] | None = None
    ) -> pa.Table:
        return self.table.to_arrow(min(begin, self.rows), min(end, self.rows), column_indexes)

    def as_input(self) -> LakeTable:
        """As input for `lakejoin.join` and `Lake.search`; never a text, which could be a path."""
        return self.table


class StoredTable:
    """An upload or result: a memory-mapped Arrow file with a JSON description next to it."""

    def __init__(self, id: TableId, path: Path) -> None:
        self.id = id
        self._path = path

    @cached_property
    def _note(self) -> TableDescription:
        try:
            note: TableDescription = json.loads(
                self._path.with_suffix(DESCRIPTION_SUFFIX).read_text("utf-8")
            )
        except FileNotFoundError:
            raise _gone(self.id) from None
        return note

    @cached_property
    def _rows(self) -> pa.Table:
        try:
            return map_arrow_file(self._path)
        except FileNotFoundError:
            raise _gone(self.id) from None

    @property
    def name(self) -> str:
        return str(self._note["table"])

    @property
    def identity(self) -> str:
        return str(self.id)  # a hash of its content, or of everything that it was computed from

    @property
    def rows(self) -> int:
        return int(self._note["rows"])

    @property
    def column_names(self) -> Sequence[str]:
        return [str(column["column"]) for column in self._note["columns"]]

    def info(self) -> TableDescription:
        return {"id": str(self.id), **self._note}

    def read_rows(
        self, begin: int, end: int, column_indexes: Sequence[int] | None = None
    ) -> pa.Table:
        rows = self._rows.slice(begin, max(0, end - begin))
        return rows if column_indexes is None else rows.select(list(column_indexes))

    def as_input(self) -> Table:
        from lakejoin.formats.table_stream import Table

        return Table(self.name, "arrow", self._rows)


# A table that can be shown, searched with and joined, wherever it is stored.
ServedTable = ServedLakeTable | StoredTable


def _gone(id: TableId) -> Problem:
    return Problem("gone", _GONE[id.kind], table=str(id))


def map_arrow_file(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def build_description(
    name: str,
    column_names: Sequence[str],
    profiles: Sequence[ColumnProfile],
    rows: int,
    **more: Any,
) -> TableDescription:
    """The description that is stored next to the rows of a table."""
    columns = [
        {"column": column, "indexed": profile.type is not ColumnType.EMPTY, **asdict(profile)}
        for column, profile in zip(column_names, profiles, strict=True)
    ]
    mark_suggested(columns)
    note = {"table": name, "rows": rows, "format": "arrow", "source": "", "notes": [], "losses": []}
    return {**note, "columns": columns, "made": None, **more}


def mark_suggested(columns: list[TableDescription]) -> None:
    """Mark the columns that look most like join keys as suggested."""
    likely = [c for c in columns if c["key_likeness"] >= _KEY_LIKE and c["distinct"] > 1]
    likely.sort(key=lambda c: (c["type"] == ColumnType.INTEGER, -c["key_likeness"]))
    for column in columns:
        column["suggested"] = any(column is other for other in likely[:_SUGGESTED])


_LOOK_SECONDS = 1.0  # between two checks for a newer version of the index
_ANSWERS_SHARE = 10  # one tenth of the cache is for answers
_MAX_ANSWERS = 20_000  # all are listed whenever one is added
_LINK_BYTES = 200_000_000


class Workspace:
    """The current lake, and the uploads, results, answers and links stored by id."""

    def __init__(
        self, index: str, folder: Path, limits: Limits, look_seconds: float = _LOOK_SECONDS
    ) -> None:
        self.index = index
        self.folder = folder
        self.limits = limits
        self._current = CurrentLake(index, look_seconds)
        cache = limits.cache_bytes
        self.answers = DiskCache(
            folder / "answers", (DESCRIPTION_SUFFIX,), cache // _ANSWERS_SHARE, _MAX_ANSWERS
        )
        self.results = DiskCache(
            folder / "results", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), cache - cache // _ANSWERS_SHARE
        )
        self.uploads = DiskCache(
            folder / "uploads", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), limits.uploads_bytes
        )
        self.links = DiskCache(folder / "links", (DESCRIPTION_SUFFIX,), _LINK_BYTES, limits.links)

    def lake(self) -> Lake:
        """The newest version of the index."""
        return self._current.lake()

    def run_unchanged(self, work: Callable[[], Result]) -> Result:
        """Run work that may read the index; `DamagedIndex` is raised if a file is changed."""
        with self._current.unchanged():
            return work()

    def open(self, text: str | TableId) -> ServedTable:
        """Open a table by id; raises `Problem` if there is none."""
        id = text if isinstance(text, TableId) else TableId.parse(text)
        if id.kind == "lake":
            return ServedLakeTable(id, self.lake().table(id.name))
        path = (self.uploads if id.kind == "upload" else self.results).get(id.name)
        if path is None:
            raise _gone(id)
        return StoredTable(id, path)

    @property
    def version(self) -> str:
        """A text that changes whenever the index does, also if it is rebuilt and its version
        numbers start again at one."""
        manifest = self.lake().snapshot.manifest
        segments = ",".join(segment.id for segment in manifest.segments)
        return f"{manifest.version}@{manifest.created}/{segments}"

    def read_answer(self, key: str) -> dict[str, Any] | None:
        """A stored answer; None if there is none."""
        data = self.answers.read(key)
        return None if data is None else json.loads(data)

    def store_answer(self, key: str, answer: dict[str, Any]) -> None:
        """Store an answer if the disk takes it; if not, it is computed again next time."""
        try:
            self.answers.put(key, {DESCRIPTION_SUFFIX: json.dumps(answer).encode()})
        except OSError as problem:
            _LOG.warning("an answer was not stored: %s", problem.strerror or problem)

    def remove_unfinished(self, pid: int) -> None:
        """Remove the unfinished files of a child that has ended."""
        for shelf in (self.answers, self.results, self.uploads):
            shelf.remove_unfinished(pid)

    def setup(self) -> dict[str, Any]:
        """What a child needs to open the same workspace."""
        return {"index": self.index, "folder": str(self.folder), "limits": asdict(self.limits)}

    @classmethod
    def from_setup(cls, setup: dict[str, Any]) -> Workspace:
        """Open the workspace in a child. It checks for a newer index on every job: a child behind
        the server would store results of old rows under the ids of new ones."""
        limits = Limits(**setup["limits"])
        return cls(setup["index"], Path(setup["folder"]), limits, look_seconds=0.0)


TableKind = Literal["lake", "upload", "result"]

_MADE = re.compile(r"[a-z2-7]{26}(-\d{1,4})?")
_MAX_NAME = 4_000


@dataclass(frozen=True, slots=True)
class TableId:
    """A table in the lake by name, or an upload or result by an id hashed from its content.

    >>> str(TableId.parse("lake:a/b.csv#c")), TableId.parse("lake:a/b.csv#c").name
    ('lake:a/b.csv#c', 'a/b.csv#c')
    """

    kind: TableKind
    name: str

    @classmethod
    def parse(cls, text: str) -> TableId:
        """Parse an id; a text without a kind is the name of a table in the lake."""
        kind, _, name = text.partition(":")
        if kind not in get_args(TableKind):
            kind, name = "lake", text
        if not name or len(name) > _MAX_NAME or (kind != "lake" and not _MADE.fullmatch(name)):
            raise Problem(
                "input", f"{text[:100]!r} is not a table id: use lake:NAME, upload:ID or result:ID"
            )
        return cls(kind, name)  # type: ignore[arg-type]  # checked above

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def hash_id(*values: Any) -> str:
    """Hash plain values to an id; equal values give equal ids.

    >>> hash_id("join", {"b": 1, "a": None}) == hash_id("join", {"a": None, "b": 1})
    True
    >>> len(hash_id())
    26
    """
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:26]
