"""What lies around a table: the tables that can be reached by a few joins, and how."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.graph.tables import by_table
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.discovery.graph.joingraph import Edges, JoinGraph
    from lakejoin.discovery.graph.tables import TableEdges

Array = np.ndarray[Any, Any]

MOST_HOPS = 4


@dataclass(frozen=True, slots=True)
class Step:
    """A join that leads to a table that was not met before: `share` of the values of a column of
    the table before, `shared` of them, are in a column of the new one."""

    hop: int
    table: str
    column: str
    other_table: str
    other_column: str
    shared: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """As `lakejoin graph TABLE --json` has it."""
        return {
            "hop": self.hop,
            "table": self.table,
            "column": self.column,
            "other_table": self.other_table,
            "other_column": self.other_column,
            "shared": self.shared,
            "containment": self.share,
        }


@dataclass(frozen=True, slots=True)
class Around:
    """The tables around one, the nearest and best first; `links` are all joins between them, as
    places in (the table itself, then `steps`)."""

    table: str
    steps: tuple[Step, ...]
    links: tuple[tuple[int, int, float], ...] = ()

    def __len__(self) -> int:
        return len(self.steps)

    def hops(self) -> list[int]:
        """How many tables each further join leads to."""
        most = max((step.hop for step in self.steps), default=0)
        return [sum(step.hop == hop for step in self.steps) for hop in range(1, most + 1)]

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Draws it as an SVG file: the table in the middle, what is a join away around it."""
        from lakejoin.discovery.graph.picture import draw

        draw(self, path)

    def to_dict(self) -> dict[str, Any]:
        """As `lakejoin graph TABLE --json` has it."""
        steps = [step.to_dict() for step in self.steps]
        return {"table": self.table, "reached": self.hops(), "steps": steps}

    def __repr__(self) -> str:
        from lakejoin.search.display import percent

        lines = [f"{self.table}: {', '.join(map(str, self.hops())) or 'no'} tables by join"]
        for step in self.steps:
            joined = f"{step.column} = {step.other_column}"
            share = percent(step.share)
            lines.append(f"{step.hop}  {step.other_table}  {step.table}: {joined} ({share})")
        return "\n".join(lines)


def around_of(graph: JoinGraph, edges: Edges, table: str, hops: int) -> Around:
    """What lies around a table of the graph."""
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"hops must be between 1 and {MOST_HOPS}, not {hops}")
    nodes = graph.nodes
    begin = nodes.table(table)
    tables = by_table(edges, nodes)
    found = tables.steps(begin, hops)
    steps = []
    for hop, places in enumerate(found, start=1):
        at = tables.edge[places]
        named = zip(
            nodes.table_names.take(tables.source[places]).to_pylist(),
            nodes.column_names.take(edges.source[at]).to_pylist(),
            nodes.table_names.take(tables.target[places]).to_pylist(),
            nodes.column_names.take(edges.target[at]).to_pylist(),
            edges.shared[at].tolist(),
            edges.share[at].tolist(),
            strict=True,
        )
        steps += [Step(hop, *one) for one in named]
    inside = np.concatenate([[begin], *(tables.target[places] for places in found)])
    return Around(table, tuple(steps), _links(tables, edges, inside.astype(np.int64)))


def _links(tables: TableEdges, edges: Edges, inside: Array) -> tuple[tuple[int, int, float], ...]:
    place = np.full(tables.count, -1)
    place[inside] = np.arange(len(inside))
    both = (place[tables.source] >= 0) & (place[tables.target] >= 0)
    ends = zip(
        place[tables.source[both]].tolist(),
        place[tables.target[both]].tolist(),
        edges.share[tables.edge[both]].tolist(),
        strict=True,
    )
    return tuple(ends)
