"""What must code do to make our rows? The texts that it compares, and what it must know beside.

Code compares texts, and we compare canonical values. So texts are compared as they are, or without
blanks around, or in lower case, whichever comes nearest to the canonical values of these columns;
and texts that even so would not meet rightly are listed with the key that they mean. A fuzzy match
is such a list and nothing else. Where a list would be too long it is left out, and a comment says
how many rows the code then joins otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.autojoin.programs import Program, identity
from lakejoin.joins.joined import result_names
from lakejoin.joins.ways import LISTED, Found, Told, Way
from lakejoin.joins.written.spelling import Normal, Respelt, Spelling, spelling_of
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.join import Join

MOST_LISTED = 1000  # texts of one list
_AS_TEXT = "its texts may look otherwise in code than here, and rows then meet otherwise than here"


@dataclass(frozen=True, slots=True)
class Compared:
    """What one side compares: the text that a program makes, and texts that mean another key."""

    program: Program
    cast: frozenset[str]  # columns that are no text yet
    whole: frozenset[str]  # those of whole numbers among them
    respelt: Respelt
    listed: bool = False  # only the texts that are listed have a key
    nulls: tuple[str, ...] | None = None  # null words, where code makes texts canonical itself


class Number(Enum):
    """As what numbers are compared: a floating one only holds whole ones up to 2^53."""

    WHOLE = "int64"
    UNSIGNED = "uint64"
    FLOATING = "double"


@dataclass(frozen=True, slots=True)
class Part:
    """One pair of things that must be equal: the key, and the ways in which the source gets it.

    Where `typed`, the two columns are compared as they are and not as texts; `number` then says as
    what two columns of numbers are, which may be of several types. A part with `only` counts in the
    rows whose first part has one of these keys: in all others both sides are an empty text.
    """

    key: Compared
    ways: tuple[Compared, ...]
    normal: Normal
    typed: bool = False
    number: Number | None = None
    only: tuple[str, ...] = ()

    @property
    def is_simple(self) -> bool:
        """Whether an equality says it all."""
        lists = [self.key, *self.ways]
        return (
            len(self.ways) == 1
            and not self.only
            and not any(one.listed or one.respelt for one in lists)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What the code of a join has to say, in any language."""

    source_side: str
    how: str
    parts: tuple[Part, ...]
    left: tuple[str, ...]  # the names of the left columns
    right: tuple[str, ...]
    names: tuple[str, ...]  # of the result
    comments: tuple[str, ...]

    def free(self, name: str) -> str:
        """The name, or one like it that no column has, whatever its case."""
        taken = {one.lower() for one in (*self.left, *self.right, *self.names)}
        while name.lower() in taken:
            name += "_"
        return name


def plan_of(join: Join) -> Plan:
    """The plan of a join that was found."""
    found = join.known
    comments = [_headline(join), *(f"{s.kind}: {s.words}" for s in join.steps)]
    if join.options.one_to_one and join.matched < join.pairs_before_one_to_one:
        raise InputError(
            "which of several equal rows one-to-one pairs cannot be written as code; pairs() has "
            "the rows"
        )
    if join.options.aggregate:
        comments.append(f"before aggregating: {', '.join(join.options.aggregate)}")
    source, target = join.left, join.right
    if found.source_side == "right":
        source, target = target, source
    if len(found.columns) > 1 and found.program is None:
        parts = _parts_of_several(join, found, source, target, comments)
    else:
        parts = _parts_of_one(found, source, target, comments)
    names = result_names(join.left.column_names, join.right.column_names, join.options.suffix)
    return Plan(
        found.source_side,
        join.options.how,
        parts,
        tuple(join.left.column_names),
        tuple(join.right.column_names),
        tuple(names),
        tuple(comments),
    )


def _headline(join: Join) -> str:
    return f"{join.options.how} join, written by lakejoin: {join.matched:,} pairs of rows meet"


def _parts_of_one(
    found: Found, source: pa.Table, target: pa.Table, comments: list[str]
) -> tuple[Part, ...]:
    """A key, and what tells the rows of some keys apart."""
    told = found.told
    if told is None:
        return (_part(found, source, target, comments),)
    spelling, part = _as_texts(found, source, target, comments)
    only = spelling.texts_of(np.flatnonzero(told.split))
    if not only:
        return (part,)
    if len(only) > MOST_LISTED:
        comments.append(
            f"rows of {len(only):,} keys are told apart by {told.words}, and meet all in this code"
        )
        return (part,)
    comments.append(f"rows of {len(only):,} keys are told apart by {told.words}")
    return part, replace(_telling(found, told, source, target, comments), only=only)


