"""The graph of tables: two tables are joined where a column of one is contained in the other's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lakejoin.discovery.graph.joingraph import Edges
    from lakejoin.discovery.graph.nodes import Nodes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class TableEdges:
    """From each table to those that contain a column of it; `edge` is the best one that does: the
    largest share, then the most values."""

    source: Array
    target: Array
    edge: Array
    rank: Array  # how good the edge is among all, from 0 on
    count: int  # of tables, with those that are gone

    @cached_property
    def start(self) -> Array:
        """Where the edges of every table begin."""
        return np.searchsorted(self.source, np.arange(self.count + 1))

    def of(self, table: int) -> slice:
        """The edges of a table."""
        return slice(int(self.start[table]), int(self.start[table + 1]))

    def steps(self, begin: int, hops: int) -> list[Array]:
        """What can be reached from a table: at each step the places of the edges that lead to
        tables not met before, for each table the best, and the best first."""
        met = np.zeros(self.count, dtype=bool)
        met[begin] = True
        last, found = np.array([begin]), []
        for _ in range(hops):
            places = np.concatenate([np.r_[self.of(int(table))] for table in last])
            places = places[~met[self.target[places]]].astype(np.int64)
            places = places[np.argsort(self.rank[places], kind="stable")]
            _, first = np.unique(self.target[places], return_index=True)
            places = places[np.sort(first)]
            if not len(places):
                break
            last = self.target[places]
            met[last] = True
            found.append(places)
        return found


def by_table(edges: Edges, nodes: Nodes) -> TableEdges:
    """The edges between tables, sorted by the table they come from; the best first."""
    source, target = nodes.table_of[edges.source], nodes.table_of[edges.target]
    order = np.lexsort((edges.target, edges.source, -edges.shared, -edges.share, target, source))
    source, target = source[order], target[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(source) != 0) | (np.diff(target) != 0)
    source, target, edge = source[new], target[new], order[new]
    best = np.lexsort((target, -edges.shared[edge], -edges.share[edge], source))
    count = int(nodes.table_of[-1]) + 1 if len(nodes.table_of) else 0
    source, target, edge = source[best], target[best], edge[best]
    rank = np.empty(len(edge), dtype=np.int64)
    rank[np.lexsort((target, source, -edges.shared[edge], -edges.share[edge]))] = np.arange(
        len(edge)
    )
    return TableEdges(source, target, edge, rank, count)
