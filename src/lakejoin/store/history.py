"""The last versions of an index: their manifests, kept beside the current one.

`lakejoin rollback` makes one of them current again, so the files that they name stay on disk too.
A version is kept while it is among the last `KEEP_VERSIONS` before the current one and was replaced
less than `KEEP_SECONDS` ago.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lakejoin.errors import DamagedIndex, IndexProblem, MissingIndex
from lakejoin.locations import Location
from lakejoin.store.manifest import VERSION_FILE, Manifest, read_manifest

KEEP_VERSIONS = 3
KEEP_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """A version of an index that can be made current again, or the current one."""

    version: int
    created: str
    current: bool
    tables: int
    rows: int
    bytes: int

    @staticmethod
    def of(manifest: Manifest, current: bool) -> IndexVersion:
        totals = manifest.totals
        sizes = totals.tables, totals.rows, totals.bytes
        return IndexVersion(manifest.version, manifest.created, current, *sizes)


def version_file(version: int) -> str:
    return f"MANIFEST-{version:06d}.json"


def save_version(index: Location, manifest: Manifest) -> None:
    """Keep a manifest beside the current one."""
    (index / version_file(manifest.version)).replace(manifest.to_bytes())


def kept_versions(index: Location) -> list[Manifest]:
    """The manifests that are kept, newest first; damaged ones are left out."""
    found = []
    for name in index.children():
        if VERSION_FILE.fullmatch(name):
            with contextlib.suppress(IndexProblem, OSError):
                manifest = read_manifest(index, name)
                if version_file(manifest.version) == name:
                    found.append(manifest)
    return sorted(found, key=lambda manifest: -manifest.version)


def list_versions(index: Location) -> list[IndexVersion]:
    """The versions that `roll_back` can bring back, and the current one, newest first."""
    try:
        current = read_manifest(index)
    except DamagedIndex:
        current = Manifest()
    except MissingIndex:
        if not kept_versions(index):
            raise
        current = Manifest()
    kept = [m for m in kept_versions(index) if m.version != current.version]
    listed = [IndexVersion.of(m, current=False) for m in versions_to_keep(current, kept)]
    return [IndexVersion.of(current, current=True), *listed] if current.version else listed


def versions_to_keep(current: Manifest, kept: Sequence[Manifest]) -> list[Manifest]:
    """Which of the kept manifests stay, and the current one's copy; all if it is lost."""
    if current.version == 0:
        return list(kept)
    older = sorted((m for m in kept if m.version < current.version), key=lambda m: -m.version)
    stay = [m for m in kept if m.version == current.version]
    replaced = _seconds(current.created)  # when the first of the older ones was replaced
    for manifest in older[:KEEP_VERSIONS]:
        if replaced < time.time() - KEEP_SECONDS:
            break
        stay.append(manifest)
        replaced = _seconds(manifest.created)
    return stay


def _seconds(created: str) -> float:
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def named_files(manifest: Manifest) -> Iterator[str]:
    """What a version uses: segments, `<segment>/<file>` of components, lists of files, graphs."""
    for segment in manifest.segments:
        yield segment.id
        for component in segment.components.values():
            yield f"{segment.id}/{component.file}"
    for file in (manifest.files, manifest.graph):
        if file is not None:
            yield file.name


def lost_files(index: Location, manifest: Manifest) -> list[str]:
    """The files that a version names and that are not there, or have another size."""
    wanted: list[tuple[Location, Any]] = [
        (index / "segments" / segment.id / component.file, component)
        for segment in manifest.segments
        for component in segment.components.values()
    ]
    wanted += [(index / file.name, file) for file in (manifest.files, manifest.graph) if file]
    return [str(location) for location, record in wanted if _size(location) != record.bytes]


def _size(location: Location) -> int:
    try:
        return location.entry().size
    except OSError:
        return -1
