"""Frames as tables of a lake: Arrow tables and datasets, pandas, polars, DuckDB relations, under
the names that the caller gives them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import xxhash

from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.model import Composition, LogicalTable, SourceFile, TableFile
from lakejoin.sources.frames import to_table
from lakejoin.sources.lake_files import FRAMES
from lakejoin.sources.partitioned_folders import stamp_text

_BATCH_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class LakeFrame:
    """A frame to index. `stamp` differs once its content does; `batches` reads it in this process.
    A Spark frame has `encode` instead, which returns what the executors wrote."""

    name: str
    columns: tuple[str, ...]
    size: int
    stamp: int
    batches: Callable[[], Iterator[pa.RecordBatch]] | None = None
    schema: pa.Schema | None = None
    encode: Callable[[Any, LakeFrame, int], list[Any]] | None = None
    nested: tuple[str, ...] = ()

    @property
    def source(self) -> LogicalTable:
        """The table that it becomes."""
        kind = "frame" if self.encode is None else "spark"
        whole = TableFile(SourceFile(self.name, FRAMES, self.size, self.stamp))
        return LogicalTable(
            self.name,
            FRAMES,
            self.size,
            self.stamp,
            Composition(kind, 1),
            (whole,),
            self.columns,
            nested=self.nested,
        )

    def write(self, file: Location) -> SourceFile:
        """Write it to a file that the tasks read."""
        assert self.batches is not None and self.schema is not None
        with file.create() as out, pa.ipc.new_stream(out, self.schema) as writer:
            for batch in self.batches():
                writer.write_batch(batch)
        return SourceFile(self.name, file.uri, self.size, self.stamp)


def name_frames(frames: Iterable[tuple[str, Any]]) -> list[LakeFrame]:
    """The frames under their names; raises if one is not a table."""
    return [_lake_frame(name, frame) for name, frame in frames]


def _lake_frame(name: str, frame: Any) -> LakeFrame:
    if not name or name != name.strip():
        raise InputError(
            f"{name!r} cannot name a table: give each frame a name without spaces around it"
        )
    if hasattr(frame, "to_batches") and hasattr(frame, "get_fragments"):  # an Arrow dataset
        return _dataset_frame(name, frame)
    table = to_table(frame)
    if not table.num_columns:
        raise InputError(f"the frame {name} has no columns")
    return LakeFrame(
        name,
        tuple(table.column_names),
        table.nbytes,
        _content_stamp(table),
        lambda: iter(table.to_batches(_BATCH_ROWS)),
        table.schema,
    )


def _dataset_frame(name: str, dataset: Any) -> LakeFrame:
    schema = dataset.schema
    files = getattr(dataset, "files", None)
    stamp, size = time.time_ns(), 0
    if files:
        infos = dataset.filesystem.get_file_info(files)
        size = sum(info.size or 0 for info in infos)
        stamp = stamp_text("\n".join(f"{i.path}\t{i.size}\t{i.mtime_ns}" for i in infos))
    return LakeFrame(
        name,
        tuple(schema.names),
        size,
        stamp,
        lambda: dataset.to_batches(batch_size=_BATCH_ROWS),
        schema,
    )


def _content_stamp(table: pa.Table) -> int:
    """A number that changes whenever a cell, a name or a type does."""
    digest = xxhash.xxh3_64()

    class Digest:
        closed = False

        def write(self, data: Any) -> int:
            digest.update(memoryview(data))
            return len(data)

        def flush(self) -> None: ...

    whole = table.combine_chunks()
    sink = pa.PythonFile(Digest(), mode="w")
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=_BATCH_ROWS)
    return digest.intdigest() >> 1
