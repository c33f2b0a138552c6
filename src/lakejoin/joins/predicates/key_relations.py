"""Find the likely key relations among all tables of a database.

A relation is a column (or several together) of one table whose values are those of a key of
another. Evidence for it is added up to one score: that more values match than by chance, that the
names suggest it, that the key's table is named after the key, and that much of the key is used.
Values that the key lacks count against it. A column refers to one key, the best; and of several
relations that lead the rows of one table to the same rows of another (a customer's number, and the
address copied with it), only the best is listed. Tables with the same columns are versions of one
table, and their columns of the same name do not refer to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp
from typing import Any

import numpy as np

from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.column_references import (
    CodedColumn,
    CompositeReference,
    NamedTable,
    Reference,
    drop_indirect,
    encode_columns,
    find_composites,
    find_references,
)
from lakejoin.model import Array, ValueRules
from lakejoin.signals.name_similarity import CONTAINED, SAME, hints_at
from lakejoin.signals.sureness import UNDECIDED
from lakejoin.text_format import format_percent

# The weight of each sign, in nats; a relation is listed if the sum is above zero.
_BIAS = -7.5
_OF_EVIDENCE = 0.25  # per nat, …
_MOST_EVIDENCE = 40.0  # … up to this many
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
_CLEARLY = 1.25  # times as much of the best key is used as of the next
_COMPOSITE = 0.8  # the likelihood of a composite relation
_KEY_REFERS = -3.0  # a table's own key seldom refers to another

# A further pair of columns that is equal in this share of rows is copied with the key; …
_COPIED = 0.8
_COPIED_KEY = 0.99  # … for a pair that identifies, in this share (home and away team are not)


@dataclass(frozen=True, slots=True)
class Relation:
    """A key relation: `columns` of `table` refer to `key_columns` of `key_table`.

    `rows` rows of the table refer to a row of the other. The columns have `values` distinct
    values, of which the key lacks `missing`; the key has `keys`. `score` is its likelihood, 0..1.

    >>> lakes = {"films": {"id": ["f1", "f2"]}, "roles": {"film": ["f1", "f1", "f2"]}}
    >>> (relation,) = lakejoin.relations(lakes)
    >>> relation.table, relation.columns, relation.key_table
    ('roles', ('film',), 'films')
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
        """As plain values, with the keys of `lakejoin relations --json`."""
        columns = {"columns": list(self.columns), "key_columns": list(self.key_columns)}
        return {**asdict(self), **columns}


def find_relations(
    tables: Sequence[NamedTable],
    rules: ValueRules | None = None,
    progress: Progress | None = None,
    notes: list[str] | None = None,
) -> list[Relation]:
    """Find the likely relations among tables, most likely first; `notes` get what was left out."""
    report = progress or (lambda doing: None)
    columns, size = encode_columns(tables, rules, report)
    report("comparing columns")
    references = [r for r in find_references(columns, size) if not _are_versions(r)]
    likely = [r for r in references if reference_score(r) > 0 and not _is_itself(r)]
    chosen = _drop_copies(_choose_keys(_choose_directions(likely)))
    relations = [_relation(reference) for reference in chosen]
    relations += map(_possible_relation, _find_possible(references, likely))
    report("looking for keys of several columns")
    several = drop_indirect(list(find_composites(columns, chosen, notes)))
    relations += [_composite_relation(composite) for composite in several]
    relations.sort(key=lambda relation: (-relation.score, relation.table, relation.columns))
    return relations


def _find_possible(references: Iterable[Reference], likely: Sequence[Reference]) -> list[Reference]:
    """The references of numbers to a key without gaps, which any numbers would match: of columns
    that refer to nothing else, where one key fits clearly best."""
    settled = {id(reference.child) for reference in likely}
    by_child: dict[int, list[Reference]] = {}
    for reference in references:
        if id(reference.child) not in settled and reference.is_possible:
            by_child.setdefault(id(reference.child), []).append(reference)
    chosen = []
    for candidates in by_child.values():
        best, *others = sorted(candidates, key=lambda candidate: -candidate.coverage)
        if not others or best.coverage >= _CLEARLY * others[0].coverage:
            chosen.append(best)
    return chosen


def reference_score(reference: Reference) -> float:
    """The sum of all signs, in nats; above zero, a relation is more likely than not."""
    child, parent = reference.child, reference.parent
    score = _BIAS + _COVERAGE * reference.coverage + _MISSING * (1 - reference.containment)
    score += _names_worth(reference)
    score += _NOT_UNIQUE * (1 - parent.coded.profile.uniqueness)
    score += _OWN_KEY if parent.is_own_key else _NAMED_FOR if parent.is_of_table else 0.0
    score += _KEY_REFERS if child.is_own_key and child.coded.profile.uniqueness == 1 else 0.0
    if score + _OF_EVIDENCE * _MOST_EVIDENCE <= 0:  # measuring chance is the slowest step
        return score
    return score + _OF_EVIDENCE * min(reference.evidence, _MOST_EVIDENCE)


def _names_worth(reference: Reference) -> float:
    names = reference.names
    if names.similarity == SAME:
        return _SAME_IDS if names.are_identifiers else _SAME_NAMES
    if names.similarity >= CONTAINED:
        return _CONTAINED_IDS if names.are_identifiers else _CONTAINED_NAMES
    child, parent = reference.child, reference.parent
    if hints_at(child.name, parent.subject):
        return _HINT
    return _OTHER_NAMES if child.identifies and parent.is_own_key else _OTHER_WORDS


