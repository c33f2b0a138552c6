"""Preferences for the result of a join: five scores, each with an upper bound.

The scores are h1 to h5 of the paper (its table I), for any number of tables. A bound is at least
the score of a predicate and of every predicate that joins more columns, so that these need not be
looked at once something better is known. The paper's bounds use only the number of involved rows of
each table. The bounds here also use that a group of r and s rows splits into at most min(r, s)
groups (`Facts.most_groups`), and are never looser:

| score | bound in the paper | bound here, for two tables |
| --- | --- | --- |
| groups, compact | min(R, S) | M |
| balanced | log2 min(R, S) | log2 M |
| strength | 2 (R + S) / (R + S + N) | 2 (R + S) / (2 (R + S - M) + N) |

with R and S the involved rows, N the rows of both tables, and M the sum of all min(r, s). For
compact, a group of r and s rows adds r + s - rs = 1 - (r - 1)(s - 1), so at most 1. For strength, a
group has at least max(r, s) = r + s - min(r, s) rows of the inner join, and the fraction grows with
R + S as M is at most N / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import inf, isnan, log2
from numbers import Real

from lakejoin.errors import InputError
from lakejoin.joins.predicates.facts import Facts, rounded_bits

Score = Callable[[Facts], float]


@dataclass(frozen=True, slots=True)
class Preference:
    """A score to maximise, and its bound; `when` says what it is good for.

    A bound is computed from facts that bound those of every predicate below: sizes, involved rows,
    groups, rows of the inner join, entropy.

    >>> PREFERENCES[2].name, PREFERENCES[2].score(Facts((6, 6), (4, 5), 3, 7, 1.38, 4))
    ('compact', 2)
    """

    name: str
    alias: str
    when: str
    score: Score
    bound: Score
    paper_bound: Score


def _coverage(facts: Facts) -> float:
    return facts.all_involved


def _groups(facts: Facts) -> float:
    return facts.groups


def _most_groups(facts: Facts) -> float:
    return facts.most_groups


def _fewest(facts: Facts) -> float:
    return min(facts.involved)


def _compact(facts: Facts) -> float:
    return facts.all_involved - facts.inner


def _most_compact(facts: Facts) -> float:
    if len(facts.sizes) == 2:
        return facts.most_groups
    return facts.all_involved - facts.least_inner


def _balanced(facts: Facts) -> float:
    return facts.entropy


def _most_balanced(facts: Facts) -> float:
    return rounded_bits(log2(max(facts.most_groups, 1)))


def _log_fewest(facts: Facts) -> float:
    return rounded_bits(log2(max(min(facts.involved), 1)))


def _strength(facts: Facts) -> float:
    """The harmonic mean of coverage X / N and strength X / (d inner), for d tables."""
    rows = len(facts.sizes) * facts.inner + sum(facts.sizes)
    return 2 * facts.all_involved / rows if rows else 0.0


def _most_strength(facts: Facts) -> float:
    if len(facts.sizes) != 2:
        return _most_strength_by_rows(facts)
    rows = 2 * (facts.all_involved - facts.most_groups) + sum(facts.sizes)
    return 2 * facts.all_involved / rows if rows else 0.0


def _most_strength_by_rows(facts: Facts) -> float:
    rows = facts.all_involved + sum(facts.sizes)
    return 2 * facts.all_involved / rows if rows else 0.0


PREFERENCES = (
    Preference(
        "coverage",
        "h1",
        "as many rows of all tables as possible find a partner",
        _coverage,
        _coverage,
        _coverage,
    ),
    Preference(
        "groups",
        "h2",
        "as many different keys as possible",
        _groups,
        _most_groups,
        _fewest,
    ),
    Preference(
        "compact",
        "h3",
        "the smallest merged table, with the rows that have no partner in it",
        _compact,
        _most_compact,
        _fewest,
    ),
    Preference(
        "balanced",
        "h4",
        "many keys with similar numbers of joined rows, like a key and its references",
        _balanced,
        _most_balanced,
        _log_fewest,
    ),
    Preference(
        "strength",
        "h5",
        "many rows find a partner, and few find more than one",
        _strength,
        _most_strength,
        _most_strength_by_rows,
    ),
)

PreferenceChoice = str | Preference | Callable[[Facts], float]


def find_preference(wanted: PreferenceChoice) -> Preference:
    """The preference of a name, or of a function of the facts, with its attribute `bound` if any.

    >>> find_preference("h5").name
    'strength'
    >>> find_preference(lambda facts: -facts.inner).name
    '<lambda>'
    """
    if isinstance(wanted, Preference):
        return wanted
    if callable(wanted):
        return _custom(wanted)
    if not isinstance(wanted, str):
        raise InputError(f"a preference is a name or a function of the facts, not {wanted!r}")
    for preference in PREFERENCES:
        if wanted.strip().lower() in (preference.name, preference.alias):
            return preference
    known = ", ".join(f"{preference.name} ({preference.alias})" for preference in PREFERENCES)
    raise InputError(f"there is no preference {wanted!r}; choose from {known}")


def find_preferences(wanted: PreferenceChoice | Sequence[PreferenceChoice]) -> tuple[Preference, ...]:
    """One or several distinct preferences; functions of the same name are numbered.

    >>> [found.name for found in find_preferences(["h1", "compact", "coverage"])]
    ['coverage', 'compact']
    >>> [found.name for found in find_preferences([lambda f: f.inner, lambda f: f.groups])]
    ['<lambda>', '<lambda> 2']
    """
    names = wanted if isinstance(wanted, list | tuple) else [wanted]
    if not names:
        raise InputError("name at least one preference")
    found: dict[str, Preference] = {}
    for preference in map(find_preference, names):
        taken = {*found, *(() if preference in PREFERENCES else _NAMES)}
        if preference not in found.values():
            name = next(name for name in _numbered(preference.name) if name not in taken)
            found[name] = replace(preference, name=name)
    return tuple(found.values())


_NAMES = frozenset(preference.name for preference in PREFERENCES)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {number}" for number in count(2))


def _custom(score: Callable[[Facts], float]) -> Preference:
    bound: Score = getattr(score, "bound", _unbounded)
    name = str(getattr(score, "__name__", type(score).__name__))
    when = "a custom preference"
    return Preference(name, "", when, _checked(score, name), _checked(bound, name), bound)


def _checked(score: Score, name: str) -> Score:
    """The function, with a check that its results are comparable numbers."""

    def checked(facts: Facts) -> float:
        value = score(facts)
        if not isinstance(value, Real) or isnan(value):
            raise InputError(f"the preference {name!r} returned {value!r}, which is not a number")
        return value

    return checked


def _unbounded(facts: Facts) -> float:
    return inf
