"""The neighborhood of a table: the tables within a few joins, and how they are reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.graph.reaching import EdgeFilter, find_links, reach_tables
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.graph.join_graph import JoinGraph

Link = tuple[int, int, float]

MOST_HOPS = 4
MOST_LINKS = 20_000


@dataclass(frozen=True, slots=True)
class NeighborhoodStep:
    """A join that leads to a new table: `shared` values of `column`, a share `share` of them, are
    in `other_column` of the new table."""

    hop: int
    table: str
    column: str
    other_table: str
    other_column: str
    shared: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph TABLE --json`."""
        return {
            "hop": self.hop,
            "table": self.table,
            "column": self.column,
            "other_table": self.other_table,
            "other_column": self.other_column,
            "shared": self.shared,
            "containment": self.share,
        }


@dataclass(frozen=True)
class Neighborhood:
    """The tables around `table`, the closest and best first."""

    table: str
    steps: tuple[NeighborhoodStep, ...]
    read_links: Callable[[], Sequence[Link]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def links(self) -> Sequence[Link]:
        """The joins between these tables, one per pair, the strongest first: two positions (0 is
        the table itself, then `steps`) and the share. At most 20,000."""
        return self.read_links()

    def __len__(self) -> int:
        return len(self.steps)

    def hops(self) -> list[int]:
        """How many new tables each further join reaches."""
        most = max((step.hop for step in self.steps), default=0)
        return [sum(step.hop == hop for step in self.steps) for hop in range(1, most + 1)]

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Draw an SVG file: the table in the middle, a ring around it for each join."""
        from lakejoin.graph.ring_picture import draw_picture

        draw_picture(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph TABLE --json`."""
        steps = [step.to_dict() for step in self.steps]
        return {"table": self.table, "reached": self.hops(), "steps": steps}

    def __repr__(self) -> str:
        from lakejoin.search.answer_display import format_percent

        lines = [f"{self.table}: {', '.join(map(str, self.hops())) or 'no'} tables by join"]
        for step in self.steps:
            joined = f"{step.column} = {step.other_column}"
            share = format_percent(step.share)
            lines.append(f"{step.hop}  {step.other_table}  {step.table}: {joined} ({share})")
        return "\n".join(lines)


def find_neighborhood(graph: JoinGraph, table: str, hops: int, min: float | None, numbers: bool) -> Neighborhood:
    """Find the neighborhood of a table of the graph."""
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"hops must be between 1 and {MOST_HOPS}, not {hops}")
    nodes, shown = graph.nodes, EdgeFilter(min, numbers)
    begin = nodes.table(table)
    rings = reach_tables(graph, begin, hops, shown)
    steps = []
    for hop, edges in enumerate(rings, start=1):
        named = zip(
            nodes.table_names(nodes.tables_of(edges.source)).to_pylist(),
            nodes.column_names(edges.source).to_pylist(),
            nodes.table_names(nodes.tables_of(edges.target)).to_pylist(),
            nodes.column_names(edges.target).to_pylist(),
            edges.shared.tolist(),
            edges.share.tolist(),
            strict=True,
        )
        steps += [NeighborhoodStep(hop, *fields) for fields in named]
    inside = np.concatenate([[begin], *(nodes.tables_of(edges.target) for edges in rings)])

    def links() -> list[Link]:
        return find_links(graph, inside.astype(np.int64), shown, MOST_LINKS)

    return Neighborhood(table, tuple(steps), links)
