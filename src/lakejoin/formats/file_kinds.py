"""Recognise the format of a file by its first bytes, and unpack compressed streams and zip
archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

from lakejoin.errors import UnreadableFile
from lakejoin.formats.file_budget import FileBudget, Meter
from lakejoin.formats.table_stream import COPY_BYTES, Blob, ByteStream, first_line_of

_STREAMS: tuple[tuple[bytes, str, tuple[str, ...]], ...] = (
    (b"\x1f\x8b", "gzip", (".gz", ".gzip", ".tgz")),
    (b"BZh", "bzip2", (".bz2", ".bzip2")),
    (b"\xfd7zXZ\x00", "xz", (".xz",)),
    (b"\x28\xb5\x2f\xfd", "zstd", (".zst", ".zstd")),
    (b"\x04\x22\x4d\x18", "lz4", (".lz4",)),
)
_HIDDEN_MEMBERS = ("__MACOSX/",)


def compression_of(head: bytes) -> str | None:
    """The stream compression that these first bytes show, if any.

    >>> compression_of(b"BZh91AY&SY"), compression_of(b"a,b")
    ('bzip2', None)
    """
    for magic, kind, _ in _STREAMS:
        if head.startswith(magic):
            # "BZh" can also start a text; the digit and the block mark cannot.
            if kind == "bzip2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
                continue
            return kind
    return None


def unpack_blob(blob: Blob, kind: str, budget: FileBudget) -> Blob:
    """The bytes inside a compressed stream, under the same name."""
    meter = Meter(budget, "bytes", blob.name)

    def opener() -> BinaryIO:
        with ExitStack() as stack:
            file = stack.enter_context(blob.open())
            stream = stack.enter_context(_decompress(file, kind))
            return _open_bounded(stream, blob.name, kind, meter, stack)

    return Blob(blob.name, _without_ending(blob.label, kind), opener, seekable=False)


class ZipArchive:
    """A zip archive, opened once: its directory may be longer than its members. It is closed with
    the last reference to it or to one of its members."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        with ExitStack() as stack:
            where = stack.enter_context(blob.random_access())
            self._zip = stack.enter_context(zipfile.ZipFile(where))
            weakref.finalize(self, stack.pop_all().close)

    def is_workbook(self) -> bool:
        return is_workbook(set(self._zip.namelist()))

    def check_size(self, budget: FileBudget) -> None:
        """Unpack everything once to see how large it is, for a reader that does not look."""
        for info in self._zip.infolist():
            with self._member(info, info.filename, budget).open() as file:
                while file.read(COPY_BYTES):
                    pass

    def members(self, budget: FileBudget) -> Iterator[Blob]:
        """Yield the files, named `archive#path`, without folders and hidden files.

        An archive may contain a path twice: later ones are numbered, as in `archive#path~2`.
        """
        infos = [info for info in self._zip.infolist() if not info.is_dir()]
        for info, path in zip(infos, _unique_paths([i.filename for i in infos]), strict=True):
            parts = info.filename.split("/")
            if info.filename.startswith(_HIDDEN_MEMBERS) or any(p.startswith(".") for p in parts):
                continue
            yield self._member(info, path, budget)

    def _member(self, info: zipfile.ZipInfo, path: str, budget: FileBudget) -> Blob:
        name = f"{self._blob.name}#{path}"
        meter = Meter(budget, "bytes", name)

        def opener() -> BinaryIO:
            if info.flag_bits & 1:
                raise UnreadableFile(name, "encrypted archive member")
            with ExitStack() as stack:
                try:
                    stream = stack.enter_context(self._zip.open(info))
                except (NotImplementedError, zipfile.BadZipFile, RuntimeError) as problem:
                    detail = first_line_of(problem)
                    raise UnreadableFile(name, "damaged archive member", detail) from None
                return _open_bounded(stream, name, "zip", meter, stack)

        return Blob(name, info.filename.rpartition("/")[2], opener, info.file_size, seekable=False)


def _unique_paths(paths: list[str]) -> list[str]:
    """Number repeated paths.

    >>> _unique_paths(["a", "a", "a~2", "a"])
    ['a', 'a~3', 'a~2', 'a~4']
    """
    first = set(paths)
    taken: set[str] = set()
    names = []
    for path in paths:
        name, number = path, 1
        while name in taken or (number > 1 and name in first):
            number += 1
            name = f"{path}~{number}"
        taken.add(name)
        names.append(name)
    return names


def _open_bounded(stream: Any, name: str, kind: str, meter: Meter, stack: ExitStack) -> BinaryIO:
    """The stream under its limit; closing it closes what is on the stack."""
    bounded = _Bounded(stream, name, kind, meter, stack.pop_all().close)
    return cast(BinaryIO, io.BufferedReader(bounded, 1 << 16))


class _Bounded(ByteStream):
    """A decompressed stream that stops at the limit and names the file if its bytes are bad."""

    def __init__(
        self, stream: Any, name: str, kind: str, meter: Meter, release: Callable[[], None]
    ) -> None:
        super().__init__(release)
        self._stream = stream
        self._name = name
        self._kind = kind
        self._meter = meter
        self._position = 0

    def take(self, count: int) -> bytes:
        try:
            data = bytes(self._stream.read(count))
        except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as problem:
            reason = f"damaged {self._kind} data"
            raise UnreadableFile(self._name, reason, first_line_of(problem)) from None
        self._position += len(data)
        self._meter.reach(self._position)
        return data


