"""Enriches a table with lake columns that help to predict a target: search, gather, choose,
measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.enrich.column_choice import ColumnChoice, ColumnChooser
from lakejoin.enrich.evaluation import Lift, check_folds, measure_lift, table_numbers
from lakejoin.enrich.lake_columns import LakeColumn, gather_columns, join_columns, used_links
from lakejoin.enrich.leakage import find_copied_columns
from lakejoin.enrich.links import EnrichOptions, Link, find_links
from lakejoin.enrich.training_data import Target, make_target
from lakejoin.errors import InputError
from lakejoin.values.column_names import find_column

if TYPE_CHECKING:
    from lakejoin.lake import Lake


ReportProgress = Callable[[str], None]


def prepare_chooser(
    lake: Lake,
    query: pa.Table,
    target: Target,
    options: EnrichOptions,
    report: ReportProgress,
) -> ColumnChooser:
    """Prepare a chooser for the rows that have a target. `query` must not contain the target
    column, which is used only by `find_copied_columns`, to find copies of it in the lake."""
    report("searching for tables that join")
    links = find_links(lake, query, options)
    report(f"reading the columns of {len(links)} tables")
    known = target.known
    rows, target = query.take(known), target.take(known)
    gathered = gather_columns(lake.snapshot, rows, links, options.on, options.sample)
    with_target = rows.append_column(target.name, pa.chunked_array([target.texts()]))
    same = find_copied_columns(lake.snapshot, links, with_target, gathered.rows)
    return ColumnChooser(
        gathered,
        table_numbers(rows.take(gathered.rows)),
        same,
        tuple(query.column_names),
        target.take(gathered.rows),
        options.columns,
        options.seed,
        report,
    )


@dataclass(frozen=True, eq=False)
class Enrichment:
    """The result of an enrichment; false if no column helps, and `why` says why not."""

    query: pa.Table
    options: EnrichOptions
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
        key = " and ".join(map(repr, self.options.on or ()))
        if not self.tables:
            return f"nothing found: no table in the lake joins on {key}"
        if not self.choice.examined:
            problem = "none of their columns adds anything that the table does not have"
        else:
            count = f"{self.choice.examined:,} columns"
            problem = (
                f"none of their {count} predicts {self.options.target!r} better than noise does"
            )
        return f"nothing found: {self.tables} tables in the lake join on {key}, but {problem}"

    @property
    def table(self) -> pa.Table:
        """The query table with the added columns."""
        table = self.query
        for column, values in zip(self.columns, self.added, strict=True):
            table = table.append_column(column.called, values)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Everything except the rows, as JSON; the keys are stable."""
        return {
            "on": list(self.options.on or ()),
            "target": self.options.target,
            "task": "classification" if self.classes else "regression",
            "by": self.options.by,
            "rows": self.query.num_rows,
            "sample": self.sample,
            "tables": self.tables,
            "looked_at": self.choice.examined,
            "found": bool(self),
            "why": "" if self else self.why,
            "columns": [self._column(position) for position in range(len(self.columns))],
            "left_out": [asdict(left_out) for left_out in self.choice.left_out],
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
            "mine": list(link.query_columns),
            "theirs": sorted(link.lake_columns),
            "kinds": list(link.kinds),
            "worth": self.choice.worth[position],
            "full": 1 - values.null_count / max(1, len(values)),
        }


def enrich_table(
    lake: Lake, query: pa.Table, options: EnrichOptions, report: ReportProgress
) -> Enrichment:
    """Find the lake columns that help to predict the target, and measure how much they help."""
    names = query.column_names
    target_index = find_column(names, options.target, "the table")
    on = tuple(names[find_column(names, name, "the table")] for name in options.on or ())
    if names[target_index] in on:
        raise InputError(
            f"{options.target!r} is both the target and a key: choose another target or key"
        )
    target = make_target(query.column(target_index), names[target_index], options.task)
    check_folds(options.folds, min(len(target.known), options.sample))
    rows = query.remove_column(target_index)
    chooser = prepare_chooser(lake, rows, target, replace(options, on=on), report)
    gathered = chooser.gathered
    choice = chooser.choose(np.arange(len(gathered.rows)))
    chosen = [gathered.values[position].column for position in choice.positions]
    links, columns = used_links(gathered.links, chosen)
    lift = measure_lift(chooser, options.folds) if columns else None
    report("joining the columns")
    added = join_columns(lake.snapshot, links, columns, rows)
    return Enrichment(
        query,
        options,
        tuple(columns),
        tuple(links),
        choice,
        tuple(added),
        lift,
        len(gathered.links),
        len(gathered.rows),
        target.classes,
    )
