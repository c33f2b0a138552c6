"""The answer of a fused search: tables with their join candidates and added columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lakejoin.errors import InputError
from lakejoin.ranking.added_columns import AddedColumn
from lakejoin.ranking.detached_candidate import DetachedCandidate
from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.render.answer_base import AnswerBase, Detachable
from lakejoin.render.candidate_text import (
    describe_alternatives,
    describe_kind,
    describe_miss,
    describe_shorter_key,
    format_joined_columns,
    summarize_candidate,
)
from lakejoin.render.report import Cell, Column, Report, Row, line, lines
from lakejoin.render.text import render_row
from lakejoin.search.answer_report import fan_out_cell
from lakejoin.search.result import Result
from lakejoin.text_format import clip, format_percent, to_one_line

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.result import ValueSource

_MAX_MISSES = 3  # to show
_ADDED = 8  # columns to name
_VERSIONS = 3  # tables to name
_ALTERNATIVES = 5  # candidates to name
_LONG = 200
_COLUMNS = (
    Column("#"),
    Column("table", right=False, keep="end"),
    Column("joined on", right=False),
    Column("contained", right=False),
    Column("matched"),
    Column("your rows", phrase="{} of your rows"),
    Column("fan-out"),
    Column("score", phrase="score {}"),
    Column("how", right=False, phrase=""),
)


@dataclass(frozen=True, eq=False, repr=False)
class FusedResult(Detachable):
    """A table in the lake and the candidates for joining it with the query table, best first.

    Its `score`, 0 to 1, is that of the first candidate, and more if other columns join as well.
    `adds` are the columns that the first join would add, and how full they would be.
    `versions` are the names of its copies and other versions, `members` those of the other files of
    its series (`sales_2024_01.csv`, `sales_2024_02.csv`, …); they are no results of their own. The
    files of a series match `together` values of the query column.

    >>> result = lake.search("mine.csv", on="city")[0]
    >>> result.table, result.candidates[0].pairs
    ('cities.csv', 'city = name')
    """

    rank: int
    table: str
    score: float
    candidates: tuple[JoinCandidate, ...]
    adds: tuple[AddedColumn, ...]
    versions: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    together: int | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], source: ValueSource | None = None) -> FusedResult:
        """Read the JSON of `to_dict`; `source` lists the values of the first candidate."""
        rank, table = data["rank"], data["table"]
        first, *others = data["ways"]
        candidates = [DetachedCandidate.from_dict(first, table, rank, source)]
        candidates += [DetachedCandidate.from_dict(other, table, rank) for other in others]
        adds = tuple(AddedColumn(**column) for column in data["adds"])
        names = tuple(data["versions"]), tuple(data["members"])
        return cls(rank, table, data["score"], tuple(candidates), adds, *names, data["together"])

    @property
    def already_joined(self) -> bool:
        """Whether the query table already has all columns that it would add."""
        return bool(self.adds) and all(column.known_as is not None for column in self.adds)

    @property
    def accidental(self) -> str:
        """Why this is no real join; empty if it is one."""
        return self.candidates[0].accidental

    @property
    def reason(self) -> str:
        """In words: the joined columns, how many values match, and the evidence for or against."""
        return summarize_candidate(self.candidates[0])

    @property
    def alternatives(self) -> tuple[JoinCandidate, ...]:
        """The candidates that are believed beside the first one."""
        return tuple(candidate for candidate in self.candidates[1:] if candidate.believed)

    def matches(self, limit: int | None = None) -> pa.Table:
        """The values that match by the first candidate, as in `Result.matches`."""
        return self._listed.matches(limit)

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """The query values without a match by the first candidate."""
        return self._listed.unmatched(limit)

    def sql(self) -> str:
        """DuckDB SQL that joins the query table with this one by the first candidate."""
        return self.candidates[0].result.sql()

    @property
    def _listed(self) -> Result:
        result = self.candidates[0].result
        if not isinstance(result, Result):
            raise InputError(
                f"the values of {self.table} were not compared one by one: join the tables instead"
            )
        return result

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object with stable keys."""
        return {
            "rank": self.rank,
            "table": self.table,
            "score": self.score,
            "ways": [candidate.to_dict() for candidate in self.candidates],
            "adds": [asdict(column) for column in self.adds],
            "already_joined": self.already_joined,
            "versions": list(self.versions),
            "members": list(self.members),
            "together": self.together,
            "accidental": self.accidental,
            "reason": self.reason,
        }

    # -- display -------------------------------------------------------------------------------

    @property
    def adds_text(self) -> str:
        """The added columns, and for how many rows; less full columns get their own share."""
        if not self.adds:
            return "adds no columns"
        if self.already_joined:
            return "adds nothing: your table already has its columns"
        most = max(column.full or 0.0 for column in self.adds)
        names = ", ".join(_added(column, most) for column in self.adds[:_ADDED])
        more = len(self.adds) - _ADDED
        noun = "1 column" if len(self.adds) == 1 else f"{len(self.adds):,} columns"
        rows = f" for {format_percent(most)} of your rows" if self.adds[0].full is not None else ""
        return f"adds {noun}{rows}: {names}" + (f" and {more:,} more" if more > 0 else "")

    @property
    def versions_text(self) -> str:
        """The copies and other versions; empty if there are none."""
        if not self.versions:
            return ""
        return f"copies or other versions: {_name_some(self.versions)}"

    @property
    def members_text(self) -> str:
        """The other files of its series, and what they match together; empty if there are none."""
        if not self.members:
            return ""
        files = f"one of {len(self.members) + 1:,} files with the same columns"
        if self.together is not None:
            size = self.candidates[0].result.query_size
            share = format_percent(self.together / max(1, size))
            files += f", which together match {self.together:,} of {size:,} ({share})"
        return f"{files}: {_name_some(self.members)}"

    def row(self, brief: bool = False) -> Row:
        """The row of a report; if `brief`, only how the table joins."""
        candidate = self.candidates[0]
        figures, rows = candidate.result, candidate.result.row_coverage
        about = "~" if rows is None else ""  # estimated by sketches, not counted
        cells = (
            Cell(str(self.rank), "dim"),
            Cell(clip(self.table, _LONG), "bold"),
            Cell(clip(format_joined_columns(candidate), _LONG)),
            Cell(f"{format_percent(figures.containment):>4}", bar=figures.containment),
            Cell(f"{about}{figures.matched:,} of {figures.query_size:,}"),
            Cell("–" if rows is None else format_percent(rows)),
            fan_out_cell(figures.fan_out),
            Cell(f"{self.score:.2f}"),
            Cell("equal values" if candidate.kind == "equal" else candidate.kind),
        )
        beneath = lines([clip(describe_kind(candidate), _LONG)], "accent")
        if not brief:
            others = [
                clip(describe_shorter_key(other) if other.superseded else other.pairs, 60)
                for other in self.alternatives
            ]
            alternatives = describe_alternatives(others, _ALTERNATIVES)
            details = (self.members_text, self.versions_text, candidate.words, alternatives)
            beneath += lines([clip(self.adds_text, _LONG)])
            beneath += lines((clip(text, _LONG) for text in details), "dim")
        return Row(cells, beneath)

    def __repr__(self) -> str:
        return render_row(Report(line(), _COLUMNS), self.row())


