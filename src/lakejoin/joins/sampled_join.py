"""Learns how two large tables join from samples of their rows, and chooses the sample sizes."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa

from lakejoin.joins.join import Join
from lakejoin.joins.join_finder import join_tables
from lakejoin.joins.learned.row_samples import EXPECTED_PAIRS, PARTICIPATION
from lakejoin.joins.options import JoinOptions

SAMPLED_METHODS = ("auto", "equal", "transform")
_WHOLE = 200_000  # rows up to which the smaller table is taken whole
_FEWEST = 10_000  # rows of the larger table, if it has as many
_MOST = 1_000_000


def choose_sample_sizes(
    left: int, right: int, participation: float = PARTICIPATION
) -> tuple[int, int]:
    """The sample sizes for tables with `left` and `right` rows.

    >>> choose_sample_sizes(5_000, 300), choose_sample_sizes(100_000_000, 300)
    ((5000, 300), (1000000, 300))
    >>> choose_sample_sizes(100_000_000, 150_000)
    (1000000, 150000)
    >>> choose_sample_sizes(1_000_000, 50_000_000, participation=0.1)
    (200000, 50000)
    """
    if left < right:
        second, first = choose_sample_sizes(right, left, participation)
        return first, second
    small = min(right, _WHOLE)
    # A pair that joins is sampled with the product of the two rates. At least the share
    # `participation` of the smaller table's rows join, so this many pairs are expected.
    joining = participation * right * (small / right if right else 0)
    rate = EXPECTED_PAIRS / joining if joining else 1.0
    return min(left, max(_FEWEST, min(_MOST, math.ceil(rate * left)))), small


def learn_sampled_join(left: pa.Table, right: pa.Table, options: JoinOptions, by: str) -> Join:
    """Learn the join of two samples: equal values, or programs if these join more rows."""
    equal = None if by == "transform" else join_tables(left, right, replace(options, by="equal"))
    if equal is not None and (
        by == "equal" or (options.on and equal.matched) or _is_complete(equal)
    ):
        return equal
    rewritten = join_tables(left, right, replace(options, by="transform"))
    if equal is None:
        return rewritten
    joined = [join.left_joined + join.right_joined for join in (equal, rewritten)]
    return rewritten if joined[1] > joined[0] else equal


def _is_complete(join: Join) -> bool:
    """Whether every row of one sample has a match."""
    left, right = join.left.num_rows, join.right.num_rows
    return bool(join.left_joined == left or join.right_joined == right)


def explain_no_join(learned: Join, rows: tuple[int, int]) -> str:
    """Why the samples of tables with so many rows do not join."""
    sampled = learned.left.num_rows, learned.right.num_rows
    if sampled[0] < rows[0] and sampled[1] < rows[1]:
        return (
            f"{learned.no_join}. Only samples of both tables were compared, and few rows match: "
            "name the columns with on=, or pass a smaller table"
        )
    return learned.no_join
