"""Detect the character set of a text, and decode it to UTF-8."""

from __future__ import annotations

import codecs
import io
import re
import threading
from dataclasses import dataclass
from typing import BinaryIO

from lakejoin.formats.table_stream import ByteStream
from lakejoin.values.plain_columns import Losses

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_UNDEFINED_1252 = bytes((0x81, 0x8D, 0x8F, 0x90, 0x9D))


@dataclass(frozen=True, slots=True)
class Charset:
    """A character set by its Python name, and the confidence in it (0..1)."""

    name: str
    confidence: float


def detect_charset(sample: bytes, whole: bool = True) -> Charset:
    """Detect the character set of a text from its first bytes; `whole` if nothing follows them.

    A byte order mark decides. Without one, UTF-16 shows by NUL bytes at even or odd positions,
    UTF-8 by being valid; everything else is Windows-1252, or Latin-1 if 1252 lacks a byte.

    >>> detect_charset("é;è".encode("cp1252")).name, detect_charset("é".encode()).name
    ('cp1252', 'utf-8')
    >>> detect_charset("a,b".encode("utf-16-be")).name
    'utf-16-be'
    """
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return Charset(name, 1.0)
    if b"\x00" in sample:
        wide = _utf16_without_mark(sample)
        if wide is not None:
            return wide
    if sample.isascii():
        return Charset("utf-8", 1.0)
    good, bad = _utf8_evidence(sample, whole)
    if not bad:
        return Charset("utf-8", 1.0)
    if good >= bad:
        return Charset("utf-8", 0.5 + 0.5 * (good - bad) / (good + bad))
    if any(byte in sample for byte in _UNDEFINED_1252):
        return Charset("latin-1", 0.5)
    return Charset("cp1252", 0.9 if not good else 0.6)


def _utf16_without_mark(sample: bytes) -> Charset | None:
    """Latin text in UTF-16 has NUL bytes at every second position and almost nowhere else."""
    even, odd = sample[0::2], sample[1::2]
    half = max(1, len(odd))
    zeros_even, zeros_odd = even.count(0) / half, odd.count(0) / half
    if zeros_odd > 0.3 and zeros_even < 0.05:
        return Charset("utf-16-le", zeros_odd)
    if zeros_even > 0.3 and zeros_odd < 0.05:
        return Charset("utf-16-be", zeros_even)
    return None


_WIDE_UTF8 = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CUT_UTF8 = re.compile(rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})\Z")


def _utf8_evidence(sample: bytes, whole: bool) -> tuple[int, int]:
    """Count the valid UTF-8 characters beyond ASCII, and the bytes that are not UTF-8."""
    try:
        text = sample.decode("utf-8")
        return len(sample) - len(text), 0
    except UnicodeDecodeError:
        pass
    rest, good = _WIDE_UTF8.subn(b"", sample)
    if not whole:
        rest = _CUT_UTF8.sub(b"", rest)
    return good, sum(1 for byte in rest if byte > 127)


# -- decoding ---------------------------------------------------------------------------------


_repaired = threading.local()


def _repair(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeDecodeError):
        raise problem
    wrong = problem.object[problem.start : problem.end]
    _repaired.count = getattr(_repaired, "count", 0) + len(wrong)
    text = "".join(chr(b) if b in _UNDEFINED_1252 else bytes((b,)).decode("cp1252") for b in wrong)
    return text, problem.end


codecs.register_error("lakejoin-mend", _repair)


class Decoder:
    """Convert the blocks of a file to UTF-8 bytes without NUL, counting what was repaired.

    >>> losses = Losses(); decoder = Decoder("cp1252", losses)
    >>> decoder.utf8(b"caf\\xe9", final=True)
    b'caf\\xc3\\xa9'
    """

    def __init__(self, charset: str, losses: Losses) -> None:
        self._losses = losses
        self._utf8 = charset in ("utf-8", "utf-8-sig")
        self._has_pending = charset == "utf-8-sig"
        errors = "lakejoin-mend" if self._utf8 or charset == "cp1252" else "replace"
        self._decoder = codecs.getincrementaldecoder(charset)(errors)

    def utf8(self, block: bytes, final: bool = False) -> bytes:
        # ASCII bypasses the decoder unless that holds a cut character or byte order mark.
        if self._utf8 and not self._has_pending and block.isascii():
            data = block
        else:
            data = self._decoded(block, final)
        if b"\x00" in data:
            self._losses.add("NUL byte removed", data.count(0))
            data = data.replace(b"\x00", b"")
        return data

    def _decoded(self, block: bytes, final: bool) -> bytes:
        _repaired.count = 0
        text = self._decoder.decode(block, final)
        self._has_pending = bool(self._decoder.getstate()[0])
        if self._utf8:
            self._losses.add("byte is not UTF-8 and was read as Windows-1252", _repaired.count)
        elif "\ufffd" in text:
            self._losses.add("character that cannot be decoded", text.count("\ufffd"))
        return text.encode("utf-8", "replace")


class Utf8Blocks:
    """A file of any character set as large blocks of UTF-8 bytes, with few copies.

    >>> blocks = Utf8Blocks(io.BytesIO("é,b".encode("cp1252")), "cp1252", Losses())
    >>> blocks.skip(3)
    >>> blocks.read(100), blocks.read(100)
    (b'b', b'')
    """

    def __init__(self, file: BinaryIO, charset: str, losses: Losses) -> None:
        self._file = file
        self._decoder = Decoder(charset, losses)
        self._ready = b""
        self._ended = False

    def read(self, count: int) -> bytes:
        """The next bytes, about `count`; empty only at the end."""
        data, self._ready = self._ready, b""
        while not data and not self._ended:
            block = bytes(self._file.read(count))
            self._ended = not block
            data = self._decoder.utf8(block, final=self._ended)
        return data

    def skip(self, count: int) -> None:
        while count > 0:
            data = self.read(max(count, 1 << 16))
            if not data:
                return
            self._ready = data[count:]
            count -= len(data)


class _Utf8Stream(ByteStream):
    def __init__(self, file: BinaryIO, charset: str, losses: Losses) -> None:
        super().__init__(file.close)
        self._blocks = Utf8Blocks(file, charset, losses)
        self._ready = b""

    def take(self, count: int) -> bytes:
        ready = self._ready or self._blocks.read(max(4096, count))
        self._ready = ready[count:]
        return ready[:count]


def text_stream(file: BinaryIO, charset: str, losses: Losses) -> io.TextIOWrapper:
    raw = io.BufferedReader(_Utf8Stream(file, charset, losses), 1 << 18)
    return io.TextIOWrapper(raw, encoding="utf-8", newline=None)


def decode_text(data: bytes, charset: str, losses: Losses) -> str:
    return Decoder(charset, losses).utf8(data, final=True).decode("utf-8")
