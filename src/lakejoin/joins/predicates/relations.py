"""Which tables refer to which? The likely key relations among all tables of a database.

A relation is a column (or some together) of one table whose values are those of a key of another.
What speaks for it is weighed in one number: that more values meet than chance would have meet, that
the names say so, that the key is the one that its table is named for, and that much of the key is
used. What speaks against it: values that the key lacks. A column refers to one key, the best; and
of several relations by which the rows of one table find the same rows of another (a customer's
number, and the address that is copied with it) one is listed, the best. Tables with the same
columns are versions of one table, and their columns of the same name do not refer to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.composites import Composite, composites, without_steps
from lakejoin.joins.predicates.references import (
    Column,
    Reference,
    TableGiven,
    encoded_columns,
    references,
)
from lakejoin.joins.shown import percent
from lakejoin.model import ValueRules
from lakejoin.signals.likely_names import CONTAINED, SAME, hints_at

Array = np.ndarray[Any, Any]

# What each sign is worth, in nats; a relation is listed where the sum is above zero.
_BIAS = -7.5
_OF_EVIDENCE = 0.25  # of each nat, …
_MOST_EVIDENCE = 40.0  # … and of no more than so many
_SAME_IDS = 8.0
_SAME_NAMES = 5.0
_CONTAINED_IDS = 5.0
_CONTAINED_NAMES = 3.0
_HINT = 4.0
_OTHER_NAMES = -2.0  # of identifiers
_OTHER_WORDS = -6.0
_OWN_KEY = 2.0
_NAMED_FOR = 1.0
_NOT_UNIQUE = -20.0
_COVERAGE = 2.0
_MISSING = -20.0
_COMPOSITE = 0.8  # how likely a relation of several columns is
_KEY_REFERS = -3.0  # a table's own key seldom refers to another one

# A further pair of columns that is equal in so many rows is copied with the key, …
_COPIED = 0.8
_COPIED_KEY = 0.99  # … and one that identifies: else it has a role of its own (home and away team)


@dataclass(frozen=True, slots=True)
class Relation:
    """A key relation: `columns` of `table` refer to `key_columns` of `key_table`.

    `rows` of the table refer to a row of the other. The columns have `values` distinct values, of
    which the key lacks `missing`; the key has `keys`. `score` is how likely it is, 0 to 1.
    """

    table: str
    columns: tuple[str, ...]
    key_table: str
    key_columns: tuple[str, ...]
    rows: int
    values: int
    missing: int
    keys: int
    score: float
    why: str

    def to_json(self) -> dict[str, Any]:
        """As plain values, with the keys of `lakejoin predicates --json`."""
        return {
            "table": self.table,
            "columns": list(self.columns),
            "key_table": self.key_table,
            "key_columns": list(self.key_columns),
            "rows": self.rows,
            "values": self.values,
            "missing": self.missing,
            "keys": self.keys,
            "score": self.score,
            "why": self.why,
        }


def find_relations(
    tables: Sequence[TableGiven],
    rules: ValueRules | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
) -> list[Relation]:
    """The likely relations among the tables, the likeliest first; `notes` say what was left out."""
    tell = progress or (lambda doing: None)
    columns, size = encoded_columns(tables, rules, tell)
    tell("comparing columns")
    likely = [
        one
        for one in references(columns, size)
        if not _are_versions(one) and worth(one) > 0 and not _is_itself(one)
    ]
    chosen = _without_copies(_one_key_each(_in_one_direction(likely)))
    found = [_told(one) for one in chosen]
    tell("looking for keys of several columns")
    several = without_steps(list(composites(columns, chosen, notes)))
    found += [_told_composite(one) for one in several]
    return sorted(found, key=lambda one: (-one.score, one.table, one.columns))


def worth(reference: Reference) -> float:
    """What all signs together say, in nats; above zero it is likelier than not."""
    child, parent = reference.child, reference.parent
    alone = _BIAS + _COVERAGE * reference.coverage + _MISSING * (1 - reference.containment)
    alone += _names_worth(reference)
    alone += _NOT_UNIQUE * (1 - parent.coded.profile.uniqueness)
    alone += _OWN_KEY if parent.is_own_key else _NAMED_FOR if parent.is_of_table else 0.0
    alone += _KEY_REFERS if child.is_own_key and child.coded.profile.uniqueness == 1 else 0.0
    if alone + _OF_EVIDENCE * _MOST_EVIDENCE <= 0:  # measuring chance takes the most time
        return alone
    return alone + _OF_EVIDENCE * min(reference.evidence, _MOST_EVIDENCE)


def _names_worth(reference: Reference) -> float:
    names = reference.names
    if names.alike == SAME:
        return _SAME_IDS if names.identify else _SAME_NAMES
    if names.alike >= CONTAINED:
        return _CONTAINED_IDS if names.identify else _CONTAINED_NAMES
    child, parent = reference.child, reference.parent
    if hints_at(child.name, parent.subject):
        return _HINT
    return _OTHER_NAMES if child.identifies and parent.is_own_key else _OTHER_WORDS


def _are_versions(one: Reference) -> bool:
    """Whether a column refers to itself in a table with the same columns: that of last year."""
    child, parent = one.child, one.parent
    same = child.name == parent.name and child.table != parent.table
    return same and child.beside == parent.beside


def _is_itself(one: Reference) -> bool:
    """Whether the rows of a table refer to themselves: the column is a copy of another."""
    if one.child.table != one.parent.table:
        return False
    return _equal_rows(one, np.arange(len(one.rows))) >= _COPIED


def _in_one_direction(likely: Iterable[Reference]) -> list[Reference]:
    """Of two columns that may refer to each other, the likelier direction."""
    best: dict[frozenset[int], Reference] = {}
    for one in likely:
        both = frozenset((id(one.child), id(one.parent)))
        if both not in best or _rank(one) > _rank(best[both]):
            best[both] = one
    return list(best.values())


def _one_key_each(likely: Iterable[Reference]) -> list[Reference]:
    """The best key of every column; one that refers to another key of these is not the best."""
    by_child: dict[int, list[Reference]] = {}
    for one in likely:
        by_child.setdefault(id(one.child), []).append(one)
    chosen = []
    for several in by_child.values():
        parents = {id(one.parent) for one in several}
        last = [one for one in several if not _leads_on(one, by_child, parents)]
        chosen.append(max(last or several, key=_rank))
    return chosen


def _leads_on(one: Reference, by_child: dict[int, list[Reference]], parents: set[int]) -> bool:
    further = by_child.get(id(one.parent), [])
    return any(id(other.parent) in parents for other in further)


def _without_copies(chosen: Iterable[Reference]) -> list[Reference]:
    """Of relations that lead the rows of one table to the same rows of another, the best."""
    by_tables: dict[tuple[int, int], list[Reference]] = {}
    for one in sorted(chosen, key=_as_key, reverse=True):
        kept = by_tables.setdefault((one.child.table, one.parent.table), [])
        if not any(_is_copied(one, other) for other in kept):
            kept.append(one)
    return [one for kept in by_tables.values() for one in kept]


def _is_copied(one: Reference, with_key: Reference) -> bool:
    """Whether a pair of columns is equal in the rows that another relation joins: then its join has
    the same rows, and the closed predicate of the two tables holds both."""
    least = _COPIED_KEY if one.parent.is_own_key else _COPIED
    return _equal_rows(one, with_key.rows) >= least


def _equal_rows(one: Reference, rows: Array) -> float:
    """In what share both columns are equal where rows of the child lead to these of the parent."""
    codes = one.child.coded.rows
    asked = (rows >= 0) & (codes >= 0)
    count = int(np.count_nonzero(asked))
    equal = codes[asked] == one.parent.coded.rows[rows[asked]]
    return float(np.count_nonzero(equal) / max(count, 1))


def _rank(one: Reference) -> tuple[float, bool, int, int, int]:
    """Likelier first; then the key that its table is named for, an earlier column, a shorter
    table of keys."""
    parent: Column = one.parent
    return worth(one), parent.is_own_key, -parent.place, -len(parent.coded), -parent.table


def _as_key(one: Reference) -> tuple[bool, bool, bool, int, float]:
    """By which of several copies rows are best referred to: what identifies."""
    parent = one.parent
    return one.names.are_ids, parent.is_own_key, parent.is_of_table, -parent.place, worth(one)


def _told(one: Reference) -> Relation:
    child, parent = one.child, one.parent
    return Relation(
        child.table_name,
        (child.name,),
        parent.table_name,
        (parent.name,),
        int(np.count_nonzero(one.rows >= 0)),
        len(child.coded),
        len(child.coded) - one.met,
        len(parent.coded),
        round(1 / (1 + exp(-worth(one))), 4),
        _why(one),
    )


def _told_composite(one: Composite) -> Relation:
    return Relation(
        one.children[0].table_name,
        tuple(column.name for column in one.children),
        one.parents[0].table_name,
        tuple(column.name for column in one.parents),
        one.rows,
        one.values,
        one.values - one.met,
        one.keys,
        round(_COMPOSITE * one.containment, 4),
        f"{_part(one.containment)} in the key, {percent(one.coverage)} of which are used; "
        "the names are alike",
    )


def _part(containment: float) -> str:
    return "all values are" if containment == 1 else f"{percent(containment)} of values are"


def _why(one: Reference) -> str:
    told = [f"{_part(one.containment)} in the key, {percent(one.coverage)} of which are used"]
    if one.names.alike >= CONTAINED:
        told.append("the names are alike")
    if one.evidence >= 5:
        told.append("chance would not give that")
    return "; ".join(told)
