"""Recognise the format of a file by its first bytes; its name only breaks ties."""

from __future__ import annotations

import re

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
            return _unless_text(f"not a table: {kind}", head, label)
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


def _unless_text(answer: str, head: bytes, label: str) -> str:
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
    if any(name.startswith("xl/workbook.") for name in names):
        return True
    return {"mimetype", "content.xml", "META-INF/manifest.xml"} <= names
