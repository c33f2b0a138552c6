"""Choose the columns that programs read, and the targets that they may match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import GLUE, Constant, Extract, Program, glue, identity
from lakejoin.joins.equal.shared_values import uniquely_named
from lakejoin.joins.learned.program_learner import KeyTable, hash_texts
from lakejoin.joins.learned.row_samples import sample_rows
from lakejoin.model import ColumnType
from lakejoin.values.column_encoder import encode_query
from lakejoin.values.plain_columns import is_text

_SAMPLED = 2000  # rows to detect a column's structure from
_COMMON = 0.8  # least share of rows with a separator
_MOST = 4  # targets of each kind
_MOST_PAIRED = 8  # to combine in pairs
_SEPARATOR = re.compile(r"[^\w\s]+\s*|\s+[^\w\s]+\s*|\s+")


def key_targets(texts: pa.Table, named: Sequence[str] = ()) -> dict[Program, KeyTable | None]:
    """The key columns of a text table with their keys; or the named columns, key or not.

    >>> table = pa.table({"id": ["1", "2"], "name": ["Bern", "Ulm"]}).cast(
    ...     pa.schema({"id": pa.large_string(), "name": pa.large_string()}))
    >>> [(str(target), len(keys)) for target, keys in key_targets(table).items()]
    [('name', 2)]
    """
    if named:
        return {glue([identity(name) for name in named]): None}
    targets: dict[Program, KeyTable | None] = {}
    for name in texts.column_names:
        column = texts[name].combine_chunks()
        keys = KeyTable(hash_texts(column))
        if is_key_table(column, keys):
            targets[identity(name)] = keys
    return targets


def further_targets(
    texts: pa.Table, keys: Sequence[Program], named: bool = False
) -> Iterator[Program]:
    """Pairs of columns that are a key only together, unless columns are named; parts of keys."""
    if not named:
        yield from _pairs(texts, {name for key in keys for name in key.columns})
    for key in keys:
        if len(key.columns) == 1:
            yield from _parts(texts, key.columns[0])


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
    # Numbers are nearly unique but seldom part of a key.
    names.sort(key=lambda name: (not _has_words(sample[name]), -alone[name]))
    names = names[:_MOST_PAIRED]
    candidates = []
    for two in combinations(sorted(names, key=texts.column_names.index), 2):
        target = glue([identity(name) for name in two])
        together = uniqueness(apply_program(target, texts))
        if together >= UNIQUE and together > 1.05 * max(alone[name] for name in two):
            candidates.append((together, target))
    candidates.sort(key=lambda pair: -pair[0])
    yield from (target for _, target in candidates[:_MOST])


def _has_words(texts: pa.ChunkedArray | pa.LargeStringArray) -> bool:
    """Whether most of some texts have letters."""
    return bool(2 * (pc.sum(pc.match_substring_regex(texts, r"\pL")).as_py() or 0) > len(texts))


def _parts(texts: pa.Table, name: str) -> Iterator[Program]:
    """Parts of a column that are keys themselves."""
    made = 0
    for part in parts_by_separator(texts, name):
        if made < _MOST and is_key(apply_program(part, texts)):
            made += 1
            yield part


def parts_by_separator(texts: pa.Table, name: str) -> Iterator[Program]:
    """The first and last part of a column, by each separator that nearly all rows contain.

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


UNIQUE = 0.8  # least share of distinct values of a key column
_MOST_COLUMNS = 12
_LONGEST = 200.0  # median characters: longer texts are descriptions
_TYPED = 5000  # rows to detect a column's type from
_RANKED = 500  # rows to rank columns by


def text_columns(table: pa.Table) -> pa.Table:
    """The columns that programs read, as text: those with a unique name and not too long.

    Integers, dates and times are converted to text; other types are skipped.

    >>> text_columns(pa.table({"no": [7], "name": ["Bern"], "share": [0.5]})).to_pylist()
    [{'no': '7', 'name': 'Bern'}]
    """
    chosen = {}
    for name in uniquely_named(table):
        if _is_writable(table[name].type):
            text = table[name].cast(pa.large_string())
            # The median, as one very long cell does not make a column of descriptions.
            sizes = pc.utf8_length(text)
            usual = pc.approximate_median(sizes).as_py()
            if usual is not None and usual <= _LONGEST and pc.max(sizes).as_py():
                chosen[name] = text.combine_chunks()
    return pa.table({name: chosen[name] for name in _likeliest(chosen)})


def _likeliest(columns: dict[str, pa.LargeStringArray]) -> list[str]:
    """The most distinct of many columns, in their order; at most a third of them are numbers, which
    are more distinct than words and seldom need rewriting, if there are enough others."""
    if len(columns) <= _MOST_COLUMNS:
        return list(columns)
    samples = {
        name: texts.take(sample_rows(len(texts), _RANKED, 0)) for name, texts in columns.items()
    }
    order = sorted(columns, key=lambda name: -uniqueness(samples[name]))
    words = [name for name in order if _has_words(samples[name])]
    numbers = [name for name in order if name not in words]
    few = max(_MOST_COLUMNS - len(words), _MOST_COLUMNS // 3)
    best = {*numbers[:few], *words[: _MOST_COLUMNS - min(few, len(numbers))]}
    return [name for name in columns if name in best]


def _is_writable(kind: pa.DataType) -> bool:
    t = pa.types
    return is_text(kind) or bool(t.is_integer(kind) or t.is_date(kind) or t.is_timestamp(kind))


def is_key(texts: pa.LargeStringArray) -> bool:
    """Whether a text column is a key.

    A column of consecutive numbers (1, 2, 3 …) is not: it matches any other such column.

    >>> [is_key(pa.array(c, pa.large_string())) for c in (["1", "2"], ["Bern", "Ulm"], ["x", "x"])]
    [False, True, False]
    """
    return is_key_table(texts, KeyTable(hash_texts(texts)))


def is_key_table(texts: pa.LargeStringArray, keys: KeyTable) -> bool:
    if keys.share < UNIQUE:
        return False
    rows = sample_rows(len(texts), _TYPED, 0)
    kind = encode_query(texts.take(rows)).profile.type
    if kind in (ColumnType.BOOLEAN, ColumnType.EMPTY, ColumnType.DECIMAL):
        return False
    return kind is not ColumnType.INTEGER or not _is_consecutive(texts)


def uniqueness(texts: pa.LargeStringArray) -> float:
    """The distinct texts per non-null row; 0 if all are the same."""
    return KeyTable(hash_texts(texts)).share


def _is_consecutive(texts: pa.LargeStringArray) -> bool:
    """Whether the integers are nearly consecutive."""
    digits = texts.filter(pc.match_substring_regex(texts, r"^-?\d{1,18}$"))
    numbers = pc.unique(digits.cast(pa.int64()))
    if not len(numbers):
        return False
    ends = pc.min_max(numbers).as_py()
    return bool(ends["max"] - ends["min"] < 3 * len(numbers) + 10)
