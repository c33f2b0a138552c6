"""Brute force for composite keys: every mapping of every table, row by row, by plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from oracle.lakes import PlainTable, canonical_columns, encoded

Value = str | None
Combination = tuple[str, ...]
Places = tuple[int, ...]
Score = tuple[int, int, int]  # segment, table, matched

CLOSE = 0.8  # a runner-up has at least this share of the best mapping's combinations


@dataclass(frozen=True)
class Columns:
    """A table in the lake: columns of canonical values, and which of them are searched."""

    columns: Sequence[Sequence[Value]]
    indexed: Sequence[bool]
    names: Sequence[str] = ()

    @classmethod
    def of(cls, table: PlainTable, indexed: Sequence[bool]) -> Columns:
        """From a plain table, by the value rules of the index."""
        return cls(canonical_columns(encoded(table)), list(indexed), list(table.columns))

    @property
    def rows(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def row(self, number: int) -> list[Value]:
        return [column[number] for column in self.columns]

    def allowed(self, fixed: Sequence[str | None], parts: int) -> list[list[int]]:
        """By part of the key, the places of the columns that it may be mapped to."""
        searched = [place for place, is_searched in enumerate(self.indexed) if is_searched]
        wanted = list(fixed) or [None] * parts
        return [searched if name is None else self._named(name, searched) for name in wanted]

    def _named(self, name: str, searched: Sequence[int]) -> list[int]:
        places = range(len(self.columns))
        exact = [p for p in places if self.names[p] == name]
        loose = [p for p in places if self.names[p].casefold() == name.casefold()]
        return [p for p in exact or loose if p in searched]


def combinations(key: Sequence[Sequence[Value]]) -> dict[Combination, int]:
    """The distinct combinations of some key columns without a null, and in how many rows each is.

    They stand in the order of their first rows.
    """
    found: dict[Combination, int] = {}
    for cells in zip(*key, strict=True):
        if None not in cells:
            found[cells] = found.get(cells, 0) + 1
    return found


def ways(
    row: Sequence[Value], combination: Combination, allowed: Sequence[Sequence[int]]
) -> Iterator[Places]:
    """Every one-to-one mapping under which a row holds a combination."""

    def extend(chosen: Places) -> Iterator[Places]:
        part = len(chosen)
        if part == len(combination):
            yield chosen
            return
        for place in allowed[part]:
            if row[place] == combination[part] and place not in chosen:
                yield from extend((*chosen, place))

    return extend(())


def mappings(
    table: Columns, wanted: Sequence[Combination], fixed: Sequence[str | None] = ()
) -> dict[Places, Counter[int]]:
    """Every mapping with a match: in how many rows of the table each combination occurs."""
    allowed = table.allowed(fixed, len(wanted[0])) if wanted else []
    found: dict[Places, Counter[int]] = defaultdict(Counter)
    by_value: dict[str, list[int]] = defaultdict(list)
    for number, combination in enumerate(wanted):
        by_value[combination[0]].append(number)
    for i in range(table.rows):
        row = table.row(i)
        for value in {cell for cell in row if cell is not None}:
            for number in by_value.get(value, ()):
                for places in ways(row, wanted[number], allowed):
                    found[places][number] += 1
    return dict(found)


def every_mapping(
    table: Columns, wanted: Sequence[Combination], fixed: Sequence[str | None] = ()
) -> dict[Places, int]:
    """The score of every mapping, also of those without a match: the definition, word by word."""
    if not wanted:
        return {}
    allowed = table.allowed(fixed, len(wanted[0]))
    scores = {}
    for places in permutations(range(len(table.columns)), len(wanted[0])):
        if all(place in may for place, may in zip(places, allowed, strict=True)):
            theirs = set(zip(*(table.columns[p] for p in places), strict=True))
            scores[places] = len(theirs & set(wanted))
    return scores


@dataclass(frozen=True)
class Joinability:
    """What a table has of a key: `scores[places]` combinations under each mapping with a match."""

    scores: dict[Places, int]

    @property
    def best(self) -> int:
        return max(self.scores.values(), default=0)

    def best_mappings(self) -> set[Places]:
        return {places for places, score in self.scores.items() if score == self.best}

    def next_best(self) -> int | None:
        """The score of the second mapping, where it is close to the best."""
        ordered = sorted(self.scores.values(), reverse=True)
        close = len(ordered) > 1 and ordered[1] >= CLOSE * ordered[0]
        return ordered[1] if close else None


def joinability(
    table: Columns, wanted: Sequence[Combination], fixed: Sequence[str | None] = ()
) -> Joinability:
    """The score of every mapping of a table."""
    found = mappings(table, wanted, fixed)
    return Joinability({places: len(counts) for places, counts in found.items()})


def true_rows(
    table: Columns, wanted: Sequence[Combination], fixed: Sequence[str | None] = ()
) -> list[bool]:
    """Whether each row holds some combination under some mapping."""
    if not wanted:
        return [False] * table.rows
    allowed = table.allowed(fixed, len(wanted[0]))
    return [
        any(next(ways(table.row(i), combination, allowed), None) for combination in wanted)
        for i in range(table.rows)
    ]


def top(
    lake: Sequence[Sequence[Columns]],
    known: Sequence[Sequence[Joinability]],
    k: int,
    hidden: Sequence[Sequence[int]] = (),
) -> list[Score]:
    """The k best tables: most combinations, then fewest rows, then the order of the index."""
    found = []
    for s, tables in enumerate(lake):
        for t, table in enumerate(tables):
            score = known[s][t].best
            if score and not (hidden and t in hidden[s]):
                found.append((-score, table.rows, s, t))
    return [(s, t, -score) for score, _, s, t in sorted(found)[:k]]


def distinct_in(table: Columns, places: Sequence[int]) -> int:
    """How many distinct combinations without a null some columns of a table have."""
    return len(combinations([table.columns[p] for p in places]))