def _name_some(tables: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    names = ", ".join(map(to_one_line, tables[:_VERSIONS]))
    more = len(tables) - _VERSIONS
    return names + (f" and {more:,} more" if more > 0 else "")


def _added(column: AddedColumn, most: float) -> str:
    name = to_one_line(column.name)
    full = "" if column.full is None else format_percent(column.full)
    return f"{name} ({full})" if full and full != format_percent(most) else name


@dataclass(frozen=True, eq=False, repr=False)
class FusedAnswer(Detachable, AnswerBase[FusedResult]):
    """The tables that join, at most `k`, best first; a sequence of `FusedResult`.

    `columns` are the query columns that were searched for, each by itself or together as a key.
    `total` is the number of tables that join, of which `more` gives the next without searching
    again. `misses` are tables with only coincidental overlap, the nearest first. `seconds` is how
    long the caller waited, `seconds_by` the time of each stage. An answer that is not `final` comes
    before the search is over; a better one follows.

    >>> answer = lake.search("mine.csv", on="city")
    >>> [result.table for result in answer], answer.final
    (['cities.csv'], True)
    """

    table: str
    columns: tuple[tuple[str, ...], ...]
    results: tuple[FusedResult, ...]
    misses: tuple[FusedResult, ...]
    k: int = 10
    seconds: float = 0.0
    seconds_by: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    final: bool = True
    total: int = 0
    rest: Callable[[int, int], FusedAnswer] | None = field(default=None, repr=False)

    by: ClassVar[str] = "fused"

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        source: Callable[[int], ValueSource] | None = None,
        miss_source: Callable[[int], ValueSource] | None = None,
        final: bool = True,
    ) -> FusedAnswer:
        """Read the JSON of `to_dict`; the sources list the values of results and misses by rank."""

        def read(name: str, sources: Callable[[int], ValueSource] | None) -> list[FusedResult]:
            return [
                FusedResult.from_dict(result, sources(result["rank"]) if sources else None)
                for result in data[name]
            ]

        return cls(
            data["query"]["table"],
            tuple(map(tuple, data["query"]["columns"])),
            tuple(read("results", source)),
            tuple(read("misses", miss_source)),
            data["k"],
            data["seconds"],
            data["seconds_by"],
            tuple(data["notes"]),
            final,
            data["total"],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return FusedAnswer.from_dict, (self.to_dict(), None, None, self.final)

    def _row(self, result: FusedResult) -> dict[str, Any]:
        """A result with the figures of its first candidate."""
        whole = result.to_dict()
        first = whole.pop("ways")[0]
        keys = ("kind", "mine", "theirs", "matched", "containment", "row_coverage", "fan_out")
        figures = {key: first[key] for key in (*keys, "sure", "verdict")}
        adds = [column.name for column in result.adds]
        return {"rank": whole.pop("rank"), "table": whole.pop("table"), **figures, **whole,
                "adds": adds}  # fmt: skip

    def more(self, k: int | None = None) -> FusedAnswer:
        """The next `k` tables that join (as many as this answer has), without searching again.

        >>> lake.search("mine.csv", on="city", k=1).more().total
        1
        """
        if self.rest is None:
            raise InputError(
                "this answer has no more results at hand: search again with a larger k"
            )
        last = self.results[-1].rank if self.results else 0
        return self.rest(last, k or self.k)

    def to_dict(self) -> dict[str, Any]:
        """The answer as a JSON object with stable keys."""
        return {
            "query": {"table": self.table, "columns": [list(names) for names in self.columns]},
            "by": self.by,
            "k": self.k,
            "total": self.total,
            "results": [result.to_dict() for result in self.results],
            "misses": [result.to_dict() for result in self.misses],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "seconds_by": self.seconds_by,
        }

    def report(self, limit: int | None = None, brief: bool = False) -> Report:
        """What the answer shows; beyond `limit` the results are only counted."""
        columns = ", ".join(" + ".join(names) for names in self.columns)
        counts = {0: "no joins found", 1: "1 table joins"}
        shown_of = (
            f"{len(self):,} of {self.total:,}" if len(self) < self.total else f"{len(self):,}"
        )
        found = counts.get(max(len(self), self.total), f"{shown_of} tables join")
        stages = ", ".join(f"{stage} {took:.2f} s" for stage, took in self.seconds_by.items())
        time = f"{self.seconds:.2f} s" + (f": {stages}" if stages else "")
        misses = (line(), line(self.misses_text, style="warn")) if self.misses else ()
        shown = self.results[:limit]
        return Report(
            title=line(to_one_line(f"{self.table} · {columns}: {found}")),
            columns=_COLUMNS,
            rows=tuple(result.row(brief) for result in shown),
            notes=self.notes,
            after=(*misses, line(), line(time, style="dim")),
            left_out=len(self) - len(shown),
        )

    @property
    def misses_text(self) -> str:
        """The tables with coincidental overlap in one sentence; empty if there are none."""
        if not self.misses:
            return ""
        texts = [
            describe_miss(
                to_one_line(miss.table), to_one_line(miss.candidates[0].pairs), miss.accidental
            )
            for miss in self.misses[:_MAX_MISSES]
        ]
        more = len(self.misses) - _MAX_MISSES
        head = "coincidental overlap" if len(self) else "nearest misses (coincidental overlap)"
        return f"{head}: {', '.join(texts)}" + (f" and {more:,} more" if more > 0 else "")
