"""Join candidates whose values must be rewritten: found by shared pieces, confirmed by Auto-Join.

Columns that share rare words and parts of words with the query (`engines/rewritten`) may hold the
same values in another spelling. Programs are learned from sample rows of the best tables that share
a piece (`joins/learned`). What they join is counted on all rows and weighed like any other
candidate: against chance, and by the agreement of other columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Constant, is_cut
from lakejoin.engines.query import read_spellings
from lakejoin.errors import InputError
from lakejoin.joins.learned.program_cover import LearnOptions
from lakejoin.joins.learned.program_finder import LearnedJoin, apply_learned, find_programs
from lakejoin.model import Array
from lakejoin.ranking.column_texts import ColumnTexts, JoinedTexts, read_column_texts
from lakejoin.ranking.join_candidates import JoinCandidate, measure_reference, measure_uniqueness
from lakejoin.ranking.join_score import Signals, compare_ends, find_ends
from lakejoin.ranking.row_agreement import compare_words, read_neighbouring_words
from lakejoin.ranking.row_words import RowWords, leave_out
from lakejoin.signals.chance import LEAST_CHANCE, match_chance
from lakejoin.signals.name_similarity import compare_names

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.engines.rewritten.engine import LikelyColumn
    from lakejoin.model import ValueRules
    from lakejoin.search.result import ResultLocation
    from lakejoin.search.searcher import Searcher

MAX_REWRITTEN_TABLES = 4  # to learn programs for
_COLUMNS = 2  # columns of each side to learn from
_SAMPLE = 200  # rows of each side, besides those that share a token
_ROWS = 64  # rows whose other columns are compared
_LOOKED_AT = 150  # values to make wrong, to measure chance
# Only find out whether it joins at all; the join itself finds the best programs.
_QUICKLY = LearnOptions(column_pairs=2, row_pairs=60, example_sets=8, programs=2, further=False)
_FEWEST = 2
_SOME = 5  # values that must share a token
_OF_ASKED = 0.1  # share of the values looked up that must share one
_OFTEN = 0.2  # share of wrong values that match, above which fragments prove nothing
_DENSE = 0.5  # share of wrong values that match, from which on names prove nothing
_WHOLE = 0.95  # share of the values that counts as all of them


@dataclass(frozen=True, eq=False)
class RewrittenMatch:
    """The figures of a join on rewritten values."""

    rank: int
    table: str
    columns: tuple[str, ...]
    matched: int
    query_size: int
    column_size: int
    row_coverage: float
    fan_out: float
    found: ResultLocation
    meeting: JoinedTexts

    @property
    def containment(self) -> float:
        """The share of query values with a match."""
        return self.matched / max(1, self.query_size)

    def sql(self) -> str:
        """Raise an error: only `lakejoin join` writes programs as SQL."""
        raise InputError(
            f"values of {self.table} must be rewritten to join: use lakejoin join --code sql"
        )


def find_rewritten_candidates(
    searcher: Searcher,
    query_table: QueryTable,
    likely: Sequence[LikelyColumn],
    tables: int = MAX_REWRITTEN_TABLES,
) -> list[JoinCandidate]:
    """The candidates for joins on rewritten values, of columns that are likely to join."""
    candidates = []
    groups = list(_by_table(searcher, _in_turn(likely)).values())[:tables]
    for rank, group in enumerate(groups, 1):
        candidate = _Pair(searcher, query_table, group).candidate(rank)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def _in_turn(likely: Sequence[LikelyColumn]) -> list[LikelyColumn]:
    """The columns that share the most, and after every two of them one that shares the rarest
    pieces: fragments of numbers are in hundreds of columns, the whole number in one."""
    some = [column for column in likely if column.matched >= max(_SOME, _OF_ASKED * column.sampled)]
    rarest = sorted(some, key=lambda column: -column.nats / column.matched)
    both = zip_longest(likely[::2], likely[1::2], rarest)
    return list(dict.fromkeys(column for group in both for column in group if column is not None))


def _by_table(
    searcher: Searcher, likely: Sequence[LikelyColumn]
) -> dict[tuple[int, int], list[LikelyColumn]]:
    tables: dict[tuple[int, int], list[LikelyColumn]] = {}
    for column in likely:
        key = column.segment_index, searcher.table_of(column.segment_index, column.column)
        tables.setdefault(key, []).append(column)
    return tables


class _Pair:
    """The query table and a lake table with columns that share pieces."""

    def __init__(
        self, searcher: Searcher, query_table: QueryTable, likely: Sequence[LikelyColumn]
    ) -> None:
        self._searcher = searcher
        self._query_table = query_table
        self._first = likely[0]
        self._segment = searcher.snapshot.segments[self._first.segment_index]
        self._table = searcher.table_of(self._first.segment_index, self._first.column)
        self._entry = self._segment.catalog.table(self._table)
        self._rules: ValueRules = searcher.snapshot.manifest.options.rules
        names = self._segment.catalog.column_names(self._entry)
        column_indexes = dict.fromkeys(hit.column_index for hit in likely)
        columns = dict.fromkeys(hit.column for hit in likely)
        self._query_columns = _first_by_name(
            {p: query_table.column_names[p] for p in column_indexes}
        )
        self._lake_columns = _first_by_name({c: names[c - self._entry.first] for c in columns})

    def candidate(self, rank: int) -> JoinCandidate | None:
        """The candidate, if the tables join."""
        learned = self._learned()
        if learned is None:
            return None
        mine, theirs = self._used(learned)
        left = read_column_texts(
            {name: self._query_table.spellings(column_index) for name, column_index in mine.items()}
        )
        right = read_column_texts(
            {name: read_spellings(self._segment, column) for name, column in theirs.items()}
        )
        keys = apply_learned(learned, left.table, right.table, self._rules)
        meeting = JoinedTexts(keys, left, right)
        if meeting.matched < _FEWEST:
            return None
        result = self._make_result(rank, meeting, mine, theirs)
        signals = self._signals(learned, meeting, result)
        return JoinCandidate(tuple(mine), result, signals, "rewritten", learned)

    # -- learning ------------------------------------------------------------------------------

    def _learned(self) -> LearnedJoin | None:
        """Learn programs from rows of both, even doubtful ones; None if nothing is rewritten."""
        left = self._sample_of_mine()
        right = self._sample_of_theirs(left)
        learned = find_programs(left.table, right.table, _QUICKLY, rules=self._rules)
        if not learned and learned.rejected:
            learned = learned.rejected.learned
        if not learned or learned.target is None:
            return None
        if learned.evidence is not None and learned.evidence.invented:
            return None
        plain = learned.target.is_identity and all(
            learned_program.program.is_identity for learned_program in learned.programs
        )
        return None if plain else learned

    def _sample_of_mine(self) -> ColumnTexts:
        names = list(self._query_columns)[:_COLUMNS]
        texts = read_column_texts(
            {name: self._query_table.spellings(self._query_columns[name]) for name in names}
        )
        return texts.take(_sample_indexes(len(texts), _SAMPLE))

    def _sample_of_theirs(self, left: ColumnTexts) -> ColumnTexts:
        """Lake rows that share a piece with the query sample, and others."""
        from lakejoin.engines.rewritten.engine import pair_by_rare_tokens

        names = list(self._lake_columns)[:_COLUMNS]
        right = read_column_texts(
            {name: read_spellings(self._segment, self._lake_columns[name]) for name in names}
        )
        mine = left.table.column(0).combine_chunks()
        theirs = right.table.column(0).combine_chunks()
        _, partners = pair_by_rare_tokens(mine, theirs)
        chosen = np.union1d(partners, _sample_indexes(len(right), _SAMPLE))
        return right.take(chosen)

    def _used(self, learned: LearnedJoin) -> tuple[dict[str, int], dict[str, int]]:
        """The columns of both sides that the programs read."""
        assert learned.target is not None, "programs lead to a key"
        sides = learned.source_columns, learned.target.columns
        mine, theirs = sides if learned.source_side == "left" else sides[::-1]
        return (
            {name: self._query_columns[name] for name in mine},
            {name: self._lake_columns[name] for name in theirs},
        )

    # -- figures -------------------------------------------------------------------------------

    def _make_result(
        self,
        rank: int,
        meeting: JoinedTexts,
        mine: dict[str, int],
        theirs: dict[str, int],
    ) -> RewrittenMatch:
        first = self._first
        location = self._searcher.locate_result(
            self._query_table, tuple(mine.values()), first.segment_index, tuple(theirs.values())
        )
        rows = max(1, self._query_table.rows())
        return RewrittenMatch(
            rank,
            self._entry.name,
            tuple(theirs),
            meeting.matched,
            len(meeting.left),
            meeting.their_keys,
            min(1.0, meeting.rows_matched / rows),
            meeting.pairs / rows,
            location,
            meeting,
        )

    def _signals(
        self, learned: LearnedJoin, meeting: JoinedTexts, result: RewrittenMatch
    ) -> Signals:
        """The signals; values count only if there is no evidence against the programs."""
        mine, theirs = (_compared_texts(learned, side, meeting) for side in ("left", "right"))
        fewer, more = (mine, theirs) if len(mine) <= len(theirs) else (theirs, mine)
        chance = match_chance(fewer.take(_sample_indexes(len(fewer), _LOOKED_AT)), more)
        chance = min(1.0, max(LEAST_CHANCE, chance, learned.programs[0].by_chance))
        chance = 1 - (1 - chance) ** len(learned.programs)  # each program adds a chance
        share = min(1.0, meeting.shared / max(1, len(fewer)))
        weighed = learned.evidence
        scraps = is_cut(learned.programs[0].program) and chance > _OFTEN and share < _WHOLE
        if scraps or (weighed is not None and not weighed.is_telling):
            share = 0.0
        ends = (None, None) if _writes_letters(learned) else (find_ends(mine), find_ends(theirs))
        same = compare_ends(ends[0], ends[1]) if ends[0] and ends[1] else 0.0
        common = not ends[0] or not ends[1] or ends[0].are_common or ends[1].are_common
        # Names of dense numbers say nothing once these are rewritten into each other.
        alike = compare_names(query_column_names(result)[0], result.columns[0]).similarity
        names = alike if chance < _DENSE else 0.0
        rows = self._agreement(meeting, result)
        return Signals(
            len(fewer),
            share,
            chance,
            result.containment,
            names,
            rows,
            ends=same,
            rarity=0.0 if common else self._rarity(result.found.segment_columns[0]),
            reference=measure_reference(result),
            unique=measure_uniqueness(result),
        )

    def _rarity(self, column: int) -> float:
        """How few columns of the segment hold the numbers of a lake column, in nats."""
        postings = self._segment.postings
        groups = postings.groups_of(column)
        held = float(np.mean(postings.list_lengths(groups))) if len(groups) else 1.0
        return max(0.0, math.log(self._segment.column_count / max(1.0, held)))

    def _agreement(self, meeting: JoinedTexts, result: RewrittenMatch) -> float:
        import pyarrow as pa

        mine, theirs = meeting.sample_pairs(_ROWS)
        if len(mine) < _FEWEST:
            return 0.0
        location = result.found
        joined = [
            f"{row} {their_text}".casefold()
            for row, their_text in zip(
                meeting.left.first_texts(mine), meeting.right.first_texts(theirs), strict=True
            )
        ]
        values = leave_out([pa.array(joined, pa.large_string())], bare=True)
        ours = RowWords(self._query_table, location.query_columns)
        return compare_words(
            ours.at(meeting.left.rows[mine], values),
            *read_neighbouring_words(
                self._segment,
                self._entry,
                location.segment_columns,
                meeting.right.rows[theirs],
                values,
            ),
        )


def query_column_names(result: RewrittenMatch) -> tuple[str, ...]:
    """The names of the query columns."""
    return tuple(
        result.found.query_table.column_names[column_index]
        for column_index in result.found.query_columns
    )


def _compared_texts(learned: LearnedJoin, side: str, meeting: JoinedTexts) -> pa.LargeStringArray:
    """The distinct texts of one side that are compared."""
    import pyarrow.compute as pc

    assert learned.target is not None, "programs lead to a key"
    program = learned.programs[0].program if side == learned.source_side else learned.target
    table = (meeting.left if side == "left" else meeting.right).table
    texts: Any = pc.utf8_lower(apply_program(program, table))
    return texts.unique().drop_null()


def _writes_letters(learned: LearnedJoin) -> bool:
    """Whether a program adds letters, which turns any numbers into those of another thing."""
    assert learned.target is not None, "programs lead to a key"
    programs = [learned.target, *(program.program for program in learned.programs)]
    constants = [
        op.text for program in programs for op in program.operators if isinstance(op, Constant)
    ]
    return any(letter.isalpha() for text in constants for letter in text)


def _first_by_name(names: dict[int, str]) -> dict[str, int]:
    """Column indexes by name; the first of columns with the same name."""
    by_name: dict[str, int] = {}
    for index, name in names.items():
        by_name.setdefault(name, index)
    return by_name


def _sample_indexes(size: int, most: int) -> Array:
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).choice(size, most, replace=False))
