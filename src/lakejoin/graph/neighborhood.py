"""The neighborhood of a table: the tables within a few joins, and how they are reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.graph.graph_elements import Edges, concat_edges
from lakejoin.graph.graph_export import edges_to_arrow
from lakejoin.graph.ring_picture import draw_picture
from lakejoin.model import Array
from lakejoin.text_format import format_percent

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NeighborhoodStep:
        """Read the JSON of `to_dict`."""
        names = ("hop", "table", "column", "other_table", "other_column", "shared", "containment")
        return cls(*(data[name] for name in names))

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph TABLE --json`."""
        data = asdict(self)
        data["containment"] = data.pop("share")
        return data


@dataclass(frozen=True)
class Neighborhood:
    """The tables around `table`, the closest and best first; a sequence of the joins to them.

    `complete` is false if the graph lacks some tables, `kept` if the index has no graph and the
    joins were searched for. `reached` counts the tables by number of joins, if not all are in
    `steps`.
    """

    table: str
    steps: tuple[NeighborhoodStep, ...]
    read_links: Callable[[], Sequence[Link]] = field(default=tuple, repr=False, compare=False)
    complete: bool = True
    kept: bool = True
    reached: tuple[int, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Neighborhood:
        """Read the JSON of `to_dict`, as a server sends it."""
        steps = tuple(map(NeighborhoodStep.from_dict, data["steps"]))
        figures = {name: data[name] for name in ("complete", "kept") if name in data}
        return cls(data["table"], steps, reached=tuple(data["reached"]), **figures)

    def __iter__(self) -> Iterator[NeighborhoodStep]:
        return iter(self.steps)

    @cached_property
    def links(self) -> Sequence[Link]:
        """The joins between these tables, one per pair, the strongest first: two positions (0 is
        the table itself, then `steps`) and the share. At most 20,000."""
        return self.read_links()

    def __len__(self) -> int:
        return len(self.steps)

    def hops(self) -> list[int]:
        """How many new tables each further join reaches."""
        if self.reached:
            return list(self.reached)
        most = max((step.hop for step in self.steps), default=0)
        return [sum(step.hop == hop for step in self.steps) for hop in range(1, most + 1)]

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Draw an SVG file: the table in the middle, a ring around it for each join."""
        draw_picture(self, path)

    def to_dict(self) -> dict[str, Any]:
        """For `lakejoin graph TABLE --json`."""
        steps = [step.to_dict() for step in self.steps]
        return {"table": self.table, "reached": self.hops(), "steps": steps}

    def __repr__(self) -> str:
        reached = ", ".join(map(str, self.hops())) or "no"
        lines = [f"{self.table}: {reached} tables, by number of joins"]
        for step in self.steps:
            joined = f"{step.column} = {step.other_column}"
            share = format_percent(step.share)
            lines.append(f"{step.hop}  {step.other_table}  {step.table}: {joined} ({share})")
        return "\n".join(lines)


def find_neighborhood(
    graph: JoinGraph, table: str, hops: int, min: float | None, numbers: bool
) -> Neighborhood:
    if not 1 <= hops <= MOST_HOPS:
        raise InputError(f"hops must be between 1 and {MOST_HOPS}, not {hops}")
    nodes, shown = graph.nodes, EdgeFilter(min, numbers)
    begin = nodes.table(table)
    rings = reach_tables(graph, begin, hops, shown)
    steps = []
    for hop, edges in enumerate(rings, start=1):
        rows = edges_to_arrow(graph, edges).to_pylist()
        steps += [NeighborhoodStep(hop, *row.values()) for row in rows]
    inside = np.concatenate([[begin], *(nodes.tables_of(edges.target) for edges in rings)])

    def links() -> list[Link]:
        return find_links(graph, inside.astype(np.int64), shown, MOST_LINKS)

    return Neighborhood(table, tuple(steps), links)


_TABLES_AT_ONCE = 256  # whose edges are read together


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Which edges count: those of at least the share `min`, with columns of `numbers` or not."""

    min: float | None = None
    numbers: bool = True


def reach_tables(graph: JoinGraph, begin: int, hops: int, shown: EdgeFilter) -> list[Edges]:
    """By hop, the best edge to each new table: largest share, then most values; best first."""
    seen = np.zeros(graph.nodes.tables, dtype=bool)
    seen[begin] = True
    last, rings = np.array([begin]), []
    for _ in range(hops):
        best = concat_edges([])
        for at in range(0, len(last), _TABLES_AT_ONCE):
            edges = graph.edges_of(last[at : at + _TABLES_AT_ONCE], shown.min, shown.numbers)
            new = ~seen[graph.nodes.tables_of(edges.target)]
            best = _best(graph, concat_edges([best, edges.take(new)]))
        if not len(best):
            break
        last = graph.nodes.tables_of(best.target)
        seen[last] = True
        rings.append(best)
    return rings


def _best(graph: JoinGraph, edges: Edges) -> Edges:
    source, target = graph.nodes.tables_of(edges.source), graph.nodes.tables_of(edges.target)
    order = np.lexsort((edges.target, edges.source, target, source, -edges.shared, -edges.share))
    _, first = np.unique(target[order], return_index=True)
    return edges.take(order[np.sort(first)])


def find_links(
    graph: JoinGraph, tables: Array, shown: EdgeFilter, most: int
) -> list[tuple[int, int, float]]:
    """The strongest `most` joins between tables: two positions in `tables`, and the share."""
    position = np.full(graph.nodes.tables, -1)
    position[tables] = np.arange(len(tables))
    ends, shares = np.zeros((2, 0), dtype=np.int64), np.zeros(0)
    for at in range(0, len(tables), _TABLES_AT_ONCE):
        edges = graph.edges_of(tables[at : at + _TABLES_AT_ONCE], shown.min, shown.numbers)
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
