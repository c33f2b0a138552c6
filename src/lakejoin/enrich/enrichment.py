"""Enriches a table with lake columns that help to predict a target: search, gather, choose,
measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.column_choice import ColumnChoice, ColumnChooser
from lakejoin.enrich.evaluation import FOLDS, Lift, check_folds, measure_lift, table_numbers
from lakejoin.enrich.inputs import make_target
from lakejoin.enrich.lake_columns import LakeColumn, gather_columns, join_columns, used_links
from lakejoin.enrich.leakage import find_copied_columns
from lakejoin.enrich.links import Link, LinkRequest, find_links
from lakejoin.errors import InputError
from lakejoin.values.column_names import find_column

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.inputs import Target
    from lakejoin.lake import Lake


ReportProgress = Callable[[str], None]


@dataclass(frozen=True)
class EnrichLimits:
    """The number of sampled rows, the most columns to choose, and the seed."""

    sample: int = 2_000
    columns: int = 20
    seed: int = 0


def prepare_chooser(
    lake: Lake,
    mine: pa.Table,
    target: Target,
    wanted: LinkRequest,
    limits: EnrichLimits,
    tell: ReportProgress,
) -> ColumnChooser:
    """Prepare a chooser for the rows that have a target. `mine` must not contain the target column;
    the target is used only by `find_copied_columns`, to find copies of it in the lake."""
    import pyarrow as pa

    tell("searching for tables that join")
    links = find_links(lake, mine, wanted)
    tell(f"reading the columns of {len(links)} tables")
    known = target.known
    rows, target = mine.take(known), target.take(known)
    gathered = gather_columns(lake.snapshot, rows, links, wanted.on, limits.sample)
    with_target = rows.append_column(target.name, pa.chunked_array([target.texts()]))
    same = find_copied_columns(lake.snapshot, links, with_target, gathered.rows)
    return ColumnChooser(
        gathered,
        table_numbers(rows.take(gathered.rows)),
        same,
        tuple(mine.column_names),
        target.take(gathered.rows),
        limits.columns,
        limits.seed,
        tell,
    )


@dataclass(frozen=True)
class EnrichOptions:
    """The options of an enrichment: the key, the target, and limits."""

    on: tuple[str, ...]
    target: str
    by: str = "auto"
    task: str = "auto"
    tables: int = 30
    exclude: tuple[str, ...] = ()
    folds: int = FOLDS
    limits: EnrichLimits = field(default_factory=EnrichLimits)


@dataclass(frozen=True, eq=False)
class Enrichment:
    """The result of an enrichment; false if no column helps, and `why` says why not."""

    mine: pa.Table
    asked: EnrichOptions
    columns: tuple[LakeColumn, ...]
    links: tuple[Link, ...]
    choice: ColumnChoice
    added: tuple[pa.Array, ...]
    lift: Lift | None
    tables: int  # number of tables that join
    sample: int  # rows used to choose columns
    classes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def why(self) -> str:
        """Why nothing is added."""
        key = " and ".join(map(repr, self.asked.on))
        if not self.tables:
            return f"nothing found: no table of the lake joins on {key}"
        if not self.choice.looked_at:
            problem = "none of their columns adds anything that the table does not have"
        else:
            count = f"{self.choice.looked_at:,} columns"
            problem = f"none of their {count} predicts {self.asked.target!r} better than noise does"
        return f"nothing found: {self.tables} tables of the lake join on {key}, but {problem}"

    @property
    def table(self) -> pa.Table:
        """The query table with the added columns."""
        table = self.mine
        for column, values in zip(self.columns, self.added, strict=True):
            table = table.append_column(column.called, values)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Everything except the rows, as JSON; the keys are stable."""
        return {
            "on": list(self.asked.on),
            "target": self.asked.target,
            "task": "classification" if self.classes else "regression",
            "by": self.asked.by,
            "rows": self.mine.num_rows,
            "sample": self.sample,
            "tables": self.tables,
            "looked_at": self.choice.looked_at,
            "found": bool(self),
            "why": "" if self else self.why,
            "columns": [self._column(position) for position in range(len(self.columns))],
            "left_out": [
                {"table": left_out.table, "column": left_out.column, "why": left_out.why}
                for left_out in self.choice.left_out
            ],
            "lift": self.lift.to_dict() if self.lift else None,
            "notes": list(self.choice.notes),
        }

    def _column(self, position: int) -> dict[str, Any]:
        column, values = self.columns[position], self.added[position]
        link = self.links[column.link]
        return {
            "name": column.called,
            "table": column.table,
            "column": column.name,
            "made": column.made,
            "mine": list(link.mine),
            "theirs": sorted(link.theirs),
            "kinds": list(link.kinds),
            "worth": self.choice.worth[position],
            "full": 1 - values.null_count / max(1, len(values)),
        }


def enrich_table(
    lake: Lake, mine: pa.Table, asked: EnrichOptions, tell: ReportProgress
) -> Enrichment:
    """Find the lake columns that help to predict the target, and measure how much they help."""
    names = mine.column_names
    target_index = find_column(names, asked.target, "the table")
    on = _key(names, asked)
    target = make_target(mine.column(target_index), names[target_index], asked.task)
    check_folds(asked.folds, min(len(target.known), asked.limits.sample))
    rows = mine.remove_column(target_index)
    wanted = LinkRequest(on, asked.by, asked.tables, asked.exclude)
    chooser = prepare_chooser(lake, rows, target, wanted, asked.limits, tell)
    gathered = chooser.gathered
    choice = chooser.choose(np.arange(len(gathered.rows)))
    chosen = [gathered.values[position].column for position in choice.places]
    links, columns = used_links(gathered.links, chosen)
    lift = measure_lift(chooser, asked.folds) if columns else None
    tell("joining the columns")
    added = join_columns(lake.snapshot, links, columns, rows)
    return Enrichment(
        mine,
        asked,
        tuple(columns),
        tuple(links),
        choice,
        tuple(added),
        lift,
        len(gathered.links),
        len(gathered.rows),
        target.classes,
    )


def _key(names: Sequence[str], asked: EnrichOptions) -> tuple[str, ...]:
    on = tuple(names[find_column(names, name, "the table")] for name in asked.on)
    if names[find_column(names, asked.target, "the table")] in on:
        raise InputError(
            f"{asked.target!r} is both the target and a key: choose another target or key"
        )
    return on
