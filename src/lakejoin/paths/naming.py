"""Decide by their names whether two columns identify the same kind of entity."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_IDENTIFIERS = frozenset(("id", "key", "no", "nr", "number", "num", "code", "ref", "pk", "fk"))
# A column with such a name numbers the rows of its own table.
_ROWS = frozenset(("row", "rowname", "rownum", "rowid", "rowno", "index", "idx", "unnamed"))
_IN_ES = ("ches", "shes", "sses", "xes", "zes")


def same_entity(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two entities have the same name, one of them perhaps with more words.

    >>> same_entity(entity_of("type_id", "cars"), entity_of("id", "types"))
    True
    >>> same_entity(entity_of("home_team_id", ""), entity_of("team", ""))
    True
    >>> same_entity(entity_of("type_id", "cars"), entity_of("car_id", "owners"))
    False
    """
    if not left or not right or left[-1] != right[-1]:
        return False
    return {*left} <= {*right} or {*right} <= {*left}


def entity_of(column: str, table: str) -> list[str]:
    """The entity that a column identifies: the words of its name; of its table's name if its own
    says only that it is an identifier, or that it numbers rows.

    >>> entity_of("city_id", "shops"), entity_of("id", "cities"), entity_of("id", "boxes")
    (['city'], ['city'], ['box'])
    >>> entity_of("row names", "cars"), entity_of("", "dog")
    (['car'], ['dog'])
    """
    words = [word for word in _words(column) if word not in _IDENTIFIERS]
    of_rows = _ROWS.issuperset(words) or "".join(words) in _ROWS
    return _words(table) if of_rows else words


def _words(name: str) -> list[str]:
    return [_singular(word.lower()) for word in _WORDS.findall(name)]


def _singular(word: str) -> str:
    """A rough singular; singular and plural only have to become the same word."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_IN_ES):
        return word[:-2]
    return word if word.endswith("ss") else word.removesuffix("s")
