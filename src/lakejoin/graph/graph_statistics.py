"""Statistics of a join graph, as in table 1.4 and figure 1.3 of Zhu's thesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.graph.neighborhood import EdgeFilter, reach_tables
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.graph.graph_elements import Edges, GraphNodes
    from lakejoin.graph.join_graph import JoinGraph

HOPS = 4  # joins in figure 1.3
_COMPLETE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class SampledTable:
    """A table, how many other tables contain one of its columns, and by how many columns."""

    table: str
    tables: int
    columns: int


@dataclass(frozen=True, slots=True)
class TableReach:
    """How many more tables each further join reaches, if columns must be contained completely."""

    table: str
    tables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """The figures of a graph.

    `columns` are contained in columns of other tables, by `edges`; `joined` of all `tables` have
    such a column. `quartiles` and `most` are of the number of tables that each table joins with.
    `components` counts the connected groups of tables, `largest` the tables in the largest.
    `sample` is table 1.4 of the thesis, for random tables; `reach` its figure 1.3, by complete
    containment, for the table that joins with the most others.
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
    sample: tuple[SampledTable, ...]
    reach: TableReach | None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GraphStatistics:
        """Read the JSON of `to_dict`."""
        reach, (low, middle, high) = data["reach"], data["quartiles"]
        others = ("quartiles", "sample", "reach")
        figures = {
            figure.name: data[figure.name] for figure in fields(cls) if figure.name not in others
        }
        return cls(
            **figures,
            quartiles=(low, middle, high),
            sample=tuple(SampledTable(**table) for table in data["sample"]),
            reach=reach and TableReach(reach["table"], tuple(reach["tables"])),
        )

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph --json`."""
        return asdict(self)


def compute_statistics(
    graph: JoinGraph, min: float | None, numbers: bool, sample: int, seed: int
) -> GraphStatistics:
    """Compute the figures of a graph, for edges of at least the share `min`."""
    nodes, shown = graph.nodes, EdgeFilter(min, numbers)
    counting = _Counting(nodes)
    for edges in graph.batches(min, numbers):
        counting.add(edges)
    reached = counting.reached[nodes.live]
    linked = np.unique(counting.group[nodes.live], return_counts=True)[1]
    linked = linked[linked > 1]
    ranks = np.quantile(reached, (0.25, 0.5, 0.75), method="nearest") if len(reached) else [0] * 3
    low, middle, high = map(int, ranks)
    return GraphStatistics(
        tables=len(nodes.live),
        joined=int(np.count_nonzero(reached)),
        columns=counting.columns,
        edges=counting.edges,
        number_edges=counting.number_edges,
        quartiles=(low, middle, high),
        most=int(reached.max(initial=0)),
        components=len(linked),
        largest=int(linked.max(initial=0)),
        sample=_sample(graph, shown, sample, seed),
        reach=_reach(graph, shown, counting.complete),
    )


class _Counting:
    """Totals over batches of edges."""

    def __init__(self, nodes: GraphNodes) -> None:
        self._nodes = nodes
        self.columns = self.edges = self.number_edges = 0
        self.reached = np.zeros(nodes.tables, dtype=np.int64)
        # Tables that contain a column of it completely.
        self.complete = np.zeros(nodes.tables, dtype=np.int64)
        self.group = np.arange(nodes.tables)  # the first table of its component

    def add(self, edges: Edges) -> None:
        """Count a batch; the edges of a table come together."""
        nodes = self._nodes
        self.edges += len(edges)
        self.columns += len(np.unique(edges.source))
        self.number_edges += int(np.count_nonzero(nodes.is_number(edges.source)))
        both = nodes.tables_of(edges.source) * nodes.tables + nodes.tables_of(edges.target)
        whole = np.unique(both[edges.share >= _COMPLETE]) // nodes.tables
        self.complete += np.bincount(whole, minlength=nodes.tables)
        source, target = np.divmod(np.unique(both), nodes.tables)
        self.reached += np.bincount(source, minlength=nodes.tables)
        self._link(source, target)

    def _link(self, source: Array, target: Array) -> None:
        """Merge components: every table points to the first table of its own."""
        group = self.group
        while True:
            left, right = group[source], group[target]
            if np.array_equal(left, right):
                break
            low = np.minimum(left, right)
            np.minimum.at(group, left, low)
            np.minimum.at(group, right, low)
            while not np.array_equal(new := group[group], group):
                group = new  # halves long chains each time
        self.group = group


def _sample(graph: JoinGraph, shown: EdgeFilter, size: int, seed: int) -> tuple[SampledTable, ...]:
    """Random tables, and how many tables each joins with."""
    nodes = graph.nodes
    rng = np.random.default_rng(seed)
    drawn = rng.choice(nodes.live, min(size, len(nodes.live)), replace=False)
    sampled = []
    for table, name in zip(drawn.tolist(), nodes.table_names(drawn).to_pylist(), strict=True):
        edges = graph.edges_of(np.array([table]), shown.min, shown.numbers)
        tables = np.unique(nodes.tables_of(edges.target))
        sampled.append(SampledTable(name, len(tables), len(np.unique(edges.target))))
    return tuple(sampled)


def _reach(graph: JoinGraph, shown: EdgeFilter, complete: Array) -> TableReach | None:
    """For the table with the most tables that contain one of its columns completely."""
    if not complete.any():
        return None
    table = int(np.argmax(complete))
    name = graph.nodes.table_names(np.array([table]))[0].as_py()
    rings = reach_tables(graph, table, HOPS, EdgeFilter(1.0, shown.numbers))
    return TableReach(name, tuple(len(edges) for edges in rings))
