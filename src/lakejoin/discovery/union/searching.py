"""The tables whose rows could be appended to mine.

Tables that share values or names of columns with mine are compared with it column by column
(`comparing.py`); the score is that of the best alignment. What is left is to tell apart what has a
good alignment and is no table to append:

- my own table again, or another version of it (`fused/versions.py`), or one without a new row;
- a table about the same things with other columns: rows meet by the columns that both have, and
  each has columns that the other has not. That is a join.

Several versions of one table are one result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakejoin.discovery.fused.lake_names import lake_names
from lakejoin.discovery.fused.versions import Versions
from lakejoin.discovery.union.answer import Aligned, UnionAnswer, UnionResult
from lakejoin.discovery.union.candidates import candidates
from lakejoin.discovery.union.comparing import Compared, Comparison
from lakejoin.discovery.union.meanings import meant_by
from lakejoin.discovery.union.newrows import Rows, compare_rows
from lakejoin.errors import InputError
from lakejoin.search.display import percent
from lakejoin.search.options import DEFAULT_K

if TYPE_CHECKING:
    from lakejoin.discovery.union.likeness import Likeness
    from lakejoin.search.mine import MyTable
    from lakejoin.search.result import Found
    from lakejoin.search.searcher import Searcher

BELIEVED = 0.3  # a lower score is no result
_BY_MEANING = 25  # tables whose texts are compared by meaning
_LIKELY, _PAIRS = 0.3, 2  # so many pairs of columns must be likely: one alone is a join at most
_SURE = 0.5  # a pair of columns that surely goes together
_SAME_ROWS = 0.5  # of their rows are in mine: a version, or the same things
_WHOLE = 0.8  # of the columns of both go together: a version and not another table
_TRIED = 6  # columns that may identify things together
_IDENTIFY = 0.95  # different rows for each row, by columns that tell things apart


@dataclass(eq=False)
class _Run:
    """One search."""

    searcher: Searcher
    mine: MyTable
    k: int
    results: list[UnionResult] = field(default_factory=list)
    misses: list[UnionResult] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)

    def take(self, one: Compared, is_mine: bool) -> None:
        """Puts a table where it belongs."""
        columns = [(mine, one.columns[theirs].number) for mine, theirs in one.pairs]
        rows = compare_rows(self.mine, one.segment, one.entry, columns)
        apart = self._apart(one, rows, is_mine)
        result = self._result(one, rows, apart)
        if apart:
            self.misses.append(result)
        else:
            self.results.append(result)
            self.found.append(self._found(one))

    def _apart(self, one: Compared, rows: Rows, is_mine: bool) -> str:
        """Why a table is none to append, or nothing."""
        mine, theirs = len(self.mine.names), len(one.columns)
        whole = len(one.pairs) >= _WHOLE * max(mine, theirs)
        sure = all(like.score >= _SURE for like in one.alike)
        # The same facts about the same things are of another time; other facts are joined.
        joins = "" if whole and sure else self._joins(one)
        if joins or len(rows.new):
            is_version = is_mine or (whole and rows.known >= _SAME_ROWS)
            new = f"{len(rows.new):,} of its {rows.total:,} rows are not in yours"
            return f"a version of your table: {new}" if is_version else joins
        return "all its rows are in yours"

    def _joins(self, one: Compared) -> str:
        """Whether both tables are about the same things, by columns that both hold values of; then
        they have other columns each."""
        sure = sorted(
            (-_of_values(like) * one.columns[pair[1]].profile.uniqueness, pair)
            for pair, like in zip(one.pairs, one.alike, strict=True)
            if like.score >= _SURE
        )
        key: list[tuple[int, int]] = []
        for _, (mine, theirs) in sure[:_TRIED]:
            longer = [*key, (mine, one.columns[theirs].number)]
            common = compare_rows(self.mine, one.segment, one.entry, longer)
            share = max(common.known, common.met)
            if share < _SAME_ROWS:
                continue  # other facts, or other things
            if common.apart >= _IDENTIFY:
                whose = "its" if common.known >= common.met else "your"
                about = f"{percent(share)} of {whose} rows are about things in both"
                return f"it joins: {about}, with other columns"
            key = longer
        return ""

    def _result(self, one: Compared, rows: Rows, apart: str) -> UnionResult:
        paired = {mine: place for place, (mine, _) in enumerate(one.pairs)}
        used = {theirs for _, theirs in one.pairs}
        alignment = []
        for place, name in enumerate(self.mine.names):
            if place in paired:
                column = one.columns[one.pairs[paired[place]][1]]
                like = one.alike[paired[place]]
                alignment.append(Aligned(name, column.name, column.number, like))
            else:
                alignment.append(Aligned(name))
        extra = tuple(c.name for i, c in enumerate(one.columns) if i not in used)
        return UnionResult(
            0,
            one.entry.name,
            one.score,
            tuple(alignment),
            extra,
            rows.new,
            one.entry.rows,
            apart,
            (),
            self.mine,
            one.segment,
            one.entry,
        )

    def _found(self, one: Compared) -> Found:
        return self.searcher.place_of(self.mine, (0,), one.number, (one.entry.first,))

    def grouped(self) -> list[UnionResult]:
        """The results, versions of one table as one."""
        groups = Versions().grouped(self.found)
        return [
            replace(
                self.results[group[0]],
                rank=rank,
                versions=tuple(self.results[place].table for place in group[1:]),
            )
            for rank, group in enumerate(groups[: self.k], 1)
        ]


def union_search(
    searcher: Searcher,
    mine: MyTable,
    k: int | None = None,
    notes: tuple[str, ...] = (),
    since: float | None = None,
) -> UnionAnswer:
    """The tables whose rows could be appended to mine, the best first."""
    begin = time.perf_counter() if since is None else since
    if not mine.rows():
        raise InputError(f"{mine.name} has no rows: nothing tells what could be appended")
    names = lake_names(searcher.snapshot)
    likely = candidates(searcher, mine, names)
    comparison = Comparison(searcher, mine, names, likely.weights)
    compared = [comparison.compare(*table) for table in likely.tables]
    compared.sort(key=_order)
    meant = meant_by(searcher)
    if meant is not None:
        compared[:_BY_MEANING] = [
            comparison.compare(one.number, one.entry.number, meant)
            for one in compared[:_BY_MEANING]
        ]
        compared.sort(key=_order)
    run = _Run(searcher, mine, k or DEFAULT_K)
    versions = _of_mine(searcher, mine, compared)
    for one in compared:
        if one.score < BELIEVED or len(run.results) >= 2 * run.k:
            break
        if sum(like.score >= _LIKELY for like in one.alike) < min(_PAIRS, len(mine.names)):
            continue
        run.take(one, (one.number, one.entry.number) in versions)
    return UnionAnswer(
        mine.name,
        tuple(mine.names),
        tuple(run.grouped()),
        tuple(replace(one, rank=rank) for rank, one in enumerate(run.misses[: run.k], 1)),
        run.k,
        time.perf_counter() - begin,
        tuple(dict.fromkeys([*notes, *mine.notes(), *likely.notes])),
        mine,
    )


def _of_values(like: Likeness) -> float:
    return next((sign.says for sign in like.signs if sign.what == "values"), 0.0)


def _order(one: Compared) -> tuple[float, str]:
    return -one.score, one.entry.name


def _of_mine(searcher: Searcher, mine: MyTable, compared: list[Compared]) -> set[tuple[int, int]]:
    """The tables that are versions of mine, where mine is one of the lake."""
    if mine.home is None or not compared:
        return set()
    number, table = mine.home
    first = searcher.snapshot.segments[number].catalog.table(table).first
    tables = [searcher.place_of(mine, (0,), number, (first,))]
    tables += [searcher.place_of(mine, (0,), one.number, (one.entry.first,)) for one in compared]
    group = Versions().grouped(tables)[0]
    return {(tables[place].number, tables[place].table) for place in group[1:]}
