"""Locks an index for one builder, commits a version by replacing the manifest, and cleans up."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from lakejoin.errors import BusyIndex, DamagedIndex, IndexProblem, InputError, MissingIndex
from lakejoin.locations import Location
from lakejoin.quoting import lakejoin_command
from lakejoin.store.history import (
    kept_versions,
    lost_files,
    named_files,
    save_version,
    version_file,
    versions_to_keep,
)
from lakejoin.store.index_records import NamedFile, SegmentRecord
from lakejoin.store.manifest import (
    MANIFEST_FILE,
    VERSION_FILE,
    IndexOptions,
    Manifest,
    Totals,
    read_manifest,
)
from lakejoin.store.segment import Segment
from lakejoin.store.snapshot import segment_folder
from lakejoin.store.source_states import SourceState, write_sources

KEEP_SECONDS = 3600.0
_BUILD = re.compile(r"\d{6,}[0-9a-f]{4}")
_SEGMENT = re.compile(r"\d{6,}[0-9a-f]{4}-\d{6,}-[0-9a-f]{8}")
_COMPONENT = re.compile(_SEGMENT.pattern + r"/[a-z]+-\d+-[0-9a-f]{8}\.lj")
_LIST = re.compile(r"files-\d{6,}-[0-9a-f]{8}\.lj")
_GRAPH = re.compile(r"graph-\d{6,}-[0-9a-f]{8}(\.lj)?")  # a file and its folder
_DRAFT = re.compile(r"MANIFEST(-\d{6,})?\.json\.\d+\.draft")
# What is kept beside the manifest: see engines/overlap/read_costs.py and pipeline/retries.py.
_NOTES = re.compile(r"(costs|retries)\.json(\.\d+\.draft)?")
_EXACT_VALUES = 1 << 22  # up to this many dictionary entries, distinct values are counted exactly


def commit(
    index: Location,
    old: Manifest,
    lakes: Sequence[str],
    options: IndexOptions,
    segments: Sequence[SegmentRecord],
    sources: Mapping[str, SourceState],
) -> Manifest:
    """Make `segments` the current version; the previous one stays readable for a while."""
    version = old.version + 1
    files = write_sources(index, f"files-{version:06d}-{secrets.token_hex(4)}.lj", sources)
    new = Manifest(
        version=version,
        created=_now(),
        lakes=tuple(lakes),
        options=options,
        segments=tuple(segments),
        files=files,
        graph=old.graph,
    )
    new = replace(new, totals=_totals(index, new, files.bytes))
    return _replace(index, old, new)


def commit_graph(index: Location, old: Manifest, graph: NamedFile) -> Manifest:
    """Commit a new version that differs from the old one only in its graph."""
    new = replace(old, version=old.version + 1, created=_now(), graph=graph)
    return _replace(index, old, new)


def roll_back(index: Location, version: int | None = None) -> tuple[Manifest, Manifest]:
    """Commit an older version again, by default the one before the current: a new version with the
    same content. Returns the older version and the new one.

    If the current manifest is damaged or lost, its copy, the newest version, is the default.
    """
    with build_lock(index):
        current, usable = _rollback_choice(index)
        wanted = usable[0].version if version is None and usable else version
        older = next((m for m in usable if m.version == wanted), None)
        if older is None:
            raise InputError(_no_version(index, version, usable))
        lost = lost_files(index, older)
        if lost:
            raise DamagedIndex(
                f"version {older.version} cannot be brought back, because {lost[0]} is missing or "
                f"was changed; list the others with: {lakejoin_command('history', index.uri)}"
            )
        new = replace(older, version=current.version + 1, created=_now())
        with clean_after_failure(index, current):
            return older, _replace(index, current, new, checked=False)


def _rollback_choice(index: Location) -> tuple[Manifest, list[Manifest]]:
    """The current version, and those before it that are kept; if its manifest is damaged or lost,
    an empty one with the number of the newest, which can be chosen then."""
    current = current_manifest(index, replacing=True)
    kept = [m for m in kept_versions(index) if m.version != current.version]
    if current.version == 0 and kept:
        return Manifest(version=kept[0].version), kept
    return current, [m for m in kept if m.version < current.version]


def _no_version(index: Location, version: int | None, kept: Sequence[Manifest]) -> str:
    if not kept:
        return f"the index at {index} has no older version to go back to"
    numbers = ", ".join(str(m.version) for m in kept)
    return f"the index at {index} has no older version {version}; it has {numbers}"


def _replace(index: Location, old: Manifest, new: Manifest, checked: bool = True) -> Manifest:
    """Make `new` the current version; what only older versions use is retired."""
    if checked and current_manifest(index, replacing=True).version != old.version:
        raise BusyIndex(f"another builder has changed the index at {index}; run the command again")
    kept = kept_versions(index)
    if old.version and all(m.version != old.version for m in kept):
        save_version(index, old)
        kept.append(old)
    now = time.time()
    used = set(named_files(new))
    still = {name for m in versions_to_keep(new, kept) for name in named_files(m)}
    retired = {n: since for n, since in old.retired if since > now - KEEP_SECONDS or n in still}
    for name in named_files(old):
        retired.setdefault(name, now)
    segments = {segment.id for segment in new.segments}
    gone = tuple(
        (name, since)
        for name, since in retired.items()
        # A segment that is gone is removed as a whole.
        if name not in used and ("/" not in name or name.partition("/")[0] in segments)
    )
    new = replace(new, retired=gone)
    _sync_names(index, old, new)
    (index / MANIFEST_FILE).replace(new.to_bytes())
    with contextlib.suppress(OSError):  # committed already: the next commit saves it otherwise
        save_version(index, new)
    return new


def _sync_names(index: Location, old: Manifest, new: Manifest) -> None:
    """Sync the folders of files that only the new version uses, before its manifest names them:
    after a power cut, a folder may have lost a file that was itself synced."""
    fresh = set(named_files(new)).difference(named_files(old))
    if not fresh:
        return
    for segment in sorted({name.partition("/")[0] for name in fresh if "/" in name}):
        (index / "segments" / segment).sync_names()
    (index / "segments").sync_names()
    for name in fresh:
        if _GRAPH.fullmatch(name):
            (index / name.removesuffix(".lj")).sync_names()
    index.sync_names()
    if old.version == 0 and index.local:
        Location.of(str(Path(index.uri).parent)).sync_names()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def clean_index(index: Location, manifest: Manifest) -> list[str]:
    """Remove what no reader can need: leftovers of dead builds, and versions retired long ago.

    Hold the build lock when calling this. Touches only files with names that we generate; returns
    the names of what was removed.
    """
    limit = time.time() - KEEP_SECONDS
    stay = versions_to_keep(manifest, kept_versions(index))
    named = {name for m in (manifest, *stay) for name in named_files(m)}
    named |= {name for name, since in manifest.retired if since > limit}
    named |= {name.removesuffix(".lj") for name in named if _GRAPH.fullmatch(name)}
    named |= {version_file(m.version) for m in stay} | {"costs.json", "retries.json"}
    removed = []
    beside = [(index, pattern) for pattern in (_LIST, _GRAPH, _DRAFT, _NOTES, VERSION_FILE)]
    for folder, pattern in ((index / "segments", _SEGMENT), *beside):
        for name in folder.children():
            if pattern.fullmatch(name) and name not in named:
                (folder / name).remove()
                removed.append(name)
    for name, since in manifest.retired:  # listing every segment folder would be slow
        if name not in named and since <= limit and _COMPONENT.fullmatch(name):
            (index / "segments" / name).remove()
            removed.append(name)
    for name in (index / "scratch").children():
        if _BUILD.fullmatch(name):
            (index / "scratch" / name).remove()
    if index.local and not (index / "scratch").children():
        (index / "scratch").remove()
    return removed


@contextlib.contextmanager
def clean_after_failure(index: Location, old: Manifest) -> Iterator[None]:
    """Remove what a build leaves behind that fails in this block, and say if it was stopped after
    its commit.

    Reads the manifest again, since the build may have failed after its commit. If the manifest
    cannot be read, nothing is touched.
    """
    try:
        yield
    except BaseException as problem:
        current = old
        with contextlib.suppress(IndexProblem):
            current = current_manifest(index)
            clean_index(index, current)
        if isinstance(problem, KeyboardInterrupt) and current.version > old.version:
            raise KeyboardInterrupt(
                f"stopped after the commit: version {current.version} of the index is complete, "
                "and in use"
            ) from None
        raise


def check_index_folder(index: Location) -> None:
    """Raise if the folder holds something else: an index needs its own folder.

    What a build leaves that was killed in its first commit, or an index that lost its manifest, is
    ours: the next build removes it.
    """
    names = set(index.children()) - {"LOCK", "segments", "scratch"}
    if MANIFEST_FILE in names:
        return
    patterns = (_LIST, _GRAPH, _DRAFT, VERSION_FILE)
    ours = {n for n in names if any(p.fullmatch(n) for p in patterns)}
    if any(map(_LIST.fullmatch, ours)):
        # Without a list of files beside them, somebody else may have written them.
        ours.update(filter(_NOTES.fullmatch, names))
    if names - ours:
        raise InputError(
            f"{index} is not an index and not empty; choose another folder with --index"
        )


def current_manifest(index: Location, replacing: bool = False) -> Manifest:
    """The current manifest, or an empty one for a new index.

    A damaged manifest is ignored if the whole index is being replaced.
    """
    try:
        return read_manifest(index)
    except MissingIndex:
        return Manifest()
    except DamagedIndex:
        if not replacing:
            raise
        return Manifest()


def _totals(index: Location, manifest: Manifest, list_bytes: int) -> Totals:
    records = manifest.segments
    alive = np.zeros(4, dtype=np.int64)
    for record in records:
        alive += (record.tables, record.columns, record.rows, record.cells)
        if record.dead:
            catalog = Segment(segment_folder(index, record), record).catalog
            dead = catalog.tables.take(list(record.dead))
            rows, width = dead["rows"].to_numpy(), dead["width"].to_numpy()
            alive -= (len(rows), width.sum(), rows.sum(), (rows * width).sum())
    tables, columns, row_count, cells = alive.tolist()
    values, exact = count_values(index, manifest)
    size = sum(s.bytes for s in records) + list_bytes
    return Totals(tables, columns, row_count, cells, values, exact, size)


def count_values(index: Location, manifest: Manifest) -> tuple[int, bool]:
    """The number of distinct values in the lake, and whether it is exact.

    Dictionaries of small indexes are merged. For large ones only the values whose hash begins with
    some zero bits are merged, a sample of two to four million (error about 0.1%). Values of removed
    tables count until the next compaction.
    """
    records = manifest.segments
    total = sum(s.values for s in records)
    exact = not any(s.dead for s in records)
    if len(records) <= 1:
        return total, exact
    if not index.local:
        return total, False  # counting would download remote dictionaries
    dictionaries = [Segment(segment_folder(index, r), r).dictionary for r in records]
    if total <= _EXACT_VALUES:
        return _distinct(np.concatenate([d.hashes() for d in dictionaries])), exact
    bits = min(8, (total // _EXACT_VALUES).bit_length())
    known = min(d.known_bits for d in dictionaries)
    samples = [d.hashes_in_range(0, 1 << bits, known)[0] for d in dictionaries]
    return _distinct(np.concatenate(samples)) << bits, False


def _distinct(hashes: np.ndarray[Any, Any]) -> int:
    """The number of distinct hashes; sorting in place is faster than `np.unique`."""
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + (len(hashes) > 0)


_FILE = "LOCK"
_STALE_SECONDS = 24 * 3600
_POLL_SECONDS = 0.2
_SETTLE_SECONDS = 0.3


@contextlib.contextmanager
def build_lock(index: Location, wait: float = 0.0) -> Iterator[None]:
    """Lock the index for one builder; waits up to `wait` seconds for another to finish.

    On a local disk the operating system holds the lock and releases it when the process ends.
    Elsewhere a small file does; one left by a dead builder expires after a day. Remote storage
    cannot decide between two writers, so both read the file again after writing it, and the commit
    checks anyway that nobody else has committed.
    """
    deadline = time.monotonic() + wait
    keeper = _local_lock if index.local else _remote_lock
    while True:
        index.make_folder()
        with contextlib.ExitStack() as stack:
            if stack.enter_context(keeper(index)):
                yield
                return
        if time.monotonic() >= deadline:
            raise BusyIndex(
                f"{_holder(index)} is building the index at {index}; wait until it is done, or use "
                "--wait SECONDS"
            )
        time.sleep(_POLL_SECONDS)


def _owner() -> bytes:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    return json.dumps({**owner, "token": secrets.token_hex(8)}).encode()


def _holder(index: Location) -> str:
    try:
        owner = json.loads((index / _FILE).read_bytes())
        return f"process {owner['pid']} on {owner['host']} (since {owner['since']})"
    except (OSError, ValueError, KeyError):
        return "another process"


@contextlib.contextmanager
def _local_lock(index: Location) -> Iterator[bool]:
    import fcntl

    _refuse_links(index)
    handle = os.open((index / _FILE).uri, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        if not _is_still(index, handle):  # its holder has removed the file: try again
            yield False
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, _owner(), 0)
        yield True
        _leave_nothing(index)
    except BaseException:
        _leave_nothing(index)
        raise
    finally:
        os.close(handle)


def _refuse_links(index: Location) -> None:
    """Raise if a name that a builder writes or cleans is a link to files elsewhere."""
    for name in (_FILE, "scratch", "segments"):
        if Path((index / name).uri).is_symlink():
            raise InputError(
                f"{index / name} is a symbolic link, and building would change what it points to: "
                "remove the link"
            )


def _is_still(index: Location, handle: int) -> bool:
    try:
        return os.path.samestat(Path((index / _FILE).uri).stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _leave_nothing(index: Location) -> None:
    """Remove the folder of a first build that wrote nothing; the lock is still held."""
    if index.children() == [_FILE]:
        with contextlib.suppress(OSError):
            Path((index / _FILE).uri).unlink()
            Path(index.uri).rmdir()


def _age(location: Location) -> float:
    """Seconds since the lock was taken, as its holder wrote it: not all storage has file times."""
    try:
        since = datetime.fromisoformat(json.loads(location.read_bytes())["since"])
    except (OSError, ValueError, KeyError):
        return 0.0
    return (datetime.now(UTC) - since).total_seconds()


@contextlib.contextmanager
def _remote_lock(index: Location) -> Iterator[bool]:
    location = index / _FILE
    if location.kind() == "file" and _age(location) < _STALE_SECONDS:
        yield False
        return
    owner = _owner()
    location.replace(owner)
    time.sleep(_SETTLE_SECONDS)
    if location.read_bytes() != owner:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            if location.read_bytes() == owner:
                location.remove()
