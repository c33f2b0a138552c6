"""The Unicode tables of the folding kernel.

Folding is NFC(casefold(NFD(text))), which is idempotent. Done one code point at a time, it is
correct wherever Unicode's quick check proves the result to be composed. `care` holds that check:
0 is harmless, 1..240 is a combining class (these must not decrease within a run), `UNSAFE` is a
code point that may compose with its neighbours or whose folding depends on them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lakejoin.values.text_arrays import read_only

if TYPE_CHECKING:
    import numpy as np

# Beyond, only compatibility ideographs are ever folded; the kernel knows their range.
_END = 0x20000
_BLOCK = 128
_UNCHANGING = range(0xAC00, 0xE000)  # syllables, which compose again, and surrogates
_IOTA_BELOW = "\u0345"


@dataclass(frozen=True, slots=True)
class FoldTables:
    """Flat arrays for `kernels/canonical_texts.py`: replacement k starts at `text_offsets[k]`."""

    replacement: np.ndarray[Any, Any]
    care: np.ndarray[Any, Any]
    text_offsets: np.ndarray[Any, Any]
    texts: np.ndarray[Any, Any]


@cache
def fold_tables() -> FoldTables:
    """The tables of this Python's Unicode version, built once (about 40 ms)."""
    import numpy as np

    from lakejoin.kernels.canonical_texts import UNSAFE, WHITE

    replacement = np.zeros(_END, np.int16)
    care = np.zeros(_END, np.uint8)
    texts: dict[str, int] = {"": 0}
    changing = _changing_chars()
    composing = _composing(changing)
    for char in sorted({*changing, *composing}):
        point = ord(char)
        if char.isspace():
            replacement[point] = WHITE
            continue
        if not (
            unicodedata.combining(char)
            or unicodedata.decomposition(char)
            or char.casefold() != char
            or char in composing
        ):
            continue
        decomposed = unicodedata.normalize("NFD", char)
        folded = unicodedata.normalize("NFC", decomposed.casefold())
        if folded != char:
            replacement[point] = texts.setdefault(folded, len(texts))
        if _unsafe(decomposed, folded, composing):
            care[point] = UNSAFE
        elif len(folded) == 1:
            care[point] = unicodedata.combining(folded)
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    joined = np.frombuffer(b"".join(encoded), np.uint8)
    return FoldTables(
        read_only(replacement), read_only(care), read_only(offsets), read_only(joined)
    )


def _changing_chars() -> list[str]:
    """The characters of all blocks in which one folds, decomposes, combines or is white."""
    found: list[str] = []
    for begin in range(128, _END, _BLOCK):
        if begin in _UNCHANGING:
            continue
        block = "".join(map(chr, range(begin, begin + _BLOCK)))
        if (
            block.casefold() != block
            or not unicodedata.is_normalized("NFD", block)
            or any(map(unicodedata.combining, block))
            or "".join(block.split()) != block
        ):
            found += block
    return found


def _composing(changing: Iterable[str]) -> frozenset[str]:
    """The characters that may compose with a preceding one."""
    chars = {chr(point) for point in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for char in changing:
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            chars.add(chr(int(parts[1], 16)))
    return frozenset(chars)


def _unsafe(decomposed: str, folded: str, composing: frozenset[str]) -> bool:
    """Whether a character cannot be folded without its neighbours."""
    combining = unicodedata.combining
    if _IOTA_BELOW in decomposed or not unicodedata.is_normalized("NFC", folded):
        return True
    if any(char in composing for char in folded):
        return True
    if len(folded) > 1 and any(combining(char) for char in folded):
        return True
    # Marks must fold to themselves and letters to letters, or their order would change.
    return any(
        char.casefold() != char if combining(char) else any(map(combining, char.casefold()))
        for char in decomposed
    )


@cache
def empty_tables() -> FoldTables:
    import numpy as np

    kinds = (np.int16, np.uint8, np.int32, np.uint8)
    return FoldTables(*(read_only(np.zeros(0, kind)) for kind in kinds))
