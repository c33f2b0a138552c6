"""The child process of `open_tables_isolated`: read a file under limits and write its tables to a
folder."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lakejoin.errors import MissingDependency, UnreadableFile
from lakejoin.formats.file_reader import open_tables_in_process
from lakejoin.formats.table_stream import Blob, TableStream, first_line_of, with_nested
from lakejoin.model import ReadLimits, Skipped


def _main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    limits = ReadLimits(**job["limits"])
    _limit(limits)
    folder = Path(job["folder"])
    path = Path(job["path"])
    size = path.stat().st_size
    blob = Blob(job["name"], job["label"], lambda: path.open("rb"), size, str(path))
    try:
        _write_tables(blob, limits, folder)
    except UnreadableFile as problem:
        _answer(folder, 10**8, error="UnreadableFile", path=problem.path, reason=problem.reason,
                detail=problem.detail)  # fmt: skip
    except MissingDependency as problem:
        _answer(folder, 10**8, error="MissingPart", reason=str(problem))
    except MemoryError as problem:
        _answer(folder, 10**8, error="UnreadableFile", path=blob.name,
                reason="reader ran out of memory", detail=first_line_of(problem))  # fmt: skip


def _limit(limits: ReadLimits) -> None:
    try:
        import resource
    except ImportError:  # not Unix: only the time limit of the parent applies
        return
    resource.setrlimit(resource.RLIMIT_AS, (limits.child_bytes, limits.child_bytes))
    seconds = max(1, int(limits.child_seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _write_tables(blob: Blob, limits: ReadLimits, folder: Path) -> None:
    for number, stream in enumerate(with_nested(open_tables_in_process(blob, limits))):
        if isinstance(stream, Skipped):
            _answer(folder, number, skipped=[stream.name, stream.reason, stream.detail])
            continue
        try:
            _write_table(stream, folder, number)
        except UnreadableFile as problem:
            _answer(folder, number, skipped=[stream.name, problem.reason, problem.detail])


def _write_table(stream: TableStream, folder: Path, number: int) -> None:
    import pyarrow as pa

    path = folder / f"{number:09d}.arrow"
    writer = None
    with path.open("wb") as file:
        for batch in stream.batches():
            if writer is None:
                writer = pa.ipc.new_stream(file, batch.schema)
            writer.write_batch(batch)
        if writer is None:
            fields = [pa.field(name, pa.string()) for name in stream.column_names]
            writer = pa.ipc.new_stream(file, pa.schema(fields))
        writer.close()
    _answer(
        folder, number, name=stream.name, format=stream.format, names=stream.column_names,
        notes=stream.notes, dialect=None if stream.dialect is None else asdict(stream.dialect),
        losses=[asdict(loss) for loss in stream.losses], part=stream.part,
    )  # fmt: skip


def _answer(folder: Path, number: int, **fields: Any) -> None:
    """Write the answer last and atomically: a table without an answer is incomplete."""
    draft = folder / f"{number:09d}.draft"
    draft.write_text(json.dumps(fields), "utf-8")
    draft.rename(folder / f"{number:09d}.json")


if __name__ == "__main__":
    _main()
