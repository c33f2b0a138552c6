"""What is counted of the join that a predicate makes, whatever is preferred of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

_DECIMALS = 9


def bits(entropy: float) -> float:
    """An entropy without its last digits, which depend on the order in which it was added up.

    >>> bits(0.1 + 0.2) == bits(0.3), bits(-1e-17)
    (True, 0.0)
    """
    return max(0.0, round(entropy, _DECIMALS))


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers behind a predicate.

    A joining group is all rows that hold one joining key: the values of all joined columns.
    `involved` are the rows of each table that are in the inner join, which has `inner` rows (more
    than 64 bits hold, where many rows meet many). `entropy`, in bits, is that of the rows of the
    inner join over the groups. No predicate that joins more columns has more than `most_groups`
    groups: of two tables, a group of r and s rows splits into min(r, s) at most; of more tables, no
    more than the inner join has rows.

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
        """The rows of the full outer join: those of the inner one, and all without a partner."""
        return self.inner + sum(self.sizes) - sum(self.involved)

    @property
    def all_involved(self) -> int:
        """The rows of all tables that are in the inner join."""
        return sum(self.involved)

    @property
    def least_inner(self) -> int:
        """The inner join has no fewer rows, while as many are involved.

        Every involved row is in it; and a group of r and s rows makes rs rows, r + s - 1 at least.
        """
        least = max(self.involved)
        return max(least, self.all_involved - self.most_groups) if len(self.sizes) == 2 else least


def least_of(one: Facts, other: Facts, groups: int) -> Facts:
    """No predicate that has the pairs of both, and so many groups at most, has more than this.

    >>> one, other = Facts((6, 6), (4, 5), 3, 7, 1.4, 4), Facts((6, 6), (5, 2), 2, 5, 1.0, 2)
    >>> least_of(one, other, 9).involved, least_of(one, other, 9).groups
    ((4, 2), 2)
    """
    groups = min(one.most_groups, other.most_groups, groups)
    return Facts(
        one.sizes,
        tuple(map(min, one.involved, other.involved)),
        groups,
        min(one.inner, other.inner),
        bits(log2(max(groups, 1))),
        groups,
    )
