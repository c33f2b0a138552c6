"""Write a table to a file, in the format of its extension, completely or not at all."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from lakejoin.errors import InputError

Sink = IO[bytes]
Opener = Callable[[Sink, "pa.Schema"], Any]


def write_table(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str | Path, overwrite: bool = True
) -> int:
    """Write a table and return its size in bytes; an old file stays until the new one is complete.

    Without `overwrite`, a file that already exists is an error and stays.

    >>> import pyarrow as pa, tempfile
    >>> batch = pa.record_batch({"town": ["Bern", "Ulm"], "people": [134, None]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = write_table([batch], batch.schema, Path(folder) / "towns.csv")
    ...     print((Path(folder) / "towns.csv").read_text(), end="")
    "town","people"
    "Bern",134
    "Ulm",
    """
    target = Path(path)
    opener = _opener(target)
    with _atomic_file(target, overwrite) as sink, opener(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return target.stat().st_size


def check_output(path: str | Path, is_new: bool = False) -> None:
    """Reject a path that cannot be written, or an existing file if it must be new, before any work
    is done."""
    target = Path(path)
    _opener(target)
    if target.is_dir():
        raise InputError(f"{target} is a folder: name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target.name}: folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {target}: no permission to create files in {target.parent}")
    if is_new and target.exists():
        raise InputError(f"{path} exists already and is never overwritten: name another file")


@contextlib.contextmanager
def _atomic_file(target: Path, over: bool) -> Iterator[Sink]:
    """A file that gets its name only once it is complete and on disk."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.draft")
    try:
        with _open_draft(draft, target) as sink:
            yield sink
            sink.flush()
            os.fsync(sink.fileno())
        if over:
            draft.replace(target)
        else:
            _link_new(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _link_new(draft: Path, target: Path) -> None:
    """Give the file its name unless it is taken, even by a concurrent writer."""
    try:
        try:
            target.hardlink_to(draft)
        except FileExistsError:
            raise
        except OSError:  # a file system without links: reserve the name, then replace it
            target.touch(exist_ok=False)
            draft.replace(target)
    except FileExistsError:
        raise InputError(f"{target} already exists and is never overwritten") from None


def _open_draft(draft: Path, target: Path) -> Sink:
    try:
        return draft.open("xb")
    except OSError as problem:
        raise InputError(f"cannot write {target}: {problem.strerror}") from problem


def _delimited(delimiter: str, packed: bool = False) -> Opener:
    @contextlib.contextmanager
    def open_writer(sink: Sink, schema: pa.Schema) -> Iterator[Any]:
        import pyarrow.csv

        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        with contextlib.ExitStack() as stack:
            # No time stamp, so that the same rows give the same bytes.
            into = (
                stack.enter_context(gzip.GzipFile("", "wb", 6, sink, mtime=0)) if packed else sink
            )
            writer = pyarrow.csv.CSVWriter(into, _flat_schema(schema), write_options=options)
            yield _Flat(stack.enter_context(writer))

    return open_writer


class _Flat:
    """Writes lists as JSON, for formats whose cells are text or numbers."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = [_as_json(c) if pa.types.is_nested(c.type) else c for c in batch.columns]
        schema = _flat_schema(batch.schema)
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _flat_schema(schema: pa.Schema) -> pa.Schema:
    nested = pa.types.is_nested
    return pa.schema([f.with_type(pa.large_string()) if nested(f.type) else f for f in schema])


def _as_json(column: pa.Array) -> pa.Array:
    cells = column.to_pylist()
    texts = [None if c is None else json.dumps(c, ensure_ascii=False, default=str) for c in cells]
    return pa.array(texts, pa.large_string())


def _parquet(sink: Sink, schema: pa.Schema) -> Any:
    import pyarrow.parquet  # loads what reads remote files

    return pyarrow.parquet.ParquetWriter(sink, schema, compression="zstd")


def _arrow(sink: Sink, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(sink, schema)


_OPENERS: dict[str, Opener] = {
    ".csv": _delimited(","),
    ".csv.gz": _delimited(",", packed=True),
    ".tsv": _delimited("\t"),
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
EXTENSIONS = tuple(_OPENERS)


def _opener(target: Path) -> Opener:
    for ending, opener in _OPENERS.items():
        if target.name.lower().endswith(ending):
            return opener
    raise InputError(
        f"{target.name}: unknown format; the name must end in one of {', '.join(EXTENSIONS)}"
    )
