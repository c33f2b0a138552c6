"""A table, enriched: which columns, from where, what they are worth, and the table with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.choosing import Choice
from lakejoin.enrich.gathering import Column
from lakejoin.enrich.joining import joined_columns, used
from lakejoin.enrich.lift import FOLDS, Lift, check_folds, measured
from lakejoin.enrich.linking import Link, Wanted
from lakejoin.enrich.preparing import Limits, Tell, prepared
from lakejoin.enrich.target import target_of
from lakejoin.errors import InputError
from lakejoin.lake.names import find_column

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.opened import Lake


@dataclass(frozen=True)
class Asked:
    """What is asked: the key, the target, and how much is looked at."""

    on: tuple[str, ...]
    target: str
    by: str = "auto"
    task: str = "auto"
    tables: int = 30
    exclude: tuple[str, ...] = ()
    folds: int = FOLDS
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, eq=False)
class Enriched:
    """What was found for a table: false where no column helps, and `why` says why not."""

    mine: pa.Table
    asked: Asked
    columns: tuple[Column, ...]
    links: tuple[Link, ...]
    choice: Choice
    added: tuple[pa.Array, ...]
    lift: Lift | None
    tables: int  # that join
    sample: int  # rows that columns were chosen by
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
            what = "no column of theirs tells anything that is not in my table already"
        else:
            looked = f"{self.choice.looked_at:,} columns"
            what = f"none of their {looked} predicts {self.asked.target!r} better than noise does"
        return f"nothing found: {self.tables} tables of the lake join on {key}, but {what}"

    @property
    def table(self) -> pa.Table:
        """My table with the columns of the lake."""
        table = self.mine
        for column, values in zip(self.columns, self.added, strict=True):
            table = table.append_column(column.called, values)
        return table

    def to_dict(self) -> dict[str, Any]:
        """All but the rows, as JSON has it; the keys are stable."""
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
            "columns": [self._column(place) for place in range(len(self.columns))],
            "left_out": [
                {"table": one.table, "column": one.column, "why": one.why}
                for one in self.choice.left_out
            ],
            "lift": self.lift.to_dict() if self.lift else None,
            "notes": list(self.choice.notes),
        }

    def _column(self, place: int) -> dict[str, Any]:
        column, values = self.columns[place], self.added[place]
        link = self.links[column.link]
        return {
            "name": column.called,
            "table": column.table,
            "column": column.name,
            "made": column.made,
            "mine": list(link.mine),
            "theirs": sorted(link.theirs),
            "kinds": list(link.kinds),
            "worth": self.choice.worth[place],
            "full": 1 - values.null_count / max(1, len(values)),
        }


def enriched(lake: Lake, mine: pa.Table, asked: Asked, tell: Tell) -> Enriched:
    """What the lake adds to my table so that the target is predicted better, and how much."""
    names = mine.column_names
    place = find_column(names, asked.target, "the table")
    on = _key(names, asked)
    target = target_of(mine.column(place), names[place], asked.task)
    check_folds(asked.folds, min(len(target.known), asked.limits.sample))
    rows = mine.remove_column(place)
    wanted = Wanted(on, asked.by, asked.tables, asked.exclude)
    chooser = prepared(lake, rows, target, wanted, asked.limits, tell)
    gathered = chooser.gathered
    choice = chooser.choose(np.arange(len(gathered.rows)))
    chosen = [gathered.values[one].column for one in choice.places]
    links, columns = used(gathered.links, chosen)
    lift = measured(chooser, asked.folds) if columns else None
    tell("joining the columns")
    added = joined_columns(lake.snapshot, links, columns, rows)
    return Enriched(
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


def _key(names: Sequence[str], asked: Asked) -> tuple[str, ...]:
    on = tuple(names[find_column(names, one, "the table")] for one in asked.on)
    if names[find_column(names, asked.target, "the table")] in on:
        raise InputError(f"{asked.target!r} is the target and a key: name another one of the two")
    return on
