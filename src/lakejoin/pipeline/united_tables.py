"""Tables made of rows that were encoded apart: the files of a logical table, the chunks of a very
large file. Columns are united by name, one column in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lakejoin.model import (
    ColumnData,
    Dialect,
    LogicalTable,
    Loss,
    Source,
    TableData,
    ValueRules,
    null_id,
)
from lakejoin.text_format import counted
from lakejoin.values.column_encoder import ColumnChunk, ColumnEncoder

_NAMES_SHOWN = 5
_OWN_FORMATS = ("delta", "iceberg", "postgresql", "duckdb", "sqlite", "frame", "spark")


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """Some rows of a table; `column` reads one of the columns `names`, encoded on its own.

    `constants` are columns with the same value, or a null, in every row. `partial` are the columns
    that some of the files that the rows are from do not have. `part` names a table that is nested
    in the records of a file.
    """

    rows: int
    names: tuple[str, ...]
    column: Callable[[int], ColumnChunk]
    format: str = ""
    dialect: Dialect | None = None
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    constants: tuple[tuple[str, str | None], ...] = ()
    partial: tuple[str, ...] = ()
    part: str = ""


@dataclass(slots=True)
class UnitedColumns:
    """The columns of several runs of rows, by name: those in `first`, then in order of appearance,
    and the constants of any run last.

    Names that differ in case only are one column, unless a run has both.

    >>> runs = [EncodedRows(0, ("id", "a"), None), EncodedRows(0, ("ID", "b"), None)]
    >>> columns = UnitedColumns(runs)
    >>> columns.names, columns.positions["id"]
    (('id', 'a', 'b'), [0, 0])
    """

    runs: Sequence[EncodedRows]
    first: tuple[str, ...] = ()
    positions: dict[str, list[int | None]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        constants = dict.fromkeys(name for run in self.runs for name, _ in run.constants)
        spellings: dict[str, str] = {}
        for name in self.first:
            self._add(name, spellings)
        for number, run in enumerate(self.runs):
            own = set(run.names)
            for position, name in enumerate(run.names):
                united = name
                if name not in self.positions:
                    other = spellings.get(name.casefold())
                    if other is not None and other not in own:
                        united = other
                        self.renamed[name] = other
                    else:
                        self._add(name, spellings)
                self.positions[united][number] = position
        for name in constants:
            if name not in self.first and name in self.positions:
                self.positions[name] = self.positions.pop(name)  # to the end
            self._add(name, spellings)

    def _add(self, name: str, spellings: dict[str, str]) -> None:
        self.positions.setdefault(name, [None] * len(self.runs))
        spellings.setdefault(name.casefold(), name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.positions)

    @property
    def partial(self) -> tuple[str, ...]:
        """The columns that not every file has."""
        missing = {name for run in self.runs for name in run.partial}
        for name, positions in self.positions.items():
            constant = [any(key == name for key, _ in run.constants) for run in self.runs]
            pairs = zip(positions, constant, strict=True)
            if any(position is None and not is_constant for position, is_constant in pairs):
                missing.add(name)
        return tuple(name for name in self.positions if name in missing)

    def encode(self, name: str, rules: ValueRules) -> ColumnEncoder:
        """An encoder with all rows of a column."""
        encoder = ColumnEncoder(name, rules)
        for run, position in zip(self.runs, self.positions[name], strict=True):
            constants = dict(run.constants)
            if name in constants:
                encoder.append_chunk(_repeated(constants[name], run.rows))
            elif position is None:
                encoder.append_chunk(_repeated(None, run.rows))
            else:
                encoder.append_chunk(run.column(position))
        return encoder


def _repeated(value: str | None, rows: int) -> ColumnChunk:
    texts = pa.array([] if value is None else [value], pa.large_string())
    cell = null_id(np.dtype(np.uint8)) if value is None else 0
    return ColumnChunk(texts, np.full(rows, cell, np.uint8))


def unite_tables(
    source: Source, runs: Sequence[EncodedRows], rules: ValueRules, unread: int = 0
) -> Iterator[TableData]:
    """The table of a source, then those that are nested in its records."""
    for part in dict.fromkeys(["", *(run.part for run in runs)]):
        yield unite_table(source, [run for run in runs if run.part == part], rules, unread, part)


def unite_table(
    source: Source,
    runs: Sequence[EncodedRows],
    rules: ValueRules,
    unread: int = 0,
    part: str = "",
) -> TableData:
    """One table of all runs; `unread` files of it could not be read."""
    logical = source if isinstance(source, LogicalTable) else None
    columns = UnitedColumns(runs, () if logical is None or part else logical.plain_columns)
    return TableData(
        f"{source.name}#{part}" if part else source.name,
        source.name,
        sum(run.rows for run in runs),
        _finished(columns, rules),
        _format(logical, runs),
        _dialect(runs),
        _sum_losses(runs),
        (*_notes(logical, columns, unread), *_first_notes(runs)),
        None if logical is None else logical.composition,
        None if logical is None or part else logical.declared,
    )


def _finished(columns: UnitedColumns, rules: ValueRules) -> Iterator[ColumnData]:
    for name in columns.names:
        yield columns.encode(name, rules).finish()


def _format(logical: LogicalTable | None, runs: Sequence[EncodedRows]) -> str:
    if logical is not None and logical.composition.kind in _OWN_FORMATS:
        return logical.composition.kind
    return ", ".join(sorted({run.format for run in runs if run.format}))


def _dialect(runs: Sequence[EncodedRows]) -> Dialect | None:
    """The dialect of all runs; None if they differ."""
    first = runs[0].dialect if runs else None
    return first if all(run.dialect == first for run in runs) else None


def _sum_losses(runs: Sequence[EncodedRows]) -> tuple[Loss, ...]:
    sums: dict[str, Loss] = {}
    for loss in (loss for run in runs for loss in run.losses):
        total = sums.get(loss.reason, Loss(loss.reason, 0, loss.detail))
        sums[loss.reason] = Loss(loss.reason, total.count + loss.count, total.detail)
    return tuple(sums.values())


def _notes(logical: LogicalTable | None, columns: UnitedColumns, unread: int) -> Iterator[str]:
    if logical is None:
        return
    if unread:
        files = counted(logical.composition.files, "file")
        yield f"{unread:,} of {files} could not be read: see the list of skipped files"
    if columns.partial:
        yield f"not every file has the columns {_listed(columns.partial)}"
    if columns.renamed:
        pairs = [f"{name} is {united}" for name, united in columns.renamed.items()]
        yield f"names of columns that differ in case are one column: {_listed(pairs)}"


def _first_notes(runs: Sequence[EncodedRows]) -> tuple[str, ...]:
    """The notes of single files, each once; those of many files only begin."""
    return tuple(dict.fromkeys(note for run in runs for note in run.notes))[:_NAMES_SHOWN]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more
