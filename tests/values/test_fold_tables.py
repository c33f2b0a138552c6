"""The tables of the folding kernel say of every character what folding it alone gives."""

from __future__ import annotations

import unicodedata

from lakejoin.kernels.canonical_texts import UNSAFE, WHITE
from lakejoin.values.fold_tables import fold_tables


def fold(char: str) -> str:
    folded = unicodedata.normalize("NFD", char).casefold()
    return unicodedata.normalize("NFC", folded)


def test_every_character_has_its_replacement() -> None:
    tables = fold_tables()
    texts = tables.texts.tobytes()
    ends = tables.text_offsets.tolist()
    for point in range(128, len(tables.replacement)):
        char, kept = chr(point), int(tables.replacement[point])
        if 0xD800 <= point < 0xE000:
            assert kept == 0
        elif char.isspace():
            assert kept == WHITE
        else:
            text = texts[ends[kept] : ends[kept + 1]].decode() if kept else char
            assert text == fold(char), hex(point)


def test_every_character_that_composes_needs_care() -> None:
    care = fold_tables().care
    for point in range(128, len(care)):
        char = chr(point)
        mark = unicodedata.combining(char)
        if 0xD800 <= point < 0xE000 or char.isspace():
            continue
        if fold(char) == char and mark:
            assert care[point] in (mark, UNSAFE), hex(point)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            last = int(parts[1], 16)
            assert care[last] == UNSAFE, hex(last)
