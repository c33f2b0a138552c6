"""Match dates inside texts with the dates of the other table, in any format.

Programs are learned from what texts share. `Tue Mar 5 1999` and `05/03/1999` share only a year and
are still the same day: without its first word, the text is a date. So if no program is found, the
readings of a column (see `readings`) that are dates are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Program
from lakejoin.joins.row_keys import KeyColumn
from lakejoin.joins.readings import readable_parts
from lakejoin.joins.report import percent
from lakejoin.joins.task import JoinTask, side_words
from lakejoin.joins.join_key import JoinKey, KeyRule
from lakejoin.values.column_encoder import encode_query
from lakejoin.model import ColumnData, ColumnType
from lakejoin.signals.chance import match_chance, evidence

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

_SAMPLE = 200
_COLUMNS = 12
_UNIQUE_DATES = 0.8  # least share of distinct dates of a key column
_SHARE, _NATS = 0.65, 20.0  # least share of the fewer dates that match, and its evidence


def match_embedded_dates(task: JoinTask) -> JoinKey | None:
    """Match rows by dates inside the texts of one side; named columns are trusted."""
    best: JoinKey | None = None
    for side in ("left", "right"):
        other = "right" if side == "left" else "left"
        on = [pair if side == "left" else pair[::-1] for pair in task.options.on]
        targets = _dates(task.table(other), [target for _, target in on])
        for source in _texts(task.table(side), [source for source, _ in on]) if targets else ():
            for program in _readings(task.table(side)[source], source):
                for target, dates in targets.items():
                    found = _found(task, side, program, target, dates)
                    believed = on or _is_believed(task, found, program, dates)
                    if believed and _rows(found) > _rows(best):
                        best = found
    return best


def _rows(found: JoinKey | None) -> int:
    return 0 if found is None else sum(found.joined)


def _dates(table: pa.Table, named: list[str]) -> dict[str, ColumnData]:
    """The columns of dates."""
    import pyarrow as pa

    names = named or [n for n in table.column_names if table.column_names.count(n) == 1]
    dates = (n for n in names if not pa.types.is_nested(table[n].type) and _is_date(table[n]))
    return {name: encode_query(table[name]) for name in islice(dates, _COLUMNS)}


def _texts(table: pa.Table, named: list[str]) -> list[str]:
    import pyarrow as pa

    kinds = pa.types.is_string, pa.types.is_large_string
    names = named or [n for n in table.column_names if table.column_names.count(n) == 1]
    return [name for name in names if any(kind(table[name].type) for kind in kinds)][:_COLUMNS]


def _is_date(column: pa.ChunkedArray | pa.Array) -> bool:
    return encode_query(column.slice(0, _SAMPLE)).profile.type is ColumnType.DATE


def _readings(column: pa.ChunkedArray, name: str) -> Iterator[Program]:
    """The parts of a column that are dates, except its whole text."""
    import pyarrow as pa

    few = pa.table({name: column.slice(0, _SAMPLE).cast(pa.large_string())})
    seen = [few[name].to_pylist()]
    for part in readable_parts(name, seen[0]):
        texts = apply_program(Program((part,)), few)
        if 2 * texts.null_count < len(texts) and texts.to_pylist() not in seen and _is_date(texts):
            seen.append(texts.to_pylist())
            yield Program((part,))


def _found(task: JoinTask, side: str, program: Program, target: str, dates: ColumnData) -> JoinKey:
    key = KeyColumn(dates)
    codes = key.codes_of(encode_query(task.text(side, program.columns, program)))
    words = side_words(side, str(program), target, "=")
    matched = int(np.count_nonzero(codes >= 0))
    why = f"{matched:,} rows ({percent(matched / max(1, len(codes)))}) contain a date of {target}"
    way = KeyRule("transform", program.columns, codes, words, 1.0, why, program)
    return JoinKey(side, (target,), key.codes, key.count, (way,))


def _is_believed(task: JoinTask, found: JoinKey, program: Program, dates: ColumnData) -> bool:
    """Whether the dates are keys and match more often than by chance."""
    texts = task.text(found.source_side, program.columns, program)
    source = encode_query(texts)
    if min(source.profile.uniqueness, dates.profile.uniqueness) < _UNIQUE_DATES:
        return False
    fewer, more = sorted((source.tokens, dates.tokens), key=len)
    shared = len(np.unique(found.source_codes[found.way_of >= 0]))
    share = shared / max(1, len(fewer))
    return share >= _SHARE and evidence(len(fewer), share, match_chance(fewer, more)) >= _NATS
