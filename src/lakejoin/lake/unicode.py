"""The Unicode tables of the folding kernel: what a code point becomes, and what to be careful of.

Folding is NFC(casefold(NFD(text))), which is idempotent. Done a code point at a time it is right
wherever Unicode's quick check proves the outcome to be composed; `care` carries that check:
0 is harmless, 1..240 is a combining class (they must not fall within a run), `UNSAFE` is a code
point that may compose with its neighbours or whose folding depends on them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lakejoin.lake.texts import sealed

if TYPE_CHECKING:
    import numpy as np

# Beyond, only compatibility ideographs are ever folded; the kernel knows their range.
_END = 0x20000
_SURROGATES = range(0xD800, 0xE000)
_IOTA_BELOW = "\u0345"


@dataclass(frozen=True, slots=True)
class FoldTables:
    """Flat arrays for `kernels.fold`: piece k starts at `piece_offsets[k]` of `pieces`."""

    replacement: np.ndarray[Any, Any]
    care: np.ndarray[Any, Any]
    piece_offsets: np.ndarray[Any, Any]
    pieces: np.ndarray[Any, Any]


def fold(text: str) -> str:
    """The folding that the kernel does, for one text.

    >>> fold("  Straße\\u00a0 8"), fold("E\\u0301cole")
    ('strasse 8', 'école')
    """
    folded = unicodedata.normalize("NFD", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


@cache
def fold_tables() -> FoldTables:
    """The tables of this Python's Unicode version, made once (about 0.1 s)."""
    import numpy as np

    from lakejoin.kernels.fold import UNSAFE, WHITE

    replacement = np.zeros(_END, np.int16)
    care = np.zeros(_END, np.uint8)
    pieces: dict[str, int] = {"": 0}
    composing = _composing()
    for point in range(128, _END):
        if point in _SURROGATES:
            continue
        char = chr(point)
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
        apart = unicodedata.normalize("NFD", char)
        folded = unicodedata.normalize("NFC", apart.casefold())
        if folded != char:
            replacement[point] = pieces.setdefault(folded, len(pieces))
        if _unsafe(apart, folded, composing):
            care[point] = UNSAFE
        elif len(folded) == 1:
            care[point] = unicodedata.combining(folded)
    encoded = [piece.encode() for piece in pieces]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(piece) for piece in encoded], out=offsets[1:])
    joined = np.frombuffer(b"".join(encoded), np.uint8)
    return FoldTables(sealed(replacement), sealed(care), sealed(offsets), sealed(joined))


def _composing() -> frozenset[str]:
    """The characters that may compose with one before them."""
    found = {chr(point) for point in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for point in range(128, _END):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(chr(int(parts[1], 16)))
    return frozenset(found)


def _unsafe(apart: str, folded: str, composing: frozenset[str]) -> bool:
    """Whether a character (decomposed: `apart`) cannot be folded without seeing its neighbours."""
    combining = unicodedata.combining
    if _IOTA_BELOW in apart or not unicodedata.is_normalized("NFC", folded):
        return True
    if any(char in composing for char in folded):
        return True
    if len(folded) > 1 and any(combining(char) for char in folded):
        return True
    # Marks must fold to themselves and letters to letters, or folding would disturb their order.
    return any(
        char.casefold() != char if combining(char) else any(map(combining, char.casefold()))
        for char in apart
    )


@cache
def no_tables() -> FoldTables:
    """Empty tables, for texts that are all ASCII: nothing is looked up in them."""
    import numpy as np

    kinds = (np.int16, np.uint8, np.int32, np.uint8)
    return FoldTables(*(sealed(np.zeros(0, kind)) for kind in kinds))
