"""Open the tables of a file, whatever its format; risky formats in a child process with limits."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakejoin.errors import InputError, LakejoinError, MissingDependency, UnreadableFile
from lakejoin.formats.file_budget import FileBudget
from lakejoin.formats.file_kinds import (
    ZipArchive,
    compression_of,
    recognise_format,
    unpack_blob,
)
from lakejoin.formats.table_stream import (
    DEFAULT_LIMITS,
    Blob,
    Table,
    TableStream,
    first_line_of,
    wrap_library_errors,
)
from lakejoin.locations import Location
from lakejoin.model import Dialect, ReadLimits, Skipped, SourceFile
from lakejoin.values.plain_columns import Losses

__all__ = ["Table", "TableStream", "open_table", "open_tables", "read", "split_part"]

_HEAD = 1 << 12
_DEPTH = 3
_LISTED = 20  # parts of a container that an error lists
_RISKY = ("excel",)
_Opener = Callable[[Blob, ReadLimits], Iterator[TableStream | Skipped]]


def open_tables(
    source: SourceFile, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[TableStream | Skipped]:
    """Open the tables of a file one by one; a part that cannot be read is `Skipped`.

    Raises `UnreadableFile` if the file contains no table. Formats whose reader may crash are read
    in a child process.
    """
    yield from _tables(Blob.of_file(source), limits, _Context(FileBudget(limits)))


def open_tables_in_process(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of a blob without a child process; the child process itself runs this."""
    yield from _tables(blob, limits, _Context(FileBudget(limits), shielded=True))


@dataclass(frozen=True, slots=True)
class _Context:
    """What the file may still unfold to, how deep inside archives we are, and whether this process
    may crash."""

    budget: FileBudget
    depth: int = 0
    shielded: bool = False

    def inside(self, blob: Blob) -> _Context:
        if self.depth >= _DEPTH:
            raise UnreadableFile(blob.name, "archives nested too deeply")
        return replace(self, depth=self.depth + 1)


def _tables(blob: Blob, limits: ReadLimits, context: _Context) -> Iterator[TableStream | Skipped]:
    with wrap_library_errors(blob, "cannot be opened"):
        head = blob.head(_HEAD)
    kind = compression_of(head)
    if kind is not None:
        yield from _tables(unpack_blob(blob, kind, context.budget), limits, context.inside(blob))
        return
    form = recognise_format(head, blob.label)
    if form == "zip":
        with wrap_library_errors(blob, "damaged zip archive"):
            archive = ZipArchive(blob)
        if not archive.is_workbook():
            yield from _zip(blob, archive, limits, context.inside(blob))
            return
        archive.check_size(context.budget)
        form = "excel"
    if form == "empty":
        raise UnreadableFile(blob.name, "empty file")
    elif form.startswith("not a table"):
        raise UnreadableFile(blob.name, "not a table", form.partition(": ")[2])
    isolate = form in _RISKY and not context.shielded
    tables = open_tables_isolated if isolate else _opener(form)
    yield from _count_tables(tables(blob, limits), context.budget)


def _count_tables(
    tables: Iterator[TableStream | Skipped], budget: FileBudget
) -> Iterator[TableStream | Skipped]:
    """The tables and their rows under the limits of the whole file."""
    for table in tables:
        if isinstance(table, Skipped):
            yield table
            continue
        try:
            budget.spend("tables", len(table.with_children()), table.name)
        except UnreadableFile as problem:
            yield Skipped(problem.path, problem.reason, problem.detail)
            return
        children = tuple(map(budget.limit_rows, table.children))
        yield replace(budget.limit_rows(table), children=children)


def _zip(
    blob: Blob, archive: ZipArchive, limits: ReadLimits, context: _Context
) -> Iterator[TableStream | Skipped]:
    any_table = False
    for member in archive.members(context.budget):
        if context.budget.is_spent:  # which has been told
            return
        try:
            context.budget.spend("members", 1, member.name)
            for table in _tables(member, limits, context):
                any_table = True
                yield table
        except UnreadableFile as problem:
            any_table = True
            yield Skipped(problem.path, problem.reason, problem.detail)
    if not any_table:
        raise UnreadableFile(blob.name, "empty archive")


def _opener(form: str) -> _Opener:
    """The reader of a format; readers are imported on first use."""
    from lakejoin.formats.delimited.text_reader import open_delimited
    from lakejoin.formats.json_files import open_json
    from lakejoin.formats.table_containers import open_excel, open_sqlite
    from lakejoin.formats.typed_files import (
        open_arrow,
        open_arrow_stream,
        open_avro,
        open_orc,
        open_parquet,
    )

    def single(opener: Callable[[Blob, ReadLimits], TableStream]) -> _Opener:
        return lambda blob, limits: iter((opener(blob, limits),))

    return {
        "csv": single(open_delimited),
        "json": single(open_json),
        "parquet": single(open_parquet),
        "arrow": single(open_arrow),
        "arrow stream": single(open_arrow_stream),
        "orc": single(open_orc),
        "avro": single(open_avro),
        "excel": open_excel,
        "sqlite": open_sqlite,
    }[form]