def _telling(
    found: Found, told: Told, source: pa.Table, target: pa.Table, comments: list[str]
) -> Part:
    """What tells the rows of a key apart, of the rows that it has to."""
    split = np.append(told.split, False)
    mine, theirs = split[found.source_codes], split[found.codes]
    values = told.target_codes[theirs]
    count = 1 + int(max(told.target_codes.max(initial=0), 0))
    way = Way("transform", told.source.columns, told.source_codes[mine], "", 1.0, "", told.source)
    only = Found("left", told.target.columns, values, count, (way,), told.target)
    return _part(only, source.filter(mine), target.filter(theirs), comments)


def _programs(found: Found) -> tuple[Program, list[Program]]:
    """What makes the key, and what each way makes of the source."""
    ways = [way.program or identity(way.columns[0]) for way in found.ways]
    return found.program or identity(found.columns[0]), ways


def _part(found: Found, source: pa.Table, target: pa.Table, comments: list[str]) -> Part:
    """The only part: a key, and one way or several."""
    key, ways = _programs(found)
    kinds = _kinds(source, ways[0]), _kinds(target, key)
    only = found.ways[0]
    if len(ways) == 1 and only.kind == "equal" and ways[0].is_identity and key.is_identity:
        typed = _typed(found, only, *kinds, comments)
        if typed is not None:
            return typed
    if len(ways) == 1 and only.kind == "nearest" and _number(*kinds) is Number.FLOATING:
        return _listed_numbers(found, only, source, target, comments)
    return _as_texts(found, source, target, comments)[1]


def _as_texts(
    found: Found, source: pa.Table, target: pa.Table, comments: list[str]
) -> tuple[Spelling, Part]:
    """What is compared as texts, and how these are spelt."""
    key, ways = _programs(found)
    for program, table in ((key, target), *((way, source) for way in ways)):
        comments += _doubtful(program, table)
    spelling = spelling_of(found, [(way, source) for way in ways], (key, target))
    return spelling, _spelt(spelling, found, ways, key, source, target, comments)


def _spelt(
    spelling: Spelling,
    found: Found,
    ways: list[Program],
    key: Program,
    source: pa.Table,
    target: pa.Table,
    comments: list[str],
) -> Part:
    compared = []
    for way, program, respelt, rows in zip(
        found.ways, ways, spelling.ways, spelling.rows, strict=True
    ):
        listed = way.kind in LISTED
        comments += _too_long(respelt, rows, listed)
        kept = respelt if len(respelt) <= MOST_LISTED else {}
        compared.append(Compared(program, *_cast(program, source), kept, listed))
    comments += _too_long(spelling.key, spelling.key_rows, False)
    respelt = spelling.key if len(spelling.key) <= MOST_LISTED else {}
    return Part(
        Compared(key, *_cast(key, target), respelt),
        tuple(compared),
        spelling.normal,
    )


def _parts_of_several(
    join: Join, found: Found, source: pa.Table, target: pa.Table, comments: list[str]
) -> tuple[Part, ...]:
    """A key of several columns: each pair of columns by itself."""
    if len(found.ways) != 1 or found.ways[0].kind != "equal":
        raise InputError("the nearest of several columns cannot be written as code; see pairs()")
    pairs = zip(found.ways[0].columns, found.columns, strict=True)
    rules = join.options.rules
    return tuple(part_of_pair(source, target, pair, rules, comments) for pair in pairs)


def part_of_pair(
    source: pa.Table,
    target: pa.Table,
    pair: tuple[str, str],
    rules: ValueRules,
    comments: list[str],
) -> Part:
    """What must be compared for a column of the source to be equal to one of the other table."""
    from lakejoin.joins.by_values import equal_on
    from lakejoin.joins.options import JoinOptions
    from lakejoin.joins.task import Task

    task = Task(source, target, JoinOptions(rules=rules), lambda doing: None)
    return _part(equal_on(task, (pair,), 1.0, "", side="left"), source, target, comments)


# -- columns that are no text ------------------------------------------------------------------


