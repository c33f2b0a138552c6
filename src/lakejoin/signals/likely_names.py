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
# Ends of words that are written together: custkey, productcode, orderid.
_ENDS = ("key", "code", "id")
_SHORT = 2  # letters that say nothing: c_custkey and o_custkey are the customer's key
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
    >>> names_alike("film_id", "id", right_table="films").alike, names_alike("warno", "WarNo").alike
    (1.0, 1.0)
    """
    mine, theirs = _words(left), _words(right)
    if left.casefold() == right.casefold():  # warno and WarNo: one is written so that words show
        mine = theirs = max(mine, theirs, key=len)
    ways = {(mine, theirs)}
    if right_table and not _telling(frozenset(theirs)):
        ways.add((mine, _words(right_table) + theirs))
    if left_table and not _telling(frozenset(mine)):
        ways.add((_words(left_table) + mine, theirs))
    alike = max(_alike(frozenset(a), frozenset(b)) for a, b in ways)
    words = set(mine), set(theirs)
    identify = all(any(map(_identifies, each)) for each in words)
    return NamesAlike(alike, identify, all("id" in each for each in words))


def telling_words(name: str) -> frozenset[str]:
    """The words of a name that say of what a value is.

    >>> sorted(telling_words("FilmActor_id")), telling_words("key_id")
    (['actor', 'film'], frozenset())
    """
    return _telling(frozenset(_words(name)))


def identifies(column: str) -> bool:
    """Whether a name is one of an identifier.

    >>> identifies("film_no"), identifies("custkey"), identifies("title")
    (True, True, False)
    """
    return any(map(_identifies, _words(column)))


def is_named_for(column: str, table: str) -> bool:
    """Whether a column's name says nothing but what the table is about.

    >>> is_named_for("film_name", "films"), is_named_for("director_name", "films")
    (True, False)
    """
    told, about = (_telling(frozenset(_words(name))) for name in (column, table))
    of = {one for word in told for one in about if _abbreviates(_stem(word), one)}
    return not told or (len(of) == len(about) and len(told) <= len(about))


def hints_at(column: str, table: str) -> bool:
    """Whether a column's name has all words of a table's name, or what is short for them.

    >>> hints_at("ShipVia", "Shippers"), hints_at("reports_to", "employees")
    (True, False)
    """
    told, about = (_telling(frozenset(_words(name))) for name in (column, table))
    return bool(about) and all(any(_abbreviates(_stem(w), one) for w in told) for one in about)


def _abbreviates(short: str, word: str) -> bool:
    """Whether a word is another one, or some of its letters in their order, the first among them.

    >>> _abbreviates("dept", "department"), _abbreviates("part", "department")
    (True, False)
    """
    if short == word:
        return True
    if len(short) <= _SHORT or short[0] != word[0]:
        return False
    letters = iter(word)
    return all(letter in letters for letter in short)


def _stem(word: str) -> str:
    """The word without an end that only says that it identifies: custkey."""
    ends = (end for end in _ENDS if word.endswith(end) and len(word) > len(end) + _SHORT)
    return word.removesuffix(next(ends, ""))


def _alike(mine: frozenset[str], theirs: frozenset[str]) -> float:
    both = mine & theirs
    telling = _telling(both)
    if telling and _telling(mine) == _telling(theirs):
        return SAME
    if telling and telling in (_telling(mine), _telling(theirs)):
        return CONTAINED
    return VAGUE if both and not (_telling(mine) and _telling(theirs)) else DIFFERENT


def _telling(words: frozenset[str]) -> frozenset[str]:
    """The words that say of what a value is."""
    return frozenset(
        word
        for word in words
        if word not in _SAYS_NOTHING and len(word) > _SHORT and not word.isdigit()
    )


def _identifies(word: str) -> bool:
    return word in _IDENTIFIES or (len(word) > 4 and word.endswith(_ENDS))


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
