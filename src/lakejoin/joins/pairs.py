"""Pairs, examples, unmatched rows and warnings of a join."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Program, identity
from lakejoin.errors import InputError, MissingDependency
from lakejoin.joins.row_keys import find_first_rows
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.joins.join import Join

_BETWEEN = " · "  # between the columns of a key


@dataclass(frozen=True, slots=True)
class Example:
    """A pair of values: the source value, its rewritten form, and the key that it matches.

    `after` is None if nothing is rewritten, `distance` if none is measured.
    """

    step: int
    before: str
    after: str | None
    partner: str
    distance: float | None = None
    unit: str = ""


def pair_table(join: Join, limit: int | None = None) -> pa.Table:
    """The matching pairs of rows, ordered by left and then by right row."""
    if not join:
        nothing = pa.array([], pa.int64())
        return pa.table({"left_row": nothing, "right_row": nothing, "step": nothing})
    pairing = replace(join.joined, how="inner").pairing
    end = len(pairing) if limit is None else min(max(0, limit), len(pairing))
    left, right = pairing.rows(0, end)
    join_key = join.known
    step = join_key.rule_of[left if join_key.source_side == "left" else right]
    return pa.table({"left_row": left, "right_row": right, "step": step})


def example_pairs(join: Join, each: int) -> list[Example]:
    """Some pairs of every step, with distinct values."""
    if not join:
        return []
    join_key = join.known
    source, target = _tables(join)
    keys = join.joined.keys
    source_keys, target_keys = keys.left, keys.right
    if join_key.source_side == "right":
        source_keys, target_keys = target_keys, source_keys
    examples = []
    first_row = find_first_rows(target_keys, keys.count)
    for index, rule in enumerate(join_key.key_rules):
        rows = np.flatnonzero((join_key.rule_of == index) & (source_keys >= 0))
        rows = rows[first_row[source_keys[rows]] >= 0]
        _, first = np.unique(source_keys[rows], return_index=True)
        rows = rows[np.sort(first)[:each]]
        before = _texts(source, rule.columns, None, rows)
        rewritten = rule.program is not None and not rule.program.is_identity
        after = (
            _texts(source, rule.columns, rule.program, rows) if rewritten else [None] * len(rows)
        )
        key = (
            (rule.target_program.columns, rule.target_program)
            if rule.target_program
            else (join_key.columns, join_key.program)
        )
        partner = _texts(target, *key, first_row[source_keys[rows]])
        far = [None if rule.distance is None else float(rule.distance[row]) for row in rows]
        examples += [
            Example(index, str(b), a, str(p), d, rule.unit)
            for b, a, p, d in zip(before, after, partner, far, strict=True)
        ]
    return examples


def unmatched_table(join: Join, side: str, limit: int | None, nearest: bool = True) -> pa.Table:
    """The unmatched rows, each with the nearest value of the other side."""
    if side not in ("left", "right"):
        raise InputError(f"side must be left or right, not {side!r}")
    join_key, joined = join.known, join.joined
    partners = joined.partners_of_left if side == "left" else joined.partners_of_right
    rows = np.flatnonzero(partners == 0)[:limit]
    source, target = _tables(join)
    rule = join_key.key_rules[0]
    sides = (source, rule.columns, rule.program), (target, join_key.columns, join_key.program)
    own, other = sides if side == join_key.source_side else sides[::-1]
    values = _texts(own[0], own[1], None, rows)
    partner, distance = _nothing(rows)
    if nearest:
        near = _nearest_values if rule.kind == "nearest" else _nearest
        partner, distance = near(own, other, rows)
    return pa.table(
        {
            "row": rows,
            "value": pa.array(values, pa.large_string()),
            "nearest": pa.array(partner, pa.large_string()),
            "distance": pa.array(distance, pa.float64()),
        }
    )


def join_warnings(join: Join) -> Iterator[str]:
    """Warn if no row matches, or if the join multiplies rows."""
    joined = join.joined
    busiest = joined.busiest_key()
    if busiest is None:
        yield f"no row of {join.names[0]} has a match"
        return
    if not joined.multiplies or join.options.aggregate:
        return
    row, left_rows, right_rows = busiest
    join_key = join.known
    columns = join_key.key_rules[0].columns if join_key.source_side == "left" else join_key.columns
    key = _texts(join.left, columns, None, np.array([row]))[0]
    key = key if key is None or len(key) <= 40 else key[:39] + "…"
    yield (
        f"the join multiplies rows: values repeat on both sides; {key!r} alone "
        f"({left_rows:,} times {right_rows:,} rows) makes {left_rows * right_rows:,} rows"
    )


Text = tuple["pa.Table", tuple[str, ...], Program | None]
Near = tuple[list[str | None], list[float | None]]


def _nothing(rows: Array) -> Near:
    return [None] * len(rows), [None] * len(rows)


def _nearest(own: Text, other: Text, rows: Array) -> Near:
    """The nearest text of the other side for each row, if the key is a single text."""
    several = any(len(columns) > 1 and program is None for _, columns, program in (own, other))
    if several or not len(rows):
        return _nothing(rows)
    try:
        from lakejoin.joins.fuzzy.fuzzy_join import nearest_texts

        nearest, distance = nearest_texts(_column(*own), _column(*other), rows)
    except MissingDependency:
        return _nothing(rows)
    texts = _texts(other[0], other[1], None, np.maximum(nearest, 0))
    near = [text if row >= 0 else None for text, row in zip(texts, nearest, strict=True)]
    return near, [
        float(far) if row >= 0 else None for far, row in zip(distance, nearest, strict=True)
    ]


def _nearest_values(own: Text, other: Text, rows: Array) -> Near:
    """The nearest number, time or coordinates of the other side, at any distance."""
    from lakejoin.joins.nearest.nearest_rows import find_nearest_rows

    on = list(zip(own[1], other[1], strict=True))
    nearest = find_nearest_rows(own[0].take(rows), other[0], on)
    texts = _texts(other[0], other[1], None, nearest.right_rows)
    near, far = _nothing(rows)
    for row, text, distance in zip(nearest.left_rows, texts, nearest.distance, strict=True):
        if near[row] is None:
            near[row], far[row] = text, float(distance)
    return near, far


def _column(table: pa.Table, columns: tuple[str, ...], program: Program | None) -> pa.Array:
    """The texts of a side; a row for which the program gives null keeps its own."""
    plain = apply_program(identity(columns[0]), table)
    if program is None:
        return plain
    made = apply_program(program, table)
    return pc.coalesce(made, plain) if isinstance(made, pa.Array) else made


def _texts(
    table: pa.Table, columns: tuple[str, ...], program: Program | None, rows: Array
) -> list[Any]:
    """Cells as texts: rewritten by the program, or unchanged."""
    few = table.select(list(columns)).take(rows)
    if program is not None:
        return list(apply_program(program, few).to_pylist())
    columns_of_cells = [column.to_pylist() for column in few.columns]
    if len(columns_of_cells) == 1:
        return [None if cell is None else str(cell) for cell in columns_of_cells[0]]
    return [
        _BETWEEN.join("" if cell is None else str(cell) for cell in row)
        for row in zip(*columns_of_cells, strict=True)
    ]


def _tables(join: Join) -> tuple[pa.Table, pa.Table]:
    """The source table and the target table, which has the key."""
    left_first = join.known.source_side == "left"
    return (join.left, join.right) if left_first else (join.right, join.left)
