"""Find where the records of a cut begin, from the cut alone or from the whole file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lakejoin.formats.blob import Blob
from lakejoin.formats.delimited.grammar import (
    Grammar,
    first_record,
    quote_positions,
    quotes_are_regular,
    record_end,
    regular_quotes,
    tokenize,
)
from lakejoin.formats.json_files import parse_lines
from lakejoin.formats.json_values import collect_keys
from lakejoin.formats.ranges import ByteRange, open_range
from lakejoin.model import ReadLimits

_BLOCK = 8 << 20


@dataclass(frozen=True, slots=True)
class CutScan:
    """What scanning one cut shows.

    `first` is where its first record begins if the cut starts outside or inside a quoted cell
    (None if no record begins in it), `regular` whether its quotes are regular in that case, `odd`
    whether its number of quotes is odd. `keys` are the keys of JSON Lines, in order.
    """

    first: tuple[int | None, int | None] = (None, None)
    regular: tuple[bool, bool] = (True, True)
    odd: bool = False
    keys: tuple[str, ...] = ()


# -- scanning ---------------------------------------------------------------------------------


def scan_json_lines(blob: Blob, cut: ByteRange) -> CutScan:
    """Collect the keys of the JSON Lines in a cut."""
    keys: dict[str, None] = {}
    for block in _line_blocks(Blob(blob.name, blob.label, lambda: open_range(blob, cut))):
        values, _ = parse_lines(block)
        collect_keys(values, keys)
    return CutScan(keys=tuple(keys))


def _line_blocks(blob: Blob) -> Iterator[list[str]]:
    with blob.open() as file:
        carry = b""
        while block := file.read(_BLOCK):
            data = carry + block
            end = data.rfind(b"\n") + 1
            carry = data[end:]
            yield data[:end].decode("utf-8", "replace").split("\n")
        if carry:
            yield [carry.decode("utf-8", "replace")]


def scan_quotes(blob: Blob, cut: ByteRange, grammar: Grammar) -> CutScan:
    """Scan a cut in blocks of whole lines, under both assumptions about its start."""
    odd = False
    regular = [True, True]
    first: list[int | None] = [cut.start, None]
    with open_range(blob, cut) as file:
        carry, base = b"", cut.start
        while True:
            block = file.read(_BLOCK)
            data = carry + block
            end = len(data) if not block else data.rfind(b"\n") + 1
            lines = data[:end]
            if lines:
                array = np.frombuffer(lines, np.uint8)
                quotes = quote_positions(array, grammar)
                outside, inside = regular_quotes(array, grammar, quotes)
                regular[0] &= inside if odd else outside
                regular[1] &= outside if odd else inside
                if first[1] is None:
                    begin = first_record(lines, grammar, inside=not odd)
                    first[1] = None if begin is None else base + begin
                odd ^= quotes.size % 2 == 1
            base += end
            carry = data[end:]
            if not block:
                return CutScan((first[0], first[1]), (regular[0], regular[1]), odd)


# -- where records begin ----------------------------------------------------------------------


def starts_by_parity(cuts: Sequence[ByteRange], scans: Sequence[CutScan]) -> list[int] | None:
    """Record starts at or after each cut; None if a quote is irregular."""
    starts: list[int] = []
    inside = False
    for cut, scan in zip(cuts, scans, strict=True):
        if not scan.regular[inside]:
            return None
        first = scan.first[inside]
        if first is not None and first < cut.end:
            starts.append(first)
        inside ^= scan.odd
    return None if inside else starts


def starts_by_reading(
    blob: Blob, cuts: Sequence[ByteRange], grammar: Grammar, limits: ReadLimits
) -> list[int]:
    """The same by reading all records in order, exactly as the whole file is read."""
    pending = [cut.start for cut in cuts[1:]]
    starts = [cuts[0].start]
    whole = ByteRange(cuts[0].start, cuts[-1].end)
    with open_range(blob, whole) as file:
        carry, base = b"", whole.start
        while True:
            block = file.read(limits.batch_bytes)
            data = carry + block
            final = not block
            used, record_starts = _records(data, grammar, final, 2 * limits.batch_bytes)
            for start in record_starts + base:
                if pending and start >= pending[0] and start < whole.end:
                    starts.append(int(start))
                    pending = [cut for cut in pending if cut > start]
            base += used
            carry = data[used:]
            if final:
                return starts


def _records(
    data: bytes, grammar: Grammar, final: bool, reach: int
) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """How many bytes the complete records take, and positions where a record begins."""
    cut = len(data) if final else record_end(data, grammar)
    if cut and grammar.simple and quotes_are_regular(np.frombuffer(data, np.uint8, cut), grammar):
        return cut, np.array([cut], dtype=np.int64)
    tokens = tokenize(data, grammar, final, reach)
    return tokens.used, tokens.row_start.astype(np.int64)
