"""Values of a made-up company: names, addresses, and ids of every kind, from a seed.

Ids that look alike are drawn from the same small space, so that unrelated ones match by chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta

_BEGIN = ("Al", "Ber", "Car", "Dor", "El", "Fin", "Gar", "Hol", "Ing", "Jor", "Kel", "Lor", "Mar")
_MIDDLE = ("an", "be", "di", "en", "ga", "li", "mo", "na", "ro", "sa", "ti", "vi", "wi", "zo")
_END = ("d", "er", "ez", "ia", "in", "ko", "la", "man", "ne", "son", "ski", "ton", "vic", "y")
_TOWN = ("burg", "field", "ford", "ham", "mouth", "stad", "ton", "ville", "wick", "worth")
_THINGS = ("bolt", "bracket", "cable", "clamp", "gasket", "hinge", "nozzle", "panel", "valve")
_QUALITY = ("black", "brass", "coated", "flat", "heavy", "light", "short", "steel", "wide", "zinc")


class Words:
    """Draws values; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def distinct(self, count: int, make: Callable[[], str]) -> list[str]:
        """So many values that differ."""
        found: dict[str, None] = {}
        while len(found) < count:
            found[make()] = None
        return list(found)

    def some(self, values: Sequence[str], count: int) -> list[str]:
        """Values drawn with repetition."""
        return self.random.choices(values, k=count)

    def part(self, values: Sequence[str], share: float) -> list[str]:
        """A share of the values, each once, in another order."""
        return self.random.sample(values, max(1, round(share * len(values))))

    def first_name(self) -> str:
        """A first name of two syllables."""
        pick = self.random.choice
        return pick(_BEGIN) + pick(_MIDDLE)

    def last_name(self) -> str:
        """A last name of three or four."""
        pick = self.random.choice
        return pick(_BEGIN) + pick(_MIDDLE) + pick(("", *_MIDDLE)) + pick(_END)

    def town(self) -> str:
        """A town."""
        pick = self.random.choice
        return pick(_BEGIN) + pick(_MIDDLE) + pick(_TOWN)

    def brand(self) -> str:
        """A word that is no name of a person or a town."""
        return self.text("BCDFGKLMNPRST", 2).title() + self.text("aeiou", 2) + self.text("xz", 1)

    def thing(self) -> str:
        """What the company sells."""
        pick = self.random.choice
        return f"{pick(_QUALITY)} {pick(_QUALITY)} {pick(_THINGS)} {self.random.randint(2, 90)} mm"

    def text(self, alphabet: str, length: int) -> str:
        """A code over an alphabet."""
        return "".join(self.random.choices(alphabet, k=length))

    def uuid(self) -> str:
        """A UUID."""
        digits = self.text("0123456789abcdef", 32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def checked(self, digits: int) -> str:
        """A number whose last digit checks the others."""
        body = self.text("0123456789", digits - 1)
        return body + check_digit(body)

    def day(self, first: date, days: int) -> date:
        """A day of a stretch."""
        return first + timedelta(self.random.randrange(days))

    def amount(self, most: int = 20_000) -> str:
        """An amount with cents."""
        return f"{self.random.uniform(1, most):.2f}"


def check_digit(body: str) -> str:
    """The last digit of a number by Luhn's rule.

    >>> check_digit("7992739871")
    '3'
    """
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def days(first: date, count: int) -> Iterator[date]:
    """Days in a row."""
    return (first + timedelta(n) for n in range(count))
