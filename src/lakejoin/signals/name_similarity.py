"""Compare the names of two columns: do they suggest the same content?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
# Words that only say that a value is an identifier, not of what.
_ID_WORDS = frozenset(("id", "ids", "key", "no", "nr", "number", "code", "uuid", "guid", "ref"))
_GENERIC_WORDS = _ID_WORDS | frozenset((
    "name", "names", "value", "values", "column", "col", "field", "index", "idx", "row", "rows",
    "unnamed", "num", "type", "kind", "label", "title", "text", "date", "time", "updated",
    "update", "created", "last", "at", "the", "of", "in", "a", "an", "pk", "fk", "x", "y", "record",
))  # fmt: skip
# Names of well-known codes, which are identifiers too; in the singular, as words are compared.
_CODE_WORDS = frozenset((
    "fip", "zip", "zipcode", "postcode", "iso", "iata", "icao", "isbn", "issn", "ean", "upc",
    "gtin", "sku", "isin", "cusip", "lei", "cik", "ein", "naic", "sic", "geoid", "orcid", "doi",
))  # fmt: skip
_TIME_WORDS = frozenset((
    "year", "yr", "date", "time", "day", "week", "month", "quarter", "season", "period", "edition",
))  # fmt: skip
# Endings of compound words: custkey, productcode, orderid.
_ID_ENDINGS = ("key", "code", "id")
_SHORT = 2  # letters; shorter words say nothing: c_custkey and o_custkey are both custkey
SAME, CONTAINED, SHORTENED, VAGUE, DIFFERENT = 1.0, 0.7, 0.5, 0.3, 0.0


@dataclass(frozen=True, slots=True)
class NameSimilarity:
    """How similar two names are, 0 to 1, and whether both name identifiers (`film_no`).

    `both_say_id` means that both contain the word id.
    """

    similarity: float
    are_identifiers: bool
    both_say_id: bool = False

    @property
    def same_identifier(self) -> bool:
        """Whether the names alone suggest that both columns are the same identifier."""
        return self.similarity >= CONTAINED and self.are_identifiers


@lru_cache(maxsize=16_384)
def compare_names(
    left: str, right: str, left_table: str = "", right_table: str = ""
) -> NameSimilarity:
    """Compare the names of two columns; the names of the tables help if they are known.

    >>> compare_names("film_id", "FilmID")
    NameSimilarity(similarity=1.0, are_identifiers=True, both_say_id=True)
    >>> compare_names("home_team_id", "team_id").similarity, compare_names("id", "ID").similarity
    (0.7, 0.3)
    >>> compare_names("film_id", "id", right_table="films").similarity
    1.0
    >>> compare_names("warno", "WarNo").similarity
    1.0
    >>> compare_names("dep", "departamento").similarity, compare_names("Ch", "chapter").similarity
    (0.5, 0.5)
    """
    left_words, right_words = _words(left), _words(right)
    if left.casefold() == right.casefold():  # warno and WarNo: only one of them shows its words
        left_words = right_words = max(left_words, right_words, key=len)
    readings = {(left_words, right_words)}
    if right_table and not _specific(frozenset(right_words)):
        readings.add((left_words, _words(right_table) + right_words))
    if left_table and not _specific(frozenset(left_words)):
        readings.add((_words(left_table) + left_words, right_words))
    alike = max(_similarity(frozenset(a), frozenset(b)) for a, b in readings)
    if alike < SHORTENED and (_shortens(left, right) or _shortens(right, left)):
        alike = SHORTENED
    both = set(left_words), set(right_words)
    identify = all(any(map(_identifies, words)) for words in both)
    return NameSimilarity(alike, identify, all("id" in words for words in both))


def _shortens(short: str, name: str) -> bool:
    """Whether a name of two letters and more is the beginning of another that is one word, too."""
    short, name = short.casefold(), name.casefold()
    single = len(_words(name)) == 1 and name.isalpha() and short.isalpha()
    return single and _SHORT <= len(short) < len(name) and name.startswith(short)


def specific_words(name: str) -> frozenset[str]:
    """The words of a name that say what a value is about.

    >>> sorted(specific_words("FilmActor_id")), specific_words("key_id")
    (['actor', 'film'], frozenset())
    """
    return _specific(frozenset(_words(name)))


def is_identifier_name(column: str) -> bool:
    """Whether a name looks like that of an identifier.

    >>> is_identifier_name("film_no"), is_identifier_name("custkey"), is_identifier_name("title")
    (True, True, False)
    """
    return any(_identifies(word) or word in _CODE_WORDS for word in _words(column))


def is_time_name(column: str) -> bool:
    """Whether a name says that a column holds a time.

    >>> is_time_name("fiscal_year"), is_time_name("visits")
    (True, False)
    """
    return any(word in _TIME_WORDS for word in _words(column))


def is_named_for(column: str, table: str) -> bool:
    """Whether a column's name says no more than what its table is about.

    >>> is_named_for("film_name", "films"), is_named_for("director_name", "films")
    (True, False)
    """
    words, subject = specific_words(column), specific_words(table)
    named = {topic for word in words for topic in subject if _abbreviates(_stem(word), topic)}
    return not words or (len(named) == len(subject) and len(words) <= len(subject))


def hints_at(column: str, table: str) -> bool:
    """Whether a column's name has all words of a table's name, or abbreviations of them.

    >>> hints_at("ShipVia", "Shippers"), hints_at("reports_to", "employees")
    (True, False)
    """
    words, subject = specific_words(column), specific_words(table)
    stems = [_stem(word) for word in words]
    return bool(subject) and all(
        any(_abbreviates(stem, topic) for stem in stems) for topic in subject
    )


def _abbreviates(short: str, word: str) -> bool:
    """Whether a word equals another, or has some of its letters in order, starting with the first.

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
    """The word without an ending that only marks an identifier: custkey -> cust."""
    endings = (end for end in _ID_ENDINGS if word.endswith(end) and len(word) > len(end) + _SHORT)
    return word.removesuffix(next(endings, ""))


def _similarity(left: frozenset[str], right: frozenset[str]) -> float:
    both = left & right
    shared = _specific(both)
    if shared and _specific(left) == _specific(right):
        return SAME
    if shared and shared in (_specific(left), _specific(right)):
        return CONTAINED
    return VAGUE if both and not (_specific(left) and _specific(right)) else DIFFERENT


def _specific(words: frozenset[str]) -> frozenset[str]:
    """The words that say what a value is about."""
    return frozenset(
        word
        for word in words
        if word not in _GENERIC_WORDS and len(word) > _SHORT and not word.isdigit()
    )


def _identifies(word: str) -> bool:
    return word in _ID_WORDS or (len(word) > 4 and word.endswith(_ID_ENDINGS))


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case and singular."""
    return tuple(_singular(word.lower()) for word in _WORDS.findall(name))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word
