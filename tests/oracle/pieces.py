"""Pieces by plain Python: texts are taken apart with regular expressions, columns are compared one
by one without samples. Everything here is slow and obvious on purpose.

A piece is a text, or a tuple for what has no order; `number_of` is its hash.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_WORD = (1 << 64) - 1
_K1, _K2, _K3 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_SEED = 0x2545F4914F6CDD1D
_MONTHS = re.findall(
    "[a-z]+",
    "january february march april may june july august september october november december",
)
_RUN = re.compile(r"[0-9]+|[^0-9 \x01]+")

Piece = str | tuple[str, ...] | tuple[int, ...]


def mix(h: int, word: int) -> int:
    """One word folded into a hash."""
    h = (h ^ (word * _K1)) * _K2 & _WORD
    return (h << 29 | h >> 35) & _WORD


def finish(h: int) -> int:
    """Its last step."""
    h ^= h >> 32
    h = h * _K1 & _WORD
    h ^= h >> 29
    h = h * _K3 & _WORD
    return h ^ h >> 32


def number_of(piece: Piece) -> int:
    """The hash of a piece."""
    if isinstance(piece, str):
        h = _SEED
        for character in piece:
            h = mix(h, ord(character))
    elif isinstance(piece[0], str):
        low, high = sorted(number_of(str(word)) for word in piece)
        h = mix(low, high)
    else:
        least, other, year = sorted(map(int, piece))
        h = mix(mix(_SEED, year), 32 * least + other)
    return finish(h) or 1


def rank_of(piece: Piece) -> int:
    """By which pieces are chosen."""
    return number_of(piece) * 0xD6E8FEB86659FD93 & _WORD


def _characters(text: str) -> str:
    """Letters without accents and digits as they are, blanks, and \\x01 for every sign."""
    found = []
    for character in text:
        point = ord(character)
        if point < 592:
            base = unicodedata.normalize("NFD", character)[0].lower()
            base = dict(zip("øłđı", "oldi", strict=True)).get(base, base)
            if character.isspace():
                found.append(" ")
            elif re.fullmatch("[0-9]", base) or unicodedata.category(base)[0] == "L":
                found.append(base)
            else:
                found.append("\x01")
        elif 0x300 <= point < 0x370:
            continue
        elif point == 0x3000:
            found.append(" ")
        elif 0x2000 <= point < 0x2C00 or 0x3000 < point < 0x3040 or 0xFE10 <= point < 0xFE70:
            found.append("\x01")
        else:
            found.append(character)
    return "".join(found[:256])


def _squeezed(text: str) -> str:
    return re.sub(r"(?<![0-9])0+", "", re.sub(r"[ \x01]", "", text))


def _part_of_date(run: str) -> int:
    if run.isascii() and run.isdigit():
        return int(run) if len(run) <= 4 else 0
    for month, name in enumerate(_MONTHS, 1):
        if run in (name, name[:3]) or (run == "sept" and month == 9):
            return month
    return 0


def pieces_of(text: str) -> set[Piece]:
    """The pieces of a text."""
    text = _characters(text)
    runs = list(_RUN.finditer(text))
    texts = [run.group() for run in runs]
    squeezed = [
        *texts,
        *re.findall(r"[0-9]+(?:\x01[0-9]+)+", text),
        *text.split(" "),
        text,
        *(text[a.start() : b.end()] for a, b in pairwise(runs)),
    ]
    found: set[Piece] = {piece for piece in map(_squeezed, squeezed) if len(piece) >= 2}
    for a, b in pairwise(texts):
        if min(len(a), len(b)) >= 2 and not re.match("[0-9]", a) and not re.match("[0-9]", b):
            found.add((a, b) if number_of(a) <= number_of(b) else (b, a))
    for three in zip(runs, runs[1:], runs[2:], strict=False):
        near = all(b.start() - a.end() <= 2 for a, b in pairwise(three))
        least, other, year = sorted(_part_of_date(run.group()) for run in three)
        if near and 1 <= least <= 12 and other <= 31 and 1000 <= year <= 2999:
            found.add((least, other, year))
    for run in texts:
        run = run.lstrip("0") if re.match("[0-9]", run) else run
        grams = [run[i : i + 5] for i in range(len(run) - 4)] if len(run) > 5 else []
        found |= {gram for gram in grams if number_of(gram) >> 40 & 3 == 0}
    return found


def rare_pieces(values: Iterable[str]) -> dict[Piece, list[str]]:
    """The pieces that at most two of some distinct values hold, and these values."""
    holders: dict[Piece, list[str]] = defaultdict(list)
    for value in values:
        for piece in pieces_of(value):
            holders[piece].append(value)
    return {piece: held for piece, held in holders.items() if len(held) <= 2}


@dataclass(frozen=True)
class Worth:
    """What a column shares with mine."""

    asked: int
    met: int
    nats: float


def worths(
    mine: Collection[str], columns: Mapping[tuple[int, int], Collection[str]]
) -> dict[tuple[int, int], Worth]:
    """What each column is worth, by all its rare pieces; columns that share none are left out, and
    those that hold nearly as many of my values as they are."""
    own = rare_pieces(mine)
    rare = {key: set(rare_pieces(values)) for key, values in columns.items()}
    weight = {
        piece: math.log((100 + len(columns)) / max(1, sum(piece in some for some in rare.values())))
        for piece in own
    }
    having = {value for held in own.values() for value in held}
    asked = len(having)
    found = {}
    for key, some in rare.items():
        best: dict[str, float] = {}
        for piece in own.keys() & some:
            for value in own[piece]:
                best[value] = max(best.get(value, 0.0), weight[piece])
        if len(best) > 1.25 * len(having & set(columns[key])):
            q = len(best) / asked
            entropy = 0.0 if q == 1 else -q * math.log(q) - (1 - q) * math.log(1 - q)
            found[key] = Worth(asked, len(best), sum(best.values()) - asked * entropy)
    return found


def partners(mine: Sequence[str], theirs: Sequence[str]) -> dict[tuple[int, int], float]:
    """The pairs of values that share a rare piece, with 1 / (n m) added up over the pieces; of a
    value's partners only the best. Values may repeat: each stands for itself."""
    held: list[dict[Piece, list[int]]] = []
    for side in (mine, theirs):
        holders: dict[Piece, list[int]] = defaultdict(list)
        for number, value in enumerate(side):
            for piece in pieces_of(value):
                holders[piece].append(number)
        held.append({piece: some for piece, some in holders.items() if len(some) <= 2})
    pairs: dict[tuple[int, int], float] = defaultdict(float)
    for piece in held[0].keys() & held[1].keys():
        for i in held[0][piece]:
            for j in held[1][piece]:
                pairs[i, j] += 1 / (len(held[0][piece]) * len(held[1][piece]))
    best: dict[int, float] = defaultdict(float)
    for (i, _), score in pairs.items():
        best[i] = max(best[i], score)
    return {pair: score for pair, score in pairs.items() if score > best[pair[0]] - 1e-9}
