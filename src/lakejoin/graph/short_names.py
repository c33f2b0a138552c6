"""Shorten table names while keeping them distinct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile


def shorten_names(names: Sequence[str], longest: int) -> list[str]:
    """The last parts of each path, as many as needed to be distinct; long names lose their middle.

    >>> shorten_names(["a/2005/eng.csv", "a/2006/eng.csv", "b/x.csv"], 20)
    ['2005/eng.csv', '2006/eng.csv', 'x.csv']
    >>> shorten_names(["a-very-long-name-indeed.csv"], 12)
    ['a-very…d.csv']
    >>> shorten_names(["all-of-them-begin-one-and-end.csv", "all-of-them-begin-two-and-end.csv"], 12)
    ['…one…', '…two…']
    """
    parts = [name.split("/") for name in names]
    short = [""] * len(names)
    left = list(range(len(names)))
    depth = 1
    while left:
        tails = {n: "/".join(parts[n][-depth:]) for n in left}
        count = Counter(tails.values())
        for n in left:
            short[n] = tails[n]
        left = [n for n in left if count[tails[n]] > 1 and depth < len(parts[n])]
        depth += 1
    return _distinct(short, [cut_middle(name, longest) for name in short], longest)


def _distinct(names: Sequence[str], cut: Sequence[str], longest: int) -> list[str]:
    """Names that became equal by being cut show where they differ instead."""
    alike: dict[str, list[int]] = {}
    for n, name in enumerate(cut):
        alike.setdefault(name, []).append(n)
    distinct = list(cut)
    for group in alike.values():
        whole = [names[n] for n in group]
        if len(set(whole)) > 1:
            begin = _common(whole)
            end = _common([name[begin:][::-1] for name in whole])
            for n in group:
                rest = names[n][begin : len(names[n]) - end]
                distinct[n] = f"…{cut_middle(rest, longest - 2)}…"
    return distinct


def _common(names: Sequence[str]) -> int:
    """How many letters all names start with."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return sum(1 for _ in same)


def cut_middle(name: str, longest: int) -> str:
    """Shorten a name to at most `longest` letters."""
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}…{name[-end:]}"