def read(path: str | os.PathLike[str], limits: ReadLimits = DEFAULT_LIMITS) -> Table | list[Table]:
    """Read a file as a `Table`, or as a list of tables if it contains several.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "towns.csv"
    ...     _ = file.write_text("town;people\\nUlm;126000\\nBonn;331000\\n")
    ...     table = read(file)
    >>> table
    Table('towns.csv', csv, 2 rows x 2 columns)
    >>> table.dialect.delimiter
    ';'
    """
    file = Location.of(path)
    if file.kind() != "file":
        raise InputError(f"there is no file {path}")
    source = _source_of(file)
    tables: list[Table] = []
    skipped: list[Skipped] = []
    with wrap_reader_errors(source.name):
        for stream in open_tables(source, limits):
            if isinstance(stream, Skipped):
                skipped.append(stream)
            else:
                tables.append(Table.of(stream))
    if not tables:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if len(tables) == 1 and ("#" not in tables[0].name or tables[0].format == "excel"):
        return tables[0]
    return tables


def _source_of(file: Location) -> SourceFile:
    entry = file.entry()
    return SourceFile(file.name, file.uri, entry.size, entry.mtime_ns)


@contextmanager
def wrap_reader_errors(name: str) -> Iterator[None]:
    """Report any failure of a reader as `UnreadableFile`."""
    try:
        yield
    except LakejoinError:
        raise
    except Exception as problem:
        detail = f"{type(problem).__name__}: {first_line_of(problem)}"
        raise UnreadableFile(name, "reader failed", detail) from problem


def split_part(path: str) -> tuple[str, str]:
    """Split `file#part` into an existing file and its part; two empty texts if there is none."""
    if location_kind(path) == "file":
        return path, ""
    front, mark, part = path.rpartition("#")
    while mark:
        if front and location_kind(front) == "file":
            return front, part
        front, mark, more = front.rpartition("#")
        part = f"{more}#{part}"
    return "", ""


def location_kind(path: str) -> str:
    """Like `Location.kind`; `"missing"` for a text that cannot be a file name."""
    location = Location.of(path)
    try:
        return location.kind()
    except OSError:
        if location.local:
            return "missing"
        raise


def open_table(path: str) -> TableStream:
    """Open the only table of a file, or the table that `file#part` names."""
    front, part = split_part(path)
    if not front:
        raise InputError(f"there is no file {path}")
    file = Location.of(front)
    source = _source_of(file)
    streams: list[TableStream] = []
    skipped: list[Skipped] = []
    with wrap_reader_errors(source.name):
        for stream in open_tables(source):
            if isinstance(stream, Skipped):
                skipped.append(stream)
                continue
            for table in stream.with_children() if part else ():
                if table.name.partition("#")[2] == part:
                    return table
            streams.append(stream)
    if not part and len(streams) == 1:
        return streams[0]
    found = [table.name.partition("#")[2] for s in streams for table in s.with_children()]
    found = [name for name in found if name]
    parts = ", ".join(found[:_LISTED])
    parts += f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
    if not streams:
        raise UnreadableFile(source.name, "nothing to read inside", "; ".join(map(str, skipped)))
    if part:
        raise InputError(f"{file.name} has no part {part!r}; its parts are: {parts}")
    raise InputError(
        f"{file.name} contains several tables; name one as {file.name}#PART: its parts are {parts}"
    )


_MEMORY_SIGNS = ("memory allocation", "MemoryError", "out of memory", "capacity overflow")


