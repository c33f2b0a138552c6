"""Where checking columns stands: the query's groups, what is wanted, and what is known so far."""

from __future__ import annotations

from typing import NamedTuple

from lakejoin.kernels.jit import njit
from lakejoin.model import Array
from published.groups_building import Groups
from published.groups_lemmas import within

OPEN, SETTLED = 0, 1  # columns to check, and those that were, or need not be
COMPARED, MEASURED, NEAR = range(3)  # places in the tally


class Asked(NamedTuple):
    """The groups of the query: the centre and the radius of each, where its queries begin, and how
    many of them are within half the radius of the search (`half`). `of_centre` is the group of a
    centre, or -1. Queries are in the order of groups, nearest to the centre first: their `vectors`,
    and by centre how far `away` they are. `apart` are the distances of the centres of groups from
    all centres."""

    centre: Array
    radius: Array
    start: Array
    half: Array
    of_centre: Array
    vectors: Array
    away: Array
    apart: Array


class Goal(NamedTuple):
    """What is counted, and when is it enough?"""

    least: int
    pairs: bool
    exact: bool
    dominance: bool


class Marks(NamedTuple):
    """By column its `state` and how many were `found`; by query whether it `may` match in the
    column that is checked, and whether it `does`. For dominance there is room: by column `times`,
    all zero in between, and a list of columns, `touched`; by centre `radii`, all -1."""

    state: Array
    found: Array
    may: Array
    does: Array
    times: Array
    touched: Array
    radii: Array


@njit
def half(groups: Groups, group: int, sure: float) -> int:
    """How many members of a group are within half the radius of the search."""
    begin = groups.start[group]
    return within(groups.away, begin, groups.start[group + 1], sure / 2) - begin
