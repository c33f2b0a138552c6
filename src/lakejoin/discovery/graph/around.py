"""What lies around a table: the tables that can be reached by a few joins, and how."""

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


@dataclass(frozen=True)
class Around:
    """The tables around one, the nearest and best first."""

    table: str
    steps: tuple[Step, ...]
    read_links: Callable[[], Sequence[Link]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def links(self) -> Sequence[Link]:
        """The joins between these tables, one for two of them, the strongest first: places in (the
        table itself, then `steps`), and the share. Very many are not all told."""
        return self.read_links()

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


def around_of(graph: JoinGraph, table: str, hops: int, min: float | None, numbers: bool) -> Around:
    """What lies around a table of the graph."""
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"hops must be between 1 and {MOST_HOPS}, not {hops}")
    nodes, shown = graph.nodes, Shown(min, numbers)
    begin = nodes.table(table)
    found = reached(graph, begin, hops, shown)
    steps = []
    for hop, edges in enumerate(found, start=1):
        named = zip(
            nodes.table_names(nodes.tables_of(edges.source)).to_pylist(),
            nodes.column_names(edges.source).to_pylist(),
            nodes.table_names(nodes.tables_of(edges.target)).to_pylist(),
            nodes.column_names(edges.target).to_pylist(),
            edges.shared.tolist(),
            edges.share.tolist(),
            strict=True,
        )
        steps += [Step(hop, *one) for one in named]
    inside = np.concatenate([[begin], *(nodes.tables_of(edges.target) for edges in found)])

    def links() -> list[Link]:
        return links_between(graph, inside.astype(np.int64), shown, MOST_LINKS)

    return Around(table, tuple(steps), links)
