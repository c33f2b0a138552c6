"""Do the names of two columns say that they hold the same things?"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_IDENTIFIERS = frozenset(("id", "key", "no", "nr", "number", "num", "code", "ref", "pk", "fk"))
# A column that is called so numbers the rows of its own table.
_ROWS = frozenset(("row", "rowname", "rownum", "rowid", "rowno", "index", "idx", "unnamed"))
_IN_ES = ("ches", "shes", "sses", "xes", "zes")


def of_one_thing(column: str, table: str, other: str, other_table: str) -> bool:
    """Whether the names of two columns, and of their tables, say that they number the same things.

    >>> of_one_thing("type_id", "cars", "id", "types"), of_one_thing("home_team_id", "", "team", "")
    (True, True)
    >>> of_one_thing("type_id", "cars", "car_id", "owners"), of_one_thing("id", "car", "id", "dog")
    (False, False)
    >>> of_one_thing("city_id", "shops", "id", "cities"), of_one_thing("id", "boxes", "box", "")
    (True, True)
    >>> of_one_thing("row names", "cars", "row names", "dogs"), of_one_thing("", "car", "", "dog")
    (False, False)
    """
    return same_thing(thing_of(column, table), thing_of(other, other_table))


def same_thing(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether two things are called the same, one of them perhaps by more words."""
    if not mine or not theirs or mine[-1] != theirs[-1]:
        return False
    return {*mine} <= {*theirs} or {*theirs} <= {*mine}


def thing_of(column: str, table: str) -> list[str]:
    """What a column numbers: the words of its name, or of its table's where it says only that it
    numbers, or that it numbers rows."""
    words = [word for word in _words(column) if word not in _IDENTIFIERS]
    of_rows = _ROWS.issuperset(words) or "".join(words) in _ROWS
    return _words(table) if of_rows else words


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORDS.findall(name)]


def _singular(word: str) -> str:
    """A word as it is written of one thing; what matters is that one and many are the same."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_IN_ES):
        return word[:-2]
    return word if word.endswith("ss") else word.removesuffix("s")
