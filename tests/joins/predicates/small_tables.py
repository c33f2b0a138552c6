"""Small tables in which everything ties: few values in many spellings, nulls, copies, constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from lakejoin.joins.predicates.predicate_finder import Predicate
from lakejoin.joins.predicates.preferences import Facts
from oracle.predicates import Joined, Joins, Pair, Pairs, ranked

# By the value rules, all that stands in a line is equal; the last line joins nothing.
SPELLINGS = [
    "a", "A ", "a\N{NO-BREAK SPACE}",
    "7", "7.0", "+7",
    "zürich", "Zürich ", "ZU\N{COMBINING DIAERESIS}RICH",
    None, "", "n/a",
]  # fmt: skip
CELLS = st.sampled_from(SPELLINGS)
VALUES = st.sampled_from(SPELLINGS[:-3])
NAMES = ("abc", "axc", "cyz", "wbz")  # by table: some columns have the name of another table's

Cells = list[str | None]


def table_of(columns: dict[str, Cells]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def column_of(rows: int) -> st.SearchStrategy[Cells]:
    """Cells of two or three values, with nulls among them or without, or one cell throughout."""
    kinds = [st.sampled_from(["a", "7.0"]), st.sampled_from(["A ", "7"]), VALUES, CELLS]
    whole = [st.lists(cells, min_size=rows, max_size=rows) for cells in kinds]
    return st.one_of(*whole, *whole, CELLS.map(lambda cell: [cell] * rows))


@st.composite
def tables(draw: st.DrawFn, number: int = 0, columns: int = 3, rows: int = 5) -> pa.Table:
    """A table of the given place, with copies of columns and of rows in it."""
    count = draw(st.sampled_from([*range(rows + 1), *[rows] * 10]))
    width = draw(st.sampled_from([*range(1, columns + 1), *[columns] * 5]))
    made = [draw(column_of(count)) for _ in range(width)]
    if draw(st.integers(0, 4)) == 4:
        made[-1] = made[0]
    order = draw(st.just(list(range(count))) | st.just([n // 2 for n in range(count)]))
    return table_of({NAMES[number][i]: [cells[n] for n in order] for i, cells in enumerate(made)})


def facts_of(joined: Joined) -> Facts:
    """What brute force counts, as the engine would tell it."""
    return Facts(
        joined.sizes,
        joined.involved,
        joined.groups,
        joined.inner,
        joined.entropy,
        joined.most_groups,
    )


def in_places(predicate: Predicate, some: Sequence[pa.Table]) -> list[Pair]:
    """The pairs of a predicate, in their order, by the places of the columns."""
    return [
        ((t, some[t].column_names.index(one)), (u, some[u].column_names.index(other)))
        for (t, one), (u, other) in predicate.pairs
    ]


def places_of(predicate: Predicate, some: Sequence[pa.Table]) -> Pairs:
    """The same as brute force has it."""
    return frozenset(in_places(predicate, some))


def check(
    found: Sequence[Predicate],
    joins: Joins,
    some: Sequence[pa.Table],
    score: Callable[[Joined], float],
    n: int,
) -> None:
    """They are the n best of all closed predicates, in order, and counted right."""
    assert len({one.pairs for one in found}) == len(found)
    order = []
    for one in found:
        pairs = places_of(one, some)
        assert in_places(one, some) == sorted(pairs)
        assert pairs in joins.closed
        joined = joins.closed[pairs]
        assert one.facts == replace(facts_of(joined), entropy=one.facts.entropy)
        assert one.facts.entropy == pytest.approx(joined.entropy, abs=1e-9)
        assert one.facts.outer == len(joined.outer_rows)
        assert {name: one.scores[name] for name in joined.scores} == pytest.approx(joined.scores)
        order.append(ranked(joined, score))
    assert order == joins.best(score, n)
