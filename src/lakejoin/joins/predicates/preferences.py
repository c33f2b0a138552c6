"""Facts: the counts of a predicate's join, from which all preferences are scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from math import inf, isnan, log2
from numbers import Real
from operator import attrgetter

from lakejoin.errors import InputError

_DECIMALS = 9


def rounded_bits(entropy: float) -> float:
    """An entropy without its last digits, which depend on the order of summation.

    >>> rounded_bits(0.1 + 0.2) == rounded_bits(0.3), rounded_bits(-1e-17)
    (True, 0.0)
    """
    return max(0.0, round(entropy, _DECIMALS))


@dataclass(frozen=True, slots=True)
class Facts:
    """The counts of a predicate's join.

    A joining group is the set of rows with one joining key: the values of all joined columns.
    `involved` are the rows of each table in the inner join, which has `inner` rows (possibly more
    than fit 64 bits). `entropy`, in bits, is that of the inner join's rows over the groups. No
    predicate that joins more columns has more than `most_groups` groups: with two tables, a group
    of r and s rows splits into at most min(r, s); with more, there are at most `inner`.

    >>> facts = Facts((6, 6), (4, 5), 3, 7, 1.38, 4)
    >>> facts.outer
    10
    """

    sizes: tuple[int, ...]
    involved: tuple[int, ...]
    groups: int
    inner: int
    entropy: float
    most_groups: int

    @property
    def outer(self) -> int:
        """The rows of the full outer join: those of the inner join, and all without a match."""
        return self.inner + sum(self.sizes) - sum(self.involved)

    @property
    def all_involved(self) -> int:
        """The rows of all tables in the inner join."""
        return sum(self.involved)

    @property
    def least_inner(self) -> int:
        """A lower bound of the inner join's rows, as long as the same rows are involved.

        Every involved row is in it; and a group of r and s rows makes rs >= r + s - 1 rows.
        """
        least = max(self.involved)
        return max(least, self.all_involved - self.most_groups) if len(self.sizes) == 2 else least


def bounding_facts(left: Facts, right: Facts, groups: int) -> Facts:
    """Bound the facts of a predicate with the pairs of both and at most `groups` groups.

    >>> left, right = Facts((6, 6), (4, 5), 3, 7, 1.4, 4), Facts((6, 6), (5, 2), 2, 5, 1.0, 2)
    >>> bounding_facts(left, right, 9).involved, bounding_facts(left, right, 9).groups
    ((4, 2), 2)
    """
    groups = min(left.most_groups, right.most_groups, groups)
    return Facts(
        left.sizes,
        tuple(map(min, left.involved, right.involved)),
        groups,
        min(left.inner, right.inner),
        rounded_bits(log2(max(groups, 1))),
        groups,
    )


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


_coverage: Score = attrgetter("all_involved")
_groups: Score = attrgetter("groups")
_most_groups: Score = attrgetter("most_groups")
_balanced: Score = attrgetter("entropy")


def _compact(facts: Facts) -> float:
    return facts.all_involved - facts.inner


def _most_compact(facts: Facts) -> float:
    if len(facts.sizes) == 2:
        return facts.most_groups
    return facts.all_involved - facts.least_inner


def _most_balanced(facts: Facts) -> float:
    return rounded_bits(log2(max(facts.most_groups, 1)))


def _strength(facts: Facts) -> float:
    """The harmonic mean of coverage X / N and strength X / (d inner), for d tables."""
    rows = len(facts.sizes) * facts.inner + sum(facts.sizes)
    return 2 * facts.all_involved / rows if rows else 0.0


def _most_strength(facts: Facts) -> float:
    least = facts.all_involved  # d times the inner join's rows
    if len(facts.sizes) == 2:
        least = 2 * (facts.all_involved - facts.most_groups)
    rows = least + sum(facts.sizes)
    return 2 * facts.all_involved / rows if rows else 0.0


PREFERENCES = (
    Preference(
        "coverage",
        "h1",
        "as many rows of all tables as possible match",
        _coverage,
        _coverage,
    ),
    Preference(
        "groups",
        "h2",
        "as many different keys as possible",
        _groups,
        _most_groups,
    ),
    Preference(
        "compact",
        "h3",
        "the smallest merged table, including rows without a match",
        _compact,
        _most_compact,
    ),
    Preference(
        "balanced",
        "h4",
        "many keys with similar numbers of joined rows, like a key and its references",
        _balanced,
        _most_balanced,
    ),
    Preference(
        "strength",
        "h5",
        "many rows match, and few match more than one",
        _strength,
        _most_strength,
    ),
)

PreferenceChoice = str | Preference | Callable[[Facts], float]


def find_preference(choice: PreferenceChoice) -> Preference:
    """The preference of a name, or of a function of the facts, with its attribute `bound` if any.

    >>> find_preference("h5").name
    'strength'
    >>> find_preference(lambda facts: -facts.inner).name
    '<lambda>'
    """
    if isinstance(choice, Preference):
        return choice
    if callable(choice):
        return _custom(choice)
    if not isinstance(choice, str):
        raise InputError(f"a preference is a name or a function of the facts, not {choice!r}")
    for preference in PREFERENCES:
        if choice.strip().lower() in (preference.name, preference.alias):
            return preference
    known = ", ".join(f"{preference.name} ({preference.alias})" for preference in PREFERENCES)
    raise InputError(f"there is no preference {choice!r}; choose from {known}")


def find_preferences(
    choices: PreferenceChoice | Sequence[PreferenceChoice],
) -> tuple[Preference, ...]:
    """One or several distinct preferences; functions of the same name are numbered.

    >>> [preference.name for preference in find_preferences(["h1", "compact", "coverage"])]
    ['coverage', 'compact']
    >>> [chosen.name for chosen in find_preferences([lambda f: f.inner, lambda f: f.groups])]
    ['<lambda>', '<lambda> 2']
    """
    names = choices if isinstance(choices, list | tuple) else [choices]
    if not names:
        raise InputError("name at least one preference")
    chosen: dict[str, Preference] = {}
    for preference in map(find_preference, names):
        taken = {*chosen, *(() if preference in PREFERENCES else _NAMES)}
        if preference not in chosen.values():
            numbered = (f"{preference.name} {number}" for number in count(2))
            name = next(name for name in chain([preference.name], numbered) if name not in taken)
            chosen[name] = replace(preference, name=name)
    return tuple(chosen.values())


_NAMES = frozenset(preference.name for preference in PREFERENCES)


def _custom(score: Callable[[Facts], float]) -> Preference:
    bound: Score = getattr(score, "bound", lambda facts: inf)
    name = str(getattr(score, "__name__", type(score).__name__))
    when = "a custom preference"
    return Preference(name, "", when, _check_score(score, name), _check_score(bound, name))


def _check_score(score: Score, name: str) -> Score:
    """The function, with a check that its results are comparable numbers."""

    def checked(facts: Facts) -> float:
        value = score(facts)
        if not isinstance(value, Real) or isnan(value):
            raise InputError(f"the preference {name!r} returned {value!r}, which is not a number")
        return value

    return checked
