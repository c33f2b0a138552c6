"""Texts of names, folded so that spellings of one name look alike.

Case, accents and punctuation are ignored. UTF-8 text that was read as Latin-1 ("ZÃ¼rich") is
repaired first, as it is so common. Numbers are written in digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

LONGEST = 256  # characters of a text to use: longer texts are not names
_APOSTROPHES = "'’ʼ`´"
_DIGIT = re.compile("[0-9]")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_YEARS = re.compile(r"\b(1[5-9]|20)([0-9]{2})( ?[-–/] ?)([0-9]{2})\b")
_SHORTEST_JOINED = 5  # letters of two words that are one elsewhere

_CARDINALS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
_MOST_ROMAN = 49  # L, C and M are rarely numbers
_ROMAN_DIGITS = ((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


def _roman(number: int) -> str:
    for value, digits in _ROMAN_DIGITS:
        if number >= value:
            return digits + _roman(number - value)
    return ""


# A single letter is more often an initial than a Roman number.
_NUMBERS = {_roman(n): str(n) for n in range(2, _MOST_ROMAN + 1) if len(_roman(n)) > 1}
_NUMBERS |= {word: str(n) for words in (_CARDINALS, _ORDINALS) for n, word in enumerate(words, 1)}
# A number with leading zeros, an ending, or a word of letters before or after it.
_WITH_NUMBER = re.compile(
    r"\b(?:([^\W\d_]{2,})?0*([0-9]+)|0*([0-9]+)(?:st|nd|rd|th)|0*([0-9]+)([^\W\d_]{3,}))\b"
)


class _Letters(dict[int, str | None]):
    """Maps a character to itself (letters and digits), to nothing, or to a blank."""

    def __missing__(self, point: int) -> str | None:
        character = chr(point)
        kind = unicodedata.category(character)
        becomes: str | None = " "
        if kind[0] == "M" or character in _APOSTROPHES:
            becomes = None
        elif kind[0] == "L" or kind == "Nd":
            becomes = character
        self[point] = becomes
        return becomes


_letters = _Letters()


def fold_text(text: str) -> str:
    """Normalise a text: lower case, no accents, one blank between words, numbers in digits.

    >>> fold_text("  Musée d’Orsay, Paris"), fold_text("São-Paulo (SP)"), fold_text("?!")
    ('musee dorsay paris', 'sao paulo sp', '')
    >>> fold_text("U.S. Open, 2nd round"), fold_text("Rocky III"), fold_text("NGC007")
    ('us open 2 round', 'rocky 3', 'ngc 7')
    >>> fold_text("First Division 2008–09")
    '1 division 2008 2009'
    """
    text = text[:LONGEST]
    if not text.isascii():
        text = unicodedata.normalize("NFKD", _repair_charset(text).casefold())
    else:
        text = text.lower()
    if "." in text:
        text = _DOTTED.sub(lambda letters: letters[0].replace(".", ""), text)
    has_digits = _DIGIT.search(text) is not None
    if has_digits:
        text = _YEARS.sub(r"\1\2\3\1\4", text)
    words = text.translate(_letters).split()
    if not _NUMBERS.keys().isdisjoint(words):
        words = [_NUMBERS.get(word, word) for word in words]
    folded = " ".join(words)
    if has_digits:
        folded = _WITH_NUMBER.sub(_apart, folded)
    return folded[:LONGEST].rstrip()


def _apart(number: re.Match[str]) -> str:
    """The number and the word beside it, with a blank between them."""
    return " ".join(part for part in number.groups() if part)


def join_words(texts: Sequence[str]) -> list[str]:
    """Folded texts with two adjacent words joined where both together are a word of any text.

    >>> join_words(["super cup", "supercup final", "super bowl"])
    ['supercup', 'supercup final', 'super bowl']
    """
    split = [text.split() for text in texts]
    known = {word for words in split for word in words if len(word) >= _SHORTEST_JOINED}
    return [" ".join(_joined(words, known)) for words in split]


def _joined(words: list[str], known: set[str]) -> list[str]:
    made: list[str] = []
    free = True  # whether the last word is not already joined
    for word in words:
        if made and free and made[-1] + word in known and (made[-1] + word).isalpha():
            made[-1] += word
            free = False
        else:
            made.append(word)
            free = True
    return made


def _repair_charset(text: str) -> str:
    for charset in ("latin-1", "cp1252"):
        try:
            return text.encode(charset).decode("utf-8")
        except UnicodeError:
            continue
    return text
