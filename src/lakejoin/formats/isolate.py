"""Read a file in a child process with limits, so that a crash of the reader ends only the child."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.errors import LakejoinError, MissingDependency, UnreadableFile
from lakejoin.formats.blob import Blob
from lakejoin.values.losses import Losses
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import Dialect, ReadLimits, Skipped, SourceFile

if TYPE_CHECKING:
    import pyarrow as pa

_MEMORY_SIGNS = ("memory allocation", "MemoryError", "out of memory", "capacity overflow")


def open_tables_isolated(source: SourceFile, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Like `open_tables`, but parsed in a child process with memory and time limits.

    A child that dies, hangs or runs out of memory raises `UnreadableFile` with the reason `reader
    died`, `reader hung` or `reader ran out of memory`; the tables it had finished are returned.
    """
    yield from open_blob_isolated(Blob.of_file(source.name, source.uri, source.size), limits)


def open_blob_isolated(blob: Blob, limits: ReadLimits) -> Iterator[TableStream | Skipped]:
    """Open the tables of a blob, parsed in a child process."""
    scratch = _ScratchFolder()
    problem: LakejoinError | None = _run_child(blob, limits, scratch.path)
    results = sorted(scratch.path.glob("*.json"))
    for path in results:
        answer = json.loads(path.read_text("utf-8"))
        if "error" in answer:
            problem = problem or _raised(answer)
        elif "skipped" in answer:
            yield Skipped(*answer["skipped"])
        else:
            yield _stream(answer, path.with_suffix(".arrow"), limits, scratch)
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
        import pyarrow as pa

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
    return TableStream(answer["name"], answer["format"], names, reading, dialect, notes, limits)


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
            _, errors = child.communicate(json.dumps(job).encode(), timeout=limits.child_seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            detail = f"no answer in {limits.child_seconds:g} seconds"
            return UnreadableFile(blob.name, "reader hung", detail)
        except BaseException:
            child.kill()
            child.wait()
            raise
    if child.returncode == 0:
        return None
    return _died(blob, child.returncode, errors.decode("utf-8", "replace"), limits)


def _died(blob: Blob, code: int, errors: str, limits: ReadLimits) -> UnreadableFile:
    last = errors.strip().rpartition("\n")[2][:200]
    if any(sign in errors for sign in _MEMORY_SIGNS):
        detail = f"the limit is {limits.child_bytes} bytes"
        return UnreadableFile(blob.name, "reader ran out of memory", detail)
    if code == -getattr(signal, "SIGXCPU", 24):
        detail = f"no answer in {limits.child_seconds:g} seconds"
        return UnreadableFile(blob.name, "reader hung", detail)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return UnreadableFile(blob.name, "reader died", f"{how}; {last}" if last else how)


def _raised(answer: dict[str, Any]) -> LakejoinError:
    if answer["error"] == "MissingPart":
        return MissingDependency(answer["reason"])
    return UnreadableFile(answer["path"], answer["reason"], answer["detail"])