def _kinds(table: pa.Table, program: Program) -> pa.DataType:
    return table.schema.field(program.columns[0]).type


def _typed(
    found: Found, way: Way, source: pa.DataType, target: pa.DataType, comments: list[str]
) -> Part | None:
    """Two columns that can be compared as what they are; None for texts."""
    import pyarrow as pa

    number = _number(source, target)
    plain = pa.types.is_temporal(source) or pa.types.is_boolean(source)
    if number is None and not (plain and source == target):
        return None
    if number is Number.FLOATING and not (_is_exact(source) and _is_exact(target)):
        comments.append(
            f"{way.columns[0]!r} and {found.columns[0]!r} are of types {source} and {target}, "
            "compared as double: numbers that a double does not hold may meet otherwise than here"
        )
    mine, theirs = identity(way.columns[0]), identity(found.columns[0])
    none: frozenset[str] = frozenset()
    return Part(
        Compared(theirs, none, none, {}),
        (Compared(mine, none, none, {}),),
        Normal(),
        typed=True,
        number=number,
    )


def _listed_numbers(
    found: Found, way: Way, source: pa.Table, target: pa.Table, comments: list[str]
) -> Part:
    """The nearest of numbers as numbers: no two systems write floating ones alike."""
    import pyarrow as pa

    mine, theirs = (
        table[columns[0]].cast(pa.float64()).to_numpy()
        for table, columns in ((source, way.columns), (target, found.columns))
    )
    key = np.full(found.count + 1, np.nan)
    key[found.codes] = theirs
    near = key[np.where(way.codes >= 0, way.codes, found.count)]
    rows = np.flatnonzero((way.codes >= 0) & np.isfinite(mine) & np.isfinite(near))
    listed = dict(zip(mine[rows].tolist(), near[rows].tolist(), strict=True))
    comments += _too_long(listed, len(rows), True)
    none: frozenset[str] = frozenset()
    kept = listed if len(listed) <= MOST_LISTED else {}
    return Part(
        Compared(identity(found.columns[0]), none, none, {}),
        (Compared(identity(way.columns[0]), none, none, kept, listed=True),),
        Normal(),
        typed=True,
        number=Number.FLOATING,
    )


def _number(source: pa.DataType, target: pa.DataType) -> Number | None:
    """What both columns of numbers can be; None where one is no number, or no type holds both."""
    import pyarrow as pa

    kinds = source, target
    if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return None
    if any(pa.types.is_floating(kind) for kind in kinds):
        return Number.FLOATING
    unsigned = [pa.types.is_uint64(kind) for kind in kinds]
    if any(unsigned):
        return Number.UNSIGNED if all(unsigned) else None
    return Number.WHOLE


def _is_exact(kind: pa.DataType) -> bool:
    """Whether a double holds every number of a type, and it looks the same."""
    import pyarrow as pa

    small = pa.types.is_integer(kind) and kind.bit_width < 64
    return bool(small or pa.types.is_float64(kind))


def _cast(program: Program, table: pa.Table) -> tuple[frozenset[str], frozenset[str]]:
    """The columns that are no text, and those of whole numbers among them."""
    import pyarrow as pa

    cast = [name for name in program.columns if not _is_text(table, name)]
    whole = [name for name in cast if pa.types.is_integer(table.schema.field(name).type)]
    return frozenset(cast), frozenset(whole)


def _is_text(table: pa.Table, name: str) -> bool:
    import pyarrow as pa

    kind = table.schema.field(name).type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _doubtful(program: Program, table: pa.Table) -> Iterable[str]:
    """Columns whose texts differ from system to system."""
    import pyarrow as pa

    for name in program.columns:
        kind = table.schema.field(name).type
        if not (_is_text(table, name) or pa.types.is_integer(kind) or pa.types.is_date32(kind)):
            yield f"the column {name!r} is of type {kind}: {_AS_TEXT}, see pairs()"


def _too_long(respelt: Respelt, rows: int, listed: bool) -> list[str]:
    if len(respelt) <= MOST_LISTED:
        return []
    if listed:
        return [f"{rows:,} more rows are joined through {len(respelt):,} pairs: see pairs()"]
    return [
        f"{rows:,} rows are joined otherwise here, as their {len(respelt):,} values are written "
        "differently on the two sides: see pairs()"
    ]
