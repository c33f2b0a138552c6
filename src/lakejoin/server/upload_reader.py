"""The child process that parses one uploaded file, under limits, and stores its tables."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakejoin.errors import UnreadableFile
from lakejoin.model import ReadLimits, Skipped, ValueRules
from lakejoin.server.api_problems import Problem
from lakejoin.server.disk_cache import DiskCache
from lakejoin.server.job_loop import JobHandler, Message, ProgressReporter, serve_jobs
from lakejoin.server.reader_confinement import confine_reader
from lakejoin.server.settings import Limits
from lakejoin.server.workspace import ARROW_SUFFIX, DESCRIPTION_SUFFIX, build_description

if TYPE_CHECKING:
    from lakejoin.formats.table_stream import TableStream

_CELL_BYTES = 1 << 20
_EXPANSION = 10  # how many times larger than the upload limit a file may unpack to
_MAX_TABLES = 100  # of one file
_MAX_MEMBERS = 10_000  # of one file
_MEMORY = 4_000_000_000
_LIBRARIES = (
    *("pyarrow.parquet", "pyarrow.orc", "pyarrow.csv", "pyarrow.compute", "pyarrow.dataset"),
    *(
        "python_calamine",
        "fastavro",
        "sqlite3",
        "zipfile",
        "tarfile",
        "gzip",
        "bz2",
        "lzma",
        "zlib",
    ),
    *("charset_normalizer", "unicodedata", "decimal", "_json", "_csv", "_datetime", "zoneinfo"),
    *(
        "lakejoin.formats.file_reader",
        "lakejoin.formats.typed_files",
        "lakejoin.formats.json_files",
    ),
    *("lakejoin.formats.table_containers", "lakejoin.formats.delimited.text_reader"),
    *("lakejoin.values.plain_columns", "cramjam", "zstandard", "snappy", "encodings.idna"),
)


def prepare(setup: Message) -> JobHandler:
    """Set the limits, and load what parsing needs."""
    limits = Limits(**setup["limits"])
    _limit_process(limits)
    shelf = DiskCache(
        Path(setup["folder"]) / "uploads", (ARROW_SUFFIX, DESCRIPTION_SUFFIX), limits.uploads_bytes
    )
    rules = ValueRules(setup["rules"]["fold"], tuple(setup["rules"]["extra_nulls"]))
    _warm_up(rules)

    def work(job: Message, tell: ProgressReporter) -> Any:
        path = Path(job["path"])
        reader = _UploadReader(shelf, limits, rules, tell, path, job["name"], job["id"])
        with _confined(shelf.folder):  # for good: a process reads one file
            return reader.tables()

    return work


@contextmanager
def _confined(store: Path) -> Iterator[None]:
    """Read what strangers sent with access to nothing but the libraries and the folder of uploads,
    where temporary files go too."""
    scratch = tempfile.mkdtemp(prefix=f"making-{os.getpid()}-", dir=store)
    tempfile.tempdir = scratch
    confine_reader(store)
    try:
        yield
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(slots=True)
class _UploadReader:
    """Parses one file and stores its tables; counts the rows and cells of all."""

    shelf: DiskCache
    limits: Limits
    rules: ValueRules
    tell: ProgressReporter
    path: Path
    name: str
    id: str
    rows: int = 0
    cells: int = 0

    def tables(self) -> dict[str, Any]:
        """Store the tables of the file; returns their ids and what was skipped."""
        ids: list[str] = []
        skipped: list[dict[str, Any]] = []
        for stream in self._streams():
            if isinstance(stream, Skipped):
                skipped.append(asdict(stream))
            else:
                id = f"{self.id}-{len(ids)}" if ids else self.id
                self._store(stream, id)
                ids.append(id)
        if not ids:
            why = "; ".join(f"{item['name']}: {item['reason']}" for item in skipped[:3])
            raise Problem("input", f"no table found in {self.name}" + (f": {why}" if why else ""))
        return {"tables": ids, "skipped": skipped}

    def _streams(self) -> Iterator[TableStream | Skipped]:
        from lakejoin.formats.file_reader import open_tables_in_process, wrap_reader_errors
        from lakejoin.formats.table_stream import Blob, with_nested

        path = self.path
        limits = ReadLimits(
            cell_bytes=_CELL_BYTES,
            columns=self.limits.upload_columns,
            expanded_bytes=_EXPANSION * self.limits.upload_bytes,
            members=_MAX_MEMBERS,
            tables=_MAX_TABLES,
        )
        size = path.stat().st_size
        blob = Blob(self.name, self.name, lambda: path.open("rb"), size, str(path))
        try:
            with wrap_reader_errors(self.name):
                yield from with_nested(open_tables_in_process(blob, limits))
        except UnreadableFile as error:
            raise Problem("input", str(error)) from None

    def _store(self, stream: TableStream, id: str) -> None:
        from lakejoin.values.column_encoder import ColumnEncoder

        self.tell("progress", {"doing": f"reading {stream.name}"})
        encoders = [ColumnEncoder(name, self.rules) for name in stream.column_names]
        with self.shelf.temporary_path() as made:
            rows = self._write(stream, made.with_suffix(ARROW_SUFFIX), encoders)
            self.tell("progress", {"doing": "profiling the columns"})
            encoders.reverse()
            profiles = [encoders.pop().finish().profile for _ in range(len(encoders))]
            note = build_description(
                stream.name,
                stream.column_names,
                profiles,
                rows,
                format=stream.format,
                notes=list(stream.notes),
                losses=[asdict(loss) for loss in stream.losses],
            )
            made.with_suffix(DESCRIPTION_SUFFIX).write_text(json.dumps(note), "utf-8")
            self.shelf.commit(id, made)

    def _write(self, stream: TableStream, path: Path, encoders: list[Any]) -> int:
        rows = 0
        writer = schema = None
        with pa.OSFile(str(path), "wb") as file:
            for batch in stream.batches():
                rows += batch.num_rows
                self._count(batch.num_rows, batch.num_columns)
                schema = schema or _plain_schema(batch.schema, stream.format)
                writer = writer or pa.ipc.new_file(file, schema)
                writer.write_batch(_plain(batch, schema))
                for index, encoder in enumerate(encoders):
                    encoder.append(batch.column(index))
                self.tell("progress", {"doing": f"reading {stream.name}: {rows:,} rows"})
            if writer is None:
                fields = [pa.field(name, pa.string()) for name in stream.column_names]
                writer = pa.ipc.new_file(file, pa.schema(fields))
            writer.close()
        return rows

    def _count(self, rows: int, columns: int) -> None:
        limits = self.limits
        self.rows += rows
        self.cells += rows * columns
        if self.rows > limits.upload_rows:
            most = f"{limits.upload_rows:,} rows"
        elif self.cells > limits.upload_cells:
            most = f"{limits.upload_cells:,} cells"
        else:
            return
        raise Problem(
            "too_large",
            f"{self.name} has more than {most}, the limit for uploads: add it to the lake, "
            "or upload a part of it",
        )


_TYPED_FORMATS = ("parquet", "arrow", "arrow stream", "orc")


def _plain_schema(schema: pa.Schema, format: str) -> pa.Schema:
    """The schema to write: the column types of a typed format, else text, since inferred types may
    differ between batches."""
    if format in _TYPED_FORMATS:
        return schema.remove_metadata()
    return pa.schema([pa.field(name, pa.large_string()) for name in schema.names])


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch to write. The server maps it without further checks, so it must be valid Arrow with
    valid UTF-8."""
    from lakejoin.values.plain_columns import is_text, print_array, repair_text

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        is_plain = not is_text(field.type) or is_text(column.type)
        plain = column if is_plain else print_array(column)
        plain = repair_text(plain) if is_text(plain.type) else plain
        columns.append(plain.cast(field.type))
    written = pa.RecordBatch.from_arrays(columns, schema=schema)
    written.validate(full=True)
    return written


def _limit_process(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # not Unix: only the server's own limits apply
        return
    seconds = max(1, int(limits.upload_seconds))
    largest = _EXPANSION * limits.upload_bytes
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
    """Load every library that a file may need: a confined process can load no more of them."""
    from lakejoin.values.column_encoder import ColumnEncoder

    for library in _LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    encoder = ColumnEncoder("warm", rules)
    encoder.append(pa.array(["up", "1", "2024-05-06", None]))
    encoder.finish()


if __name__ == "__main__":
    serve_jobs(prepare)
