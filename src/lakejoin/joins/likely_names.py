"""Do the names of two columns say that they hold the same thing?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
# Words that say what kind of a thing a value is, and not of what.
_IDENTIFIES = frozenset(("id", "ids", "key", "no", "nr", "number", "code", "uuid", "guid", "ref"))
_SAYS_NOTHING = _IDENTIFIES | frozenset((
    "name", "names", "value", "values", "column", "col", "field", "index", "idx", "row", "rows",
    "unnamed", "num", "type", "kind", "label", "title", "text", "date", "time", "updated",
    "update", "created", "last", "at", "the", "of", "in", "a", "an", "pk", "fk", "x", "y", "record",
))  # fmt: skip
SAME, CONTAINED, VAGUE, DIFFERENT = 1.0, 0.7, 0.3, 0.0


@dataclass(frozen=True, slots=True)
class NamesAlike:
    """How alike two names are, 0 to 1, and whether both are names of identifiers (`film_no`).

    `are_ids` says that both have the word id in them.
    """

    alike: float
    identify: bool
    are_ids: bool = False

    @property
    def say_identifier(self) -> bool:
        """Whether the names alone say that the columns are one identifier."""
        return self.alike >= CONTAINED and self.identify


def names_alike(left: str, right: str, left_table: str = "", right_table: str = "") -> NamesAlike:
    """How alike the names of two columns are; the tables' names help where they are known.

    >>> names_alike("film_id", "FilmID")
    NamesAlike(alike=1.0, identify=True, are_ids=True)
    >>> names_alike("home_team_id", "team_id").alike, names_alike("id", "ID").alike
    (0.7, 0.3)
    >>> names_alike("film_id", "id", right_table="films").alike
    1.0
    """
    mine, theirs = _words(left), _words(right)
    ways = {(mine, theirs)}
    if right_table and not set(theirs) - _SAYS_NOTHING:
        ways.add((mine, _words(right_table) + theirs))
    if left_table and not set(mine) - _SAYS_NOTHING:
        ways.add((_words(left_table) + mine, theirs))
    alike = max(_alike(frozenset(a), frozenset(b)) for a, b in ways)
    words = set(mine), set(theirs)
    identify = all(bool(each & _IDENTIFIES) for each in words)
    return NamesAlike(alike, identify, all("id" in each for each in words))


def _alike(mine: frozenset[str], theirs: frozenset[str]) -> float:
    both = mine & theirs
    telling = both - _SAYS_NOTHING
    if mine == theirs and mine:
        return SAME if telling else VAGUE
    if telling == mine - _SAYS_NOTHING or telling == theirs - _SAYS_NOTHING:
        return CONTAINED if telling else VAGUE if both else DIFFERENT
    return DIFFERENT


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters and without an s at the end."""
    return tuple(_singular(word.lower()) for word in _WORDS.findall(name))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word
