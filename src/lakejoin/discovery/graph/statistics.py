"""How joinable is a lake? As in table 1.4 and figure 1.3 of Zhu's thesis."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.graph.tables import TableEdges, by_table

if TYPE_CHECKING:
    from lakejoin.discovery.graph.joingraph import Edges, JoinGraph

Array = np.ndarray[Any, Any]

HOPS = 4  # of figure 1.3


@dataclass(frozen=True, slots=True)
class Sampled:
    """A table, how many others contain a column of it, and how many columns of theirs do."""

    table: str
    tables: int
    columns: int


@dataclass(frozen=True, slots=True)
class Reached:
    """How many more tables are reached from a table by each further join."""

    table: str
    tables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a graph.

    `columns` are contained in columns of other tables, by `edges`; `joined` of all `tables` have
    one. `quartiles` are those of the number of tables that each table joins with, all tables
    counted. `components` are the groups of tables that hang together, however many joins apart, and
    `largest` the tables in the largest. `sample` is table 1.4 of the thesis, for tables drawn at
    random; `reach` its figure 1.3, for the table with the most partners.
    """

    tables: int
    joined: int
    columns: int
    edges: int
    number_edges: int
    quartiles: tuple[int, int, int]
    most: int
    components: int
    largest: int
    sample: tuple[Sampled, ...]
    reach: Reached | None

    def to_dict(self) -> dict[str, Any]:
        """As `lakejoin graph --json` has it."""
        return asdict(self)


def statistics_of(graph: JoinGraph, edges: Edges, sample: int, seed: int) -> Statistics:
    """The figures of these edges of a graph."""
    nodes = graph.nodes
    tables = by_table(edges, nodes)
    partners = np.diff(tables.start)[nodes.live]
    groups = _components(tables)[nodes.live]
    linked = np.unique(groups, return_counts=True)[1]
    linked = linked[linked > 1]
    joined = int(np.count_nonzero(partners))
    ranks = np.quantile(partners, (0.25, 0.5, 0.75), method="nearest") if len(partners) else [0] * 3
    low, middle, high = (int(one) for one in ranks)
    return Statistics(
        tables=len(nodes.live),
        joined=joined,
        columns=len(np.unique(edges.source)),
        edges=len(edges),
        number_edges=int(np.count_nonzero(nodes.is_number[edges.source])),
        quartiles=(low, middle, high),
        most=int(partners.max(initial=0)),
        components=len(linked),
        largest=int(linked.max(initial=0)),
        sample=_sample(graph, edges, tables, sample, seed),
        reach=_reach(graph, tables, nodes.live, partners),
    )


def _sample(
    graph: JoinGraph, edges: Edges, tables: TableEdges, size: int, seed: int
) -> tuple[Sampled, ...]:
    """Tables drawn at random among those that join with any."""
    nodes = graph.nodes
    some = np.unique(tables.source)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(some, min(size, len(some)), replace=False)
    own = nodes.table_of[edges.source]
    return tuple(
        Sampled(
            nodes.table_names[table].as_py(),
            int(tables.start[table + 1] - tables.start[table]),
            len(np.unique(edges.target[own == table])),
        )
        for table in drawn.tolist()
    )


def _reach(graph: JoinGraph, tables: TableEdges, live: Array, partners: Array) -> Reached | None:
    if not len(tables.source):
        return None
    table = int(live[int(np.argmax(partners))])
    return reach_of(graph, tables, table)


def reach_of(graph: JoinGraph, tables: TableEdges, table: int, hops: int = HOPS) -> Reached:
    """What a table reaches, join by join."""
    name = graph.nodes.table_names[table].as_py()
    return Reached(name, tuple(len(places) for places in tables.steps(table, hops)))


def _components(tables: TableEdges) -> Array:
    """A number for every table, the same for those that hang together: the smallest among them."""
    group = np.arange(tables.count)
    while True:
        low = np.minimum(group[tables.source], group[tables.target])
        new = group.copy()
        np.minimum.at(new, tables.source, low)
        np.minimum.at(new, tables.target, low)
        new = new[new]  # a step further each time, so that long chains are short work
        if np.array_equal(new, group):
            return group
        group = new
