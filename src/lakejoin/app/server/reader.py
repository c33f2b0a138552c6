"""The child that reads what somebody brought: under limits, and one file in its life."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.app.server.child_side import Message, Tell, Work, serve_jobs
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.settings import Limits
from lakejoin.app.server.shelf import Shelf
from lakejoin.app.server.tables import ARROW, NOTE, note_of
from lakejoin.errors import UnreadableFile
from lakejoin.model import ReadLimits, Skipped, ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.lake.tables import TableStream

_CELL_BYTES = 1 << 20
_UNPACKED = 10  # times the largest upload is what one may unfold to
_TABLES = 100  # of one file
_MEMORY = 4_000_000_000

Told = dict[str, Any]


def prepare(setup: Message) -> Work:
    """Sets the limits, and loads what reading needs."""
    limits = Limits(**setup["limits"])
    _limit(limits)
    shelf = Shelf(Path(setup["folder"]) / "uploads", (ARROW, NOTE), limits.uploads_bytes)
    rules = ValueRules(setup["rules"]["fold"], tuple(setup["rules"]["extra_nulls"]))
    _warm_up(rules)

    def work(job: Message, tell: Tell) -> Any:
        return _Reading(shelf, limits, rules, job, tell).tables()

    return work


class _Reading:
    """One file that is read, and kept table by table."""

    def __init__(
        self, shelf: Shelf, limits: Limits, rules: ValueRules, job: Message, tell: Tell
    ) -> None:
        self._shelf = shelf
        self._limits = limits
        self._rules = rules
        self._path = Path(job["path"])
        self._name: str = job["name"]
        self._id: str = job["id"]
        self._tell = tell

    def tables(self) -> Told:
        """Keeps the tables of the file; their ids, and what was skipped."""
        ids: list[str] = []
        skipped: list[Told] = []
        for found in self._streams():
            if isinstance(found, Skipped):
                skipped.append(asdict(found))
            elif len(ids) == _TABLES:
                told = f"a file may hold {_TABLES} tables here"
                skipped.append({"name": found.name, "reason": "too many tables", "detail": told})
                break
            else:
                id = f"{self._id}-{len(ids)}" if ids else self._id
                self._keep(found, id)
                ids.append(id)
        if not ids:
            why = "; ".join(f"{one['name']}: {one['reason']}" for one in skipped[:3])
            raise Problem("input", f"{self._name} holds no table" + (f": {why}" if why else ""))
        return {"tables": ids, "skipped": skipped}

    def _streams(self) -> Iterator[TableStream | Skipped]:
        from lakejoin.lake.blob import Blob
        from lakejoin.lake.read import readable, tables_in_process

        path = self._path
        limits = ReadLimits(
            cell_bytes=_CELL_BYTES,
            columns=self._limits.upload_columns,
            expanded_bytes=_UNPACKED * self._limits.upload_bytes,
        )
        size = path.stat().st_size
        blob = Blob(self._name, self._name, lambda: path.open("rb"), size, str(path))
        try:
            with readable(self._name):
                yield from tables_in_process(blob, limits)
        except UnreadableFile as problem:
            raise Problem("input", f"{problem}; no table can be read from it") from None

    def _keep(self, stream: TableStream, id: str) -> None:
        from lakejoin.lake.columns import ColumnEncoder

        self._tell("progress", {"doing": f"reading {stream.name}"})
        encoders = [ColumnEncoder(name, self._rules) for name in stream.column_names]
        with self._shelf.making() as made:
            rows = self._write(stream, made.with_suffix(ARROW), encoders)
            self._tell("progress", {"doing": "looking at the columns"})
            encoders.reverse()
            profiles = [encoders.pop().finish().profile for _ in range(len(encoders))]
            note = note_of(
                stream.name,
                stream.column_names,
                profiles,
                rows,
                format=stream.format,
                notes=list(stream.notes),
                losses=[asdict(loss) for loss in stream.losses],
            )
            made.with_suffix(NOTE).write_text(json.dumps(note), "utf-8")
            self._shelf.keep(id, made)

    def _write(self, stream: TableStream, path: Path, encoders: list[Any]) -> int:
        import pyarrow as pa

        rows = 0
        writer = schema = None
        with pa.OSFile(str(path), "wb") as file:
            for batch in stream.batches():
                rows += batch.num_rows
                self._check(rows, batch.num_columns)
                schema = schema or _plain_schema(batch.schema, stream.format)
                writer = writer or pa.ipc.new_file(file, schema)
                writer.write_batch(_plain(batch, schema))
                for place, encoder in enumerate(encoders):
                    encoder.append(batch.column(place))
                self._tell("progress", {"doing": f"reading {stream.name}: {rows:,} rows"})
            if writer is None:
                fields = [pa.field(name, pa.string()) for name in stream.column_names]
                writer = pa.ipc.new_file(file, pa.schema(fields))
            writer.close()
        return rows

    def _check(self, rows: int, columns: int) -> None:
        limits = self._limits
        if rows > limits.upload_rows:
            most = f"the {limits.upload_rows:,} rows"
        elif rows * columns > limits.upload_cells:
            most = f"the {limits.upload_cells:,} cells"
        else:
            return
        raise Problem(
            "too_large",
            f"{self._name} has more than {most} that may be brought here: index it with lakejoin "
            "index, or bring a part of it",
        )


_CONSTANT = ("parquet", "arrow", "arrow stream", "orc")  # whose columns keep their types


def _plain_schema(schema: pa.Schema, format: str) -> pa.Schema:
    """What is written: types of their own where a format has them, else texts, as those of another
    batch may differ."""
    import pyarrow as pa

    if format in _CONSTANT:
        return schema.remove_metadata()
    return pa.schema([pa.field(name, pa.large_string()) for name in schema.names])


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch as it is written, which the server then maps without another look: sound, and with
    texts that are UTF-8."""
    import pyarrow as pa

    from lakejoin.lake.columns import valid_text
    from lakejoin.lake.printing import is_text, printed

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        is_plain = not is_text(field.type) or is_text(column.type)
        plain = column if is_plain else printed(column)
        plain = valid_text(plain) if is_text(plain.type) else plain
        columns.append(plain.cast(field.type))
    written = pa.RecordBatch.from_arrays(columns, schema=schema)
    written.validate(full=True)
    return written


def _limit(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # not a Unix: the server's own limits remain
        return
    seconds = max(1, int(limits.upload_seconds))
    largest = _UNPACKED * limits.upload_bytes
    for what, most in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, 2 * seconds),
        (resource.RLIMIT_FSIZE, largest),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(what, (most, most))
    with suppress(OSError):
        os.nice(5)


def _warm_up(rules: ValueRules) -> None:
    import pyarrow as pa

    from lakejoin.lake.columns import ColumnEncoder

    encoder = ColumnEncoder("warm", rules)
    encoder.append(pa.array(["up", "1", "2024-05-06", None]))
    encoder.finish()


if __name__ == "__main__":
    serve_jobs(prepare)
