"""The neighborhood of a table: the tables within a few joins, and how they are reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.discovery.graph.reaching import Shown, links_between, reached
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.discovery.graph.joingraph import JoinGraph

Link = tuple[int, int, float]

MOST_HOPS = 4
MOST_LINKS = 20_000


@dataclass(frozen=True, slots=True)
class Step:
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
class Around:
    """The tables around `table`, the closest and best first."""

    table: str
    steps: tuple[Step, ...]
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
        from lakejoin.discovery.graph.picture import draw

        draw(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph TABLE --json`."""
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


def around_of(graph: JoinGraph, table: str, hops: int, min: float | None, numbers: bool) -> Around:
    """Find the neighborhood of a table of the graph."""
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"hops must be between 1 and {MOST_HOPS}, not {hops}")
    nodes, shown = graph.nodes, Shown(min, numbers)
    begin = nodes.table(table)
    rings = reached(graph, begin, hops, shown)
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
        steps += [Step(hop, *fields) for fields in named]
    inside = np.concatenate([[begin], *(nodes.tables_of(edges.target) for edges in rings)])

    def links() -> list[Link]:
        return links_between(graph, inside.astype(np.int64), shown, MOST_LINKS)

    return Around(table, tuple(steps), links)
