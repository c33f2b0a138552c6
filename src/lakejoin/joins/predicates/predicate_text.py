"""Describe predicates: their scores and facts, notes on them, and the report of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.joins.join_report import loss_texts
from lakejoin.render.report import Cell, Column, Line, Report, Row, line, lines
from lakejoin.text_format import clip, counted

if TYPE_CHECKING:
    from lakejoin.joins.predicates.join_predicate import JoinPredicate, Predicates

_WORDS = 400


def score_text(score: float) -> str:
    """A score as text: whole, or with few digits.

    >>> score_text(12345), score_text(0.69231), score_text(float("-inf"))
    ('12,345', '0.692', '-inf')
    >>> score_text(10**17 + 1)
    '100,000,000,000,000,001'
    """
    if isinstance(score, Integral):  # may have more digits than a float
        return f"{int(score):,}"
    number = float(score)
    if number.is_integer():
        return f"{number:,.0f}"
    return f"{number:,.3f}" if abs(number) >= 0.001 else f"{number:.3g}"


def _facts_text(predicate: JoinPredicate) -> str:
    facts = predicate.facts
    rows = zip(facts.involved, facts.sizes, predicate.tables.labels, strict=True)
    joined = ", ".join(f"{part:,} of {total:,} rows of {name}" for part, total, name in rows)
    return (
        f"inner join {counted(facts.inner, 'row')}, full outer join {facts.outer:,}; "
        f"{counted(facts.groups, 'group')}, entropy {facts.entropy:,.2f} bits; joined: {joined}"
    )


def predicate_notes(predicate: JoinPredicate) -> Iterator[str]:
    """Notes on multiplied rows, and on pairs that mean little."""
    facts, most = predicate.facts, max(predicate.facts.involved)
    if facts.inner > most and predicate.tables.are_two:
        yield (
            "rows are multiplied: these columns are a key of neither table, and a row matches "
            f"{facts.inner / most:,.1f} rows on average"
        )
    elif facts.inner > most:
        yield (
            f"rows are multiplied: the inner join has {facts.inner:,} rows, {facts.inner - most:,} "
            "more than any table contributes"
        )
    yield from weak_pair_notes(predicate)


def weak_pair_notes(predicate: JoinPredicate) -> Iterator[str]:
    """Notes on pairs that are equal in many rows but share only one value."""
    if predicate.facts.inner > 1:
        weak = [pair for pair in predicate.found.enough if _shared_values(predicate, pair) == 1]
        each = " each" if len(weak) > 1 else ""
        if weak:
            pairs = predicate.format_pairs(weak)
            yield f"{pairs}{each} share only one value, which is weak evidence"


def _shared_values(predicate: JoinPredicate, pair: tuple[tuple[int, str], tuple[int, str]]) -> int:
    columns = []
    for index, name in pair:
        table = predicate.tables.coded.tables[index]
        columns.append(table.codes[table.columns.index(name)])
    return int(np.count_nonzero(np.intersect1d(*columns) >= 0))


def search_notes(found: Predicates) -> Iterator[str]:
    tables = Counter((side.name, side.index) for side in found.tables.sides if found)
    yield from (f"{name} is joined with itself" for (name, _), times in tables.items() if times > 1)
    losses = (note for side in found.tables.sides for note in loss_texts(side.name, side.losses))
    yield from dict.fromkeys(losses)
    if not found.complete:
        yield (
            f"the search was cut short after {found.looked_at:,} predicates, so there may be "
            "better ones; --most 0 (or most=None) looks at all"
        )


def no_predicate_reason(found: Predicates) -> str:
    for side in found.tables.sides:
        if not side.size:
            return f"no predicate joins these tables: {side.name} has no rows"
    if not found.complete:
        return "no predicate that joins these tables was found"
    if found.tables.are_two:
        return "no predicate joins these tables: they have no value in common"
    return "no predicate joins these tables: no rows of all of them match"


def predicate_lines(predicate: JoinPredicate) -> tuple[Line, ...]:
    """The fewer pairs that suffice, the scores, the facts and the notes of a predicate."""
    fewer = f"the same join by {clip(predicate.fewer_words, _WORDS)}"
    scores = ", ".join(f"{name} {score_text(value)}" for name, value in predicate.scores.items())
    texts = [fewer if predicate.fewer_words else "", scores, _facts_text(predicate)]
    return (*lines(texts), *lines((f"note: {note}" for note in predicate.notes), "warn"))


def predicate_report(predicate: JoinPredicate) -> Report:
    title = line(clip(predicate.words, _WORDS))
    return Report(title, after=tuple(shown.indented("   ") for shown in predicate_lines(predicate)))


def predicates_report(found: Predicates) -> Report:
    if not found:
        return Report(line(found.none), notes=found.notes)
    title = "; ".join(f"best for {wish.name}: {wish.when}" for wish in found.preferences)
    heads = (*found[0].scores, "inner join", "outer join", "groups")
    predicate = Column("predicate", right=False, keep="start")
    return Report(
        title=line(title),
        columns=(Column("#"), predicate, *(Column(head, phrase="") for head in heads)),
        rows=tuple(_row(predicate, rank, found) for rank, predicate in enumerate(found, start=1)),
        notes=found.notes,
        is_numbered=True,
    )


def _row(predicate: JoinPredicate, rank: int, found: Predicates) -> Row:
    facts = predicate.facts
    figures = [*map(score_text, predicate.scores.values())]
    figures += [f"{count:,}" for count in (facts.inner, facts.outer, facts.groups)]
    cells = (Cell(str(rank)), Cell(clip(predicate.words, _WORDS), "bold"), *map(Cell, figures))
    best_for: tuple[Line, ...] = ()
    if len(found.preferences) > 1:
        wishes = [name for name, best in found.best.items() if predicate in best]
        best_for = lines([f"one of the best for {' and '.join(wishes)}"])
    return Row(cells, (*best_for, *predicate_lines(predicate)))