def _are_versions(reference: Reference) -> bool:
    """Whether a column refers to itself in another version of its table."""
    child, parent = reference.child, reference.parent
    same = child.name == parent.name and child.table != parent.table
    return same and child.table_columns == parent.table_columns


def _is_itself(reference: Reference) -> bool:
    """Whether the rows of a table refer to themselves: the column is a copy of another."""
    if reference.child.table != reference.parent.table:
        return False
    return _equal_rows(reference, np.arange(len(reference.rows))) >= _COPIED


def _choose_directions(likely: Iterable[Reference]) -> list[Reference]:
    """The more likely direction of two columns that may refer to each other."""
    best: dict[frozenset[int], Reference] = {}
    for reference in likely:
        both = frozenset((id(reference.child), id(reference.parent)))
        if both not in best or _rank(reference) > _rank(best[both]):
            best[both] = reference
    return list(best.values())


def _choose_keys(likely: Iterable[Reference]) -> list[Reference]:
    """The best key of every column; not one that itself refers to another of these keys."""
    by_child: dict[int, list[Reference]] = {}
    for reference in likely:
        by_child.setdefault(id(reference.child), []).append(reference)
    chosen = []
    for candidates in by_child.values():
        parents = {id(reference.parent) for reference in candidates}
        last = [key for key in candidates if not _leads_on(key, by_child, parents)]
        chosen.append(max(last or candidates, key=_rank))
    return chosen


def _leads_on(
    reference: Reference, by_child: dict[int, list[Reference]], parents: set[int]
) -> bool:
    further = by_child.get(id(reference.parent), [])
    return any(id(other.parent) in parents for other in further)


def _drop_copies(chosen: Iterable[Reference]) -> list[Reference]:
    """The best of relations that lead the rows of one table to the same rows of another."""
    by_tables: dict[tuple[int, int], list[Reference]] = {}
    for reference in sorted(chosen, key=_as_key, reverse=True):
        best = by_tables.setdefault((reference.child.table, reference.parent.table), [])
        if not any(_is_copied(reference, other) for other in best):
            best.append(reference)
    return [reference for best in by_tables.values() for reference in best]


def _is_copied(reference: Reference, with_key: Reference) -> bool:
    """Whether a pair of columns is equal in the rows that another relation joins: then its join has
    the same rows, and the closed predicate of the two tables has both."""
    least = _COPIED_KEY if reference.parent.is_own_key else _COPIED
    return _equal_rows(reference, with_key.rows) >= least


def _equal_rows(reference: Reference, rows: Array) -> float:
    """The share of child rows whose column equals that of the parent row they lead to."""
    codes = reference.child.coded.rows
    compared = (rows >= 0) & (codes >= 0)
    count = int(np.count_nonzero(compared))
    equal = codes[compared] == reference.parent.coded.rows[rows[compared]]
    return float(np.count_nonzero(equal) / max(count, 1))


def _rank(reference: Reference) -> tuple[float, bool, int, int, int]:
    """More likely first; then the key its table is named after, an earlier column, fewer keys."""
    parent: CodedColumn = reference.parent
    return (
        reference_score(reference),
        parent.is_own_key,
        -parent.column_index,
        -len(parent.coded),
        -parent.table,
    )


def _as_key(reference: Reference) -> tuple[bool, bool, bool, int, float]:
    """How suitable a reference is among copies: identifiers first."""
    parent, is_id = reference.parent, reference.names.both_say_id
    return (
        is_id,
        parent.is_own_key,
        parent.is_of_table,
        -parent.column_index,
        reference_score(reference),
    )


def _relation(reference: Reference) -> Relation:
    child, parent = reference.child, reference.parent
    return Relation(
        child.table_name,
        (child.name,),
        parent.table_name,
        (parent.name,),
        int(np.count_nonzero(reference.rows >= 0)),
        len(child.coded),
        len(child.coded) - reference.matches,
        len(parent.coded),
        round(1 / (1 + exp(-reference_score(reference))), 4),
        _why(reference),
    )


def _possible_relation(reference: Reference) -> Relation:
    why = f"possible: {_why(reference)}, but any numbers in this range would be in it too"
    return replace(_relation(reference), score=UNDECIDED, why=why)


def _composite_relation(composite: CompositeReference) -> Relation:
    return Relation(
        composite.children[0].table_name,
        tuple(column.name for column in composite.children),
        composite.parents[0].table_name,
        tuple(column.name for column in composite.parents),
        composite.rows,
        composite.values,
        composite.values - composite.matches,
        composite.keys,
        round(_COMPOSITE * composite.containment, 4),
        f"{_containment(composite.containment, composite.coverage)}; similar names",
    )


def _containment(containment: float, coverage: float) -> str:
    share = "all values are" if containment == 1 else f"{format_percent(containment)} of values are"
    return f"{share} in the key and use {format_percent(coverage)} of it"


def _why(reference: Reference) -> str:
    reasons = [_containment(reference.containment, reference.coverage)]
    if reference.names.similarity >= CONTAINED:
        reasons.append("similar names")
    if reference.evidence >= 5:
        reasons.append("unlikely to be chance")
    return "; ".join(reasons)