def _decompress(file: BinaryIO, kind: str) -> Any:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)
    if kind == "bzip2":
        return bz2.BZ2File(file)
    if kind == "xz":
        return lzma.LZMAFile(file)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), kind)


def _without_ending(label: str, kind: str) -> str:
    endings = next(e for _, k, e in _STREAMS if k == kind)
    ending = next((e for e in endings if label.lower().endswith(e)), "")
    return label[: len(label) - len(ending)] or label


_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "parquet"),
    (b"PARE", "encrypted parquet"),
    (b"ARROW1", "arrow"),
    (b"FEA1", "feather version 1"),
    (b"ORC", "orc"),
    (b"Obj\x01", "avro"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
    (b"\xff\xff\xff\xff", "arrow stream"),
)
_NOT_TABLES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "PDF document"),
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"RIFF", "media file"),
    (b"\x7fELF", "program"),
    (b"MZ\x90", "program"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 file"),
    (b"{\\rtf", "RTF document"),
    (b"%!PS", "PostScript document"),
    (b"ID3", "media file"),
    (b"OggS", "media file"),
)
# Texts that are not tables, even with a comma in every line.
_NO_DATA_ENDINGS = (
    *(".md", ".rst", ".tex", ".bib", ".ipynb", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".xml"),
    *(".py", ".r", ".rmd", ".js", ".ts", ".css", ".scss", ".java", ".c", ".h", ".cpp", ".go"),
    *(".rs", ".sh", ".bat", ".sql", ".html", ".htm", ".svg", ".php", ".rb", ".pl", ".scala"),
)
_MARKUP = re.compile(
    rb"\s*(?:<\?xml\b|<!doctype\b|<html\b|<head\b|<body\b|<svg\b|<rss\b|<!--)", re.IGNORECASE
)
_JSON_START = re.compile(rb"\s*[\[{]")
_BOMS = (b"\xef\xbb\xbf",)


def recognise_format(head: bytes, label: str) -> str:
    """Recognise the format of a file from its first bytes and its name.

    Returns `csv`, `json`, `parquet`, `arrow`, `arrow stream`, `orc`, `avro`, `excel`,
    `sqlite`, `zip`, `empty`, or `not a table: ...` with what it is.

    >>> recognise_format(b"PAR1\\x15\\x04", "x.bin"), recognise_format(b'{"a":1}', "x")
    ('parquet', 'json')
    """
    if not head.strip(b"\x00 \t\r\n") and not head.startswith((b"\x00\x01",)):
        return "empty"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return _checked(kind, head, label)
    for magic, kind in _NOT_TABLES:
        if head.startswith(magic):
            return _unless_text(f"not a table: {kind}", head)
    if head[257:262] == b"ustar":
        return "not a table: tar archive"
    if label.lower().endswith(_NO_DATA_ENDINGS) and _is_text(head):
        return "not a table: program text or document"
    text = head[3:] if head.startswith(_BOMS) else head
    if _MARKUP.match(text):
        return "not a table: markup (HTML or XML)"
    if _JSON_START.match(text) and (label.lower().endswith(_JSON_ENDINGS) or _looks_json(text)):
        return "json"
    if label.lower().endswith(_JSON_ENDINGS) and _JSON_SCALAR.fullmatch(text):
        return "json"
    return "csv"


_JSON_ENDINGS = (".json", ".jsonl", ".ndjson", ".geojson")
_JSON_SCALAR = re.compile(rb'\s*(?:"[^"]*"|-?[\d.eE+-]+|true|false|null)\s*')


def _checked(kind: str, head: bytes, label: str) -> str:
    """Trust a magic number that could also start a text only if the rest is not text."""
    if kind in ("orc", "parquet") and _is_text(head):
        return kind if label.lower().endswith(f".{kind}") else "csv"
    if kind in ("encrypted parquet", "feather version 1"):
        return "csv" if _is_text(head) else f"not a table: {kind}"
    return kind


def _unless_text(answer: str, head: bytes) -> str:
    """`ID3,...` is a header line, not an MP3."""
    weak = head.startswith((b"ID3", b"RIFF", b"OggS", b"MZ"))
    return "csv" if weak and _is_text(head) else answer


def _is_text(head: bytes) -> bool:
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", head[:4096])


def _looks_json(text: bytes) -> bool:
    """Whether text that starts with a bracket continues like JSON."""
    return (
        re.match(rb'\s*(?:\{\s*(?:"|\})|\[\s*(?:[\[{"\]]|-?\d|true|false|null))', text) is not None
    )


def is_workbook(names: set[str]) -> bool:
    """Whether a zip archive with these members is an Excel or OpenDocument workbook.

    >>> is_workbook({"xl/workbook.xml"}), is_workbook({"a.csv"})
    (True, False)
    """
    excel = any(name.startswith("xl/workbook.") for name in names)
    return excel or {"mimetype", "content.xml", "META-INF/manifest.xml"} <= names
