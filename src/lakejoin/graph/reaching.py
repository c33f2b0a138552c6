"""Follow the edges of the graph from a table, join by join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.graph.edges import Edges, concat_edges

if TYPE_CHECKING:
    from lakejoin.graph.join_graph import JoinGraph

Array = np.ndarray[Any, Any]

_AT_ONCE = 256  # tables whose edges are read together


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Which edges count: those of at least the share `min`, with columns of `numbers` or not."""

    min: float | None = None
    numbers: bool = True


def reach_tables(graph: JoinGraph, begin: int, hops: int, shown: EdgeFilter) -> list[Edges]:
    """By hop, the best edge to each new table (the largest share, then the most values), the best
    first."""
    seen = np.zeros(graph.nodes.tables, dtype=bool)
    seen[begin] = True
    last, rings = np.array([begin]), []
    for _ in range(hops):
        best = concat_edges([])
        for at in range(0, len(last), _AT_ONCE):
            edges = graph.edges_of(last[at : at + _AT_ONCE], shown.min, shown.numbers)
            new = ~seen[graph.nodes.tables_of(edges.target)]
            best = _best(graph, concat_edges([best, edges.take(new)]))
        if not len(best):
            break
        last = graph.nodes.tables_of(best.target)
        seen[last] = True
        rings.append(best)
    return rings


def _best(graph: JoinGraph, edges: Edges) -> Edges:
    """The best edge to each table, the best first."""
    source, target = graph.nodes.tables_of(edges.source), graph.nodes.tables_of(edges.target)
    order = np.lexsort((edges.target, edges.source, target, source, -edges.shared, -edges.share))
    _, first = np.unique(target[order], return_index=True)
    return edges.take(order[np.sort(first)])


def find_links(
    graph: JoinGraph, tables: Array, shown: EdgeFilter, most: int
) -> list[tuple[int, int, float]]:
    """The joins between tables, one per pair, as two positions in `tables` and the share; the
    strongest `most` of them."""
    position = np.full(graph.nodes.tables, -1)
    position[tables] = np.arange(len(tables))
    ends, shares = np.zeros((2, 0), dtype=np.int64), np.zeros(0)
    for at in range(0, len(tables), _AT_ONCE):
        edges = graph.edges_of(tables[at : at + _AT_ONCE], shown.min, shown.numbers)
        columns = edges.source, edges.target
        both = np.stack([position[graph.nodes.tables_of(end)] for end in columns])
        inside = (both >= 0).all(axis=0)
        ends = np.concatenate([ends, np.sort(both[:, inside], axis=0)], axis=1)
        shares = np.concatenate([shares, edges.share[inside]])
        order = np.lexsort((ends[1], ends[0], -shares))
        ends, shares = ends[:, order], shares[order]
        _, first = np.unique(ends[0] * len(tables) + ends[1], return_index=True)
        first = np.sort(first)[:most]
        ends, shares = ends[:, first], shares[first]
    return list(zip(ends[0].tolist(), ends[1].tolist(), shares.tolist(), strict=True))