def open_tables_isolated(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of a blob, parsed in a child process with memory and time limits.

    A child that dies, hangs or runs out of memory raises `UnreadableFile` with the reason `reader
    died`, `reader hung` or `reader ran out of memory`; the tables it had finished are returned.
    """
    scratch = _ScratchFolder()
    problem: LakejoinError | None = _run_child(blob, limits, scratch.path)
    results = sorted(scratch.path.glob("*.json"))
    waiting: TableStream | Skipped | None = None  # until the tables nested in it are known
    for path in results:
        answer = json.loads(path.read_text("utf-8"))
        if "error" in answer:
            problem = problem or _raised(answer)
            continue
        table: TableStream | Skipped
        if "skipped" in answer:
            table = Skipped(*answer["skipped"])
        else:
            table = _stream(answer, path.with_suffix(".arrow"), limits, scratch)
            if table.part and isinstance(waiting, TableStream):
                waiting = replace(waiting, children=(*waiting.children, table))
                continue
        if waiting is not None:
            yield waiting
        waiting = table
    if waiting is not None:
        yield waiting
    if isinstance(problem, UnreadableFile) and any(
        p.with_suffix(".arrow").exists() for p in results
    ):
        yield Skipped(problem.path, problem.reason, problem.detail)
    elif problem is not None:
        raise problem


class _ScratchFolder:
    """A temporary folder that is removed with the last stream that reads from it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="lakejoin-child-"))
        weakref.finalize(self, shutil.rmtree, str(self.path), True)


def _stream(
    answer: dict[str, Any], path: Path, limits: ReadLimits, scratch: _ScratchFolder
) -> TableStream:
    def reading(losses: Losses) -> Iterator[pa.RecordBatch]:
        for loss in answer["losses"]:
            losses.add(**loss)
        # Through the scratch folder, which has to live as long as the stream.
        file_path = scratch.path / path.name
        with file_path.open("rb") as file, pa.ipc.open_stream(file) as stream:
            yield from stream

    dialect = answer["dialect"]
    if dialect is not None:
        dialect = Dialect(**{**dialect, "opinions": tuple(dialect["opinions"])})
    names, notes = tuple(answer["names"]), tuple(answer["notes"])
    return TableStream(
        answer["name"], answer["format"], names, reading, dialect, notes, limits,
        part=answer["part"],
    )  # fmt: skip


# -- in the parent ----------------------------------------------------------------------------


def _run_child(blob: Blob, limits: ReadLimits, folder: Path) -> UnreadableFile | None:
    with blob.as_path() as path:
        job = {
            "path": path,
            "name": blob.name,
            "label": blob.label,
            "limits": asdict(limits),
            "folder": str(folder),
        }
        command = [sys.executable, "-m", "lakejoin.formats.file_reader_child"]
        # A Spark worker may have received the package without installing it.
        python_path = os.pathsep.join(folder for folder in sys.path if folder)
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": python_path},
        )
        try:
            errors = _wait(child, json.dumps(job).encode(), folder, limits.child_seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return UnreadableFile(blob.name, "reader hung", _hung(limits))
        except BaseException:
            child.kill()
            child.wait()
            raise
    if child.returncode == 0:
        return None
    return _died(blob, child.returncode, errors.decode("utf-8", "replace"), limits)


def _hung(limits: ReadLimits) -> str:
    return f"no answer in {limits.child_seconds:g} seconds"


def _wait(child: subprocess.Popen[bytes], job: bytes, folder: Path, seconds: float) -> bytes:
    """What the child wrote to standard error, once it has ended.

    Its limit is CPU time, which the child sets itself. Here it is only ended if it does nothing for
    as long: it uses no CPU, writes nothing, and does not wait for a processor that others keep
    busy. Where the system does not say what a process does, the clock decides.
    """
    message: bytes | None = job
    done, since = None, time.monotonic()
    while True:
        try:
            _, errors = child.communicate(message, timeout=min(_POLL_SECONDS, seconds))
            return errors
        except subprocess.TimeoutExpired:
            message = None
        now = _activity(child.pid), sum(p.stat().st_size for p in folder.iterdir())
        if now != done or (now[0] is not None and now[0][1] == "R"):
            done, since = now, time.monotonic()
        elif time.monotonic() - since > seconds:
            raise subprocess.TimeoutExpired(child.args, seconds)


_POLL_SECONDS = 0.5


def _activity(process: int) -> tuple[int, str] | None:
    """(CPU time in ticks, state) of a process; None if the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:15])), fields[0]  # its own time and that of its children
    except (OSError, ValueError, IndexError):
        return None


def _died(blob: Blob, code: int, errors: str, limits: ReadLimits) -> UnreadableFile:
    last = errors.strip().rpartition("\n")[2][:200]
    if any(sign in errors for sign in _MEMORY_SIGNS):
        detail = f"the limit is {limits.child_bytes} bytes"
        return UnreadableFile(blob.name, "reader ran out of memory", detail)
    if code == -getattr(signal, "SIGXCPU", 24):
        return UnreadableFile(blob.name, "reader hung", _hung(limits))
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return UnreadableFile(blob.name, "reader died", f"{how}; {last}" if last else how)


def _raised(answer: dict[str, Any]) -> LakejoinError:
    if answer["error"] == "MissingPart":
        return MissingDependency(answer["reason"])
    return UnreadableFile(answer["path"], answer["reason"], answer["detail"])
