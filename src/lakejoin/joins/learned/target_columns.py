"""Targets that programs may match: key columns, pairs of columns, and parts of columns.

A target is a program over the table's own columns whose results are nearly unique (thesis, section
4.4.3). Several columns are concatenated with `GLUE` between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.joins.learned.columns import UNIQUE, is_key_table, is_key, uniqueness
from lakejoin.joins.learned.keytable import KeyTable, hashes_of
from lakejoin.codegen.programs import Constant, Extract, Program, identity
from lakejoin.joins.learned.sampling import sample_rows

if TYPE_CHECKING:
    import pyarrow as pa

GLUE = "|"
_SAMPLED = 2000  # rows to detect a column's structure from
_COMMON = 0.8  # least share of rows with a separator
_MOST = 4  # targets of each kind
_MOST_PAIRED = 8  # to combine in pairs
_SEPARATOR = re.compile(r"[^\w\s]+\s*|\s+[^\w\s]+\s*|\s+")


def key_targets(texts: pa.Table, named: Sequence[str] = ()) -> dict[Program, KeyTable | None]:
    """The key columns of a text table with their keys; or the named columns, key or not.

    >>> import pyarrow as pa
    >>> table = pa.table({"id": ["1", "2"], "name": ["Bern", "Ulm"]}).cast(
    ...     pa.schema({"id": pa.large_string(), "name": pa.large_string()}))
    >>> [(str(target), len(keys)) for target, keys in key_targets(table).items()]
    [('name', 2)]
    """
    if named:
        return {concatenate_columns(named): None}
    found: dict[Program, KeyTable | None] = {}
    for name in texts.column_names:
        column = texts[name].combine_chunks()
        keys = KeyTable(hashes_of(column))
        if is_key_table(column, keys):
            found[identity(name)] = keys
    return found


def further_targets(
    texts: pa.Table, keys: Sequence[Program], named: bool = False
) -> Iterator[Program]:
    """Pairs of columns that are a key only together, unless columns are named; parts of keys."""
    if not named:
        yield from _pairs(texts, {name for key in keys for name in key.columns})
    for key in keys:
        if len(key.columns) == 1:
            yield from _parts(texts, key.columns[0])


def concatenate_columns(names: Sequence[str]) -> Program:
    """The program that concatenates columns.

    >>> print(concatenate_columns(["state", "county"]))
    state + "|" + county
    """
    parts: list[Constant | Extract] = [Extract(names[0])]
    for name in names[1:]:
        parts += [Constant(GLUE), Extract(name)]
    return Program(tuple(parts))


def fills_columns(program: Program, columns: int) -> bool:
    """Whether a program reads the source for each of the `columns` glued columns.

    >>> fills_columns(Program((Constant("Texas|"), Extract("county"))), 2)
    False
    """
    if columns == 1:
        return True
    filled = [False]
    for operator in program.operators:
        if isinstance(operator, Constant):
            filled += [False] * operator.text.count(GLUE)
        else:
            filled[-1] = True
    return sum(filled) >= columns


def _pairs(texts: pa.Table, keys: set[str]) -> Iterator[Program]:
    sample = texts.take(sample_rows(texts.num_rows, _SAMPLED, 1))
    alone = {name: uniqueness(sample[name].combine_chunks()) for name in texts.column_names}
    names = [name for name in texts.column_names if name not in keys and alone[name] > 0]
    names = sorted(names, key=lambda name: -alone[name])[:_MOST_PAIRED]
    found = []
    for two in combinations(sorted(names, key=texts.column_names.index), 2):
        target = concatenate_columns(two)
        together = uniqueness(apply_program(target, texts))
        if together >= UNIQUE and together > 1.05 * max(alone[name] for name in two):
            found.append((together, target))
    found.sort(key=lambda pair: -pair[0])
    yield from (target for _, target in found[:_MOST])


def _parts(texts: pa.Table, name: str) -> Iterator[Program]:
    """Parts of a column that are keys themselves."""
    made = 0
    for part in parts_by_separator(texts, name):
        if made < _MOST and is_key(apply_program(part, texts)):
            made += 1
            yield part


def parts_by_separator(texts: pa.Table, name: str) -> Iterator[Program]:
    """The first and last part of a column, by each separator that nearly all rows contain.

    >>> import pyarrow as pa
    >>> towns = pa.table({"town": ["Mobile, AL", "Nome, AK"]})
    >>> [str(part) for part in parts_by_separator(towns, "town")]
    ['split(town, ", ")[0]', 'split(town, ", ")[-1]']
    """
    column = texts[name].combine_chunks()
    sample = column.take(sample_rows(len(column), _SAMPLED, 1)).drop_null().to_pylist()
    counts: dict[str, int] = {}
    for text in sample:
        for separator in set(_SEPARATOR.findall(text)):
            counts[separator] = counts.get(separator, 0) + 1
    common = [s for s in counts if counts[s] >= _COMMON * len(sample)]
    for separator in sorted(common, key=lambda s: (-counts[s], -len(s), s))[:_MOST]:
        for index in (0, -1):
            yield Program((Extract(name, ((separator, index),)),))
