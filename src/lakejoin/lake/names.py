"""Column names that can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 200


def unique_names(raw: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names made unique and non-empty, and a note for each that was changed.

    An empty name becomes `column_` and its place counted from one; a name seen before gets the
    first free number. Blanks around a name and line ends inside it go, and so does what is beyond
    200 characters.

    >>> unique_names(["a", "", "a", "b "])[0]
    ('a', 'column_2', 'a_2', 'b')
    """
    clean = [_clean(name) if name else "" for name in raw]
    taken = {name for name in clean if name}
    used: set[str] = set()
    names: list[str] = []
    notes: list[str] = []
    next_number: dict[str, int] = {}
    for place, name in enumerate(clean, start=1):
        if name and name not in used:
            chosen = name
        else:
            base = name or f"column_{place}"
            number = next_number.get(base, 2)
            chosen = base
            while chosen in used or chosen in taken:
                chosen = f"{base}_{number}"
                number += 1
            next_number[base] = number
            if name:
                notes.append(f"column {place} repeats the name {name!r} and is called {chosen!r}")
            else:
                notes.append(f"column {place} had no name and is called {chosen!r}")
        used.add(chosen)
        names.append(chosen)
    return tuple(names), tuple(notes)


def _clean(name: str) -> str:
    plain = " ".join(name[:_LONGEST].replace("\0", "").split())
    return plain.encode("utf-8", "replace").decode()  # JSON can spell half characters


def numbered_names(count: int) -> tuple[str, ...]:
    """Names for the columns of a table without a header, told apart from `column_2`, which stands
    for a name that a header left out.

    >>> numbered_names(2)
    ('col_0', 'col_1')
    """
    return tuple(f"col_{place}" for place in range(count))
