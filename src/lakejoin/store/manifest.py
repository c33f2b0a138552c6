"""The manifest, the one file that defines an index."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

import xxhash

from lakejoin.errors import DamagedIndex, InputError, MissingIndex, NewerIndex
from lakejoin.locations import Location
from lakejoin.model import ValueRules
from lakejoin.quoting import lakejoin_command
from lakejoin.store.index_records import (
    PERMUTATIONS,
    ComponentRecord,
    MeaningOptions,
    NamedFile,
    SegmentRecord,
    SuperKeyOptions,
    read_numbers,
    read_record,
)

FORMAT = 1
MANIFEST_FILE = "MANIFEST.json"
VERSION_FILE = re.compile(r"MANIFEST-(\d{6,})\.json")  # copies: see history.py
FEATURES = ("meaning", "distance")


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """The options an index was built with, and is refreshed with.

    `rules` say how values are folded, `all_columns` whether decimals and booleans are searched too,
    `permutations` how many entries a signature has, and `super_keys` how rows are filtered.
    `parts` are the optional features of the index, from `FEATURES`; None if not decided yet, as in
    older indexes. `meaning` says how vectors are computed, if there are any. `exclude` are globs of
    files that are not read.
    """

    rules: ValueRules = field(default_factory=ValueRules)
    all_columns: bool = False
    permutations: int = PERMUTATIONS
    super_keys: SuperKeyOptions = field(default_factory=SuperKeyOptions)
    parts: tuple[str, ...] | None = None
    meaning: MeaningOptions | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals shown by `lakejoin info`, without removed tables; `values` may be an estimate."""

    tables: int = 0
    columns: int = 0
    rows: int = 0
    cells: int = 0
    values: int = 0
    values_exact: bool = True
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    version: int = 0
    created: str = ""
    lakes: tuple[str, ...] = ()
    options: IndexOptions = field(default_factory=IndexOptions)
    segments: tuple[SegmentRecord, ...] = ()
    files: NamedFile | None = None
    totals: Totals = field(default_factory=Totals)
    retired: tuple[tuple[str, float], ...] = ()
    graph: NamedFile | None = None  # may be of an older version: it lists its segments

    def to_bytes(self) -> bytes:
        """Serialize to JSON; the last key is the checksum."""
        body = {"format": FORMAT, **asdict(self)}
        text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
        digest = xxhash.xxh3_64_hexdigest(text.encode())
        return (text[:-1] + f',"checksum":"{digest}"}}\n').encode()


def read_manifest(index: Location, name: str = MANIFEST_FILE) -> Manifest:
    """Read the current manifest of an index, or an older one by the `name` of its file.

    >>> read_manifest(Location.of("/no"))
    Traceback (most recent call last):
        ...
    lakejoin.errors.MissingIndex: no index at /no; build one with: lakejoin index LAKE --index /no
    """
    location = index / name
    try:
        data = location.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if _has_copy(index):
            raise MissingIndex(f"the manifest of {index} is lost; {_repair(index)}") from None
        build = lakejoin_command("index LAKE", index.uri)
        raise MissingIndex(f"no index at {index}; build one with: {build}") from None
    body = _parse(index, location, data)
    if body.get("format", 0) > FORMAT:
        raise NewerIndex(
            f"the index at {index} was written by a newer lakejoin (format {body['format']}, this "
            f"one reads {FORMAT}); upgrade lakejoin to open it"
        )
    _verify(index, location, data, body)
    try:
        return _from_json(body)
    except (ValueError, TypeError, KeyError, AttributeError, InputError):
        raise DamagedIndex(
            f"the index is damaged: {location} is inconsistent; {_repair(index)}"
        ) from None


def _parse(index: Location, location: Location, data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("format"), int):
        raise DamagedIndex(f"the index is damaged: {location} is not a manifest; {_repair(index)}")
    return body


def _verify(index: Location, location: Location, data: bytes, body: dict[str, Any]) -> None:
    text, mark, tail = data.rpartition(b',"checksum":"')
    digest = xxhash.xxh3_64_hexdigest(text + b"}")
    if not mark or tail != f'{digest}"}}\n'.encode() or body.get("checksum") != digest:
        raise DamagedIndex(
            f"the index is damaged: {location} does not match its checksum; {_repair(index)}"
        )


def _has_copy(index: Location) -> bool:
    return any(VERSION_FILE.fullmatch(name) for name in index.children())


def _repair(index: Location) -> str:
    """What to do about a damaged manifest: only it knew the lake, but there may be a copy."""
    if _has_copy(index):
        return f"bring its copy back with: {lakejoin_command('rollback', index.uri)}"
    return f"rebuild it with: {lakejoin_command('index LAKE --full', index.uri)}"


def _from_json(body: dict[str, Any]) -> Manifest:
    options = body["options"]
    rules = options["rules"]
    return Manifest(
        version=_number(body["version"]),
        created=_text(body["created"]),
        lakes=_texts(body["lakes"]),
        options=IndexOptions(
            ValueRules(bool(rules["fold"]), _texts(rules["extra_nulls"])),
            bool(options["all_columns"]),
            _number(options.get("permutations", PERMUTATIONS)),  # missing in older manifests
            SuperKeyOptions(bits=options.get("super_keys", {}).get("bits", SuperKeyOptions().bits)),
            *_parts(options),
            tuple(options.get("exclude", ())),
        ),
        segments=tuple(segment_from_json(s) for s in body["segments"]),
        files=_named_file(body["files"]),
        totals=read_record(Totals, body["totals"]),
        retired=tuple((_text(name), float(since)) for name, since in body["retired"]),
        graph=_named_file(body.get("graph")),
    )


def _number(body: Any) -> int:
    if type(body) is not int or body < 0:
        raise ValueError(f"{body!r} is not a number")
    return body


def _text(body: Any) -> str:
    if not isinstance(body, str):
        raise ValueError(f"{body!r} is not a text")
    return body


def _texts(body: Any) -> tuple[str, ...]:
    if not isinstance(body, list):
        raise ValueError(f"{body!r} is not a list")
    return tuple(_text(text) for text in body)


def _named_file(body: Any) -> NamedFile | None:
    return read_record(NamedFile, body) if body else None


def _parts(options: dict[str, Any]) -> tuple[tuple[str, ...] | None, MeaningOptions | None]:
    parts, meaning = options.get("parts"), options.get("meaning")
    return (
        None if parts is None else _texts(parts),
        None if meaning is None else read_record(MeaningOptions, meaning),
    )


def segment_from_json(body: dict[str, Any]) -> SegmentRecord:
    components = {
        _text(name): read_record(ComponentRecord, c) for name, c in body["components"].items()
    }
    dead = read_numbers(body["dead"])
    if dead and max(dead) >= body["tables"]:
        raise ValueError("a removed table does not exist")
    return read_record(SegmentRecord, body, components=components, dead=dead)
