"""Facts: the counts of a predicate's join, from which all preferences are scored."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

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
        """The rows of the full outer join: those of the inner join, and all without a partner."""
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
