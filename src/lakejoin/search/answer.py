"""What was found: results with their evidence, as a sequence that prints, converts and narrows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

from lakejoin.errors import InputError, LakejoinError, needed
from lakejoin.search.evidence import Evidence, Meeting, Wanted, evidence_of, matches, told_apart
from lakejoin.search.evidence import unmatched as unmatched_values
from lakejoin.search.hits import Counters
from lakejoin.search.options import check_k, check_share

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.choice import On
    from lakejoin.search.mate.hits import KeyCounters
    from lakejoin.search.mate.query import KeyQuery
    from lakejoin.search.mine import MyTable
    from lakejoin.search.query import Query
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.manifest import Manifest
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where a result lies in the index, and what it was found for: the way to its evidence.

    `columns` are the numbers of its columns in the segment `number`, `places` those of mine in my
    table, in the same order. `meeting` gives the values that both share, `size` counts those of
    the columns.
    """

    query: Wanted
    segment: Segment
    number: int
    table: int
    columns: tuple[int, ...]
    mine: MyTable
    places: tuple[int, ...]
    manifest: Manifest
    meeting: Callable[[], Meeting]
    size: Callable[[], int]

    @property
    def entry(self) -> TableEntry:
        """What the catalog says of the table."""
        return self.segment.catalog.table(self.table)

    def place(self, part: int = 0) -> int:
        """The zero-based place of a column of the result in its table."""
        return self.columns[part] - self.entry.first


@dataclass(frozen=True)
class Result:
    """A column of the lake that joins with mine, or a table that joins with a composite key.

    `matched` of my `query_size` distinct values are among its `column_size`; `containment` is that
    share. `copy` is `"itself"` for a column of the query's own table, `"copy"` for one of a table
    with exactly the same rows, else empty.

    For a composite key, `columns` are those of the table in the order of mine, and values are
    combinations of values. `runner_up` is the next best choice of columns with its `matched`,
    where it has nearly as many; else None.

    From sketches, `estimate` is the containment that they told and `error` its standard deviation.
    Of a result that was not verified (`verified=False`), `containment` and `matched` come from the
    estimate, `row_coverage` and `fan_out` are None, and there are no examples.
    """

    rank: int
    table: str
    columns: tuple[str, ...]
    matched: int
    containment: float
    query_size: int
    _column_size: int | None  # None: counted when it is asked for
    copy: str = ""
    estimate: float | None = None
    error: float | None = None
    verified: bool = True
    runner_up: dict[str, Any] | None = field(default=None, hash=False)
    found: Found | None = field(default=None, repr=False, compare=False)

    @property
    def mapping(self) -> dict[str, str]:
        """Which of its columns each column of mine joins with.

        A column of mine whose name was there before gets underscores behind it, as in `matches`.
        """
        return dict(zip(told_apart(self._found.query.columns), self.columns, strict=True))

    @cached_property
    def column_size(self) -> int:
        """The distinct values of the column, or the combinations that the columns hold.

        The first results of an answer have it at once, the others when it is first asked for.
        """
        return self._found.size() if self._column_size is None else self._column_size

    @cached_property
    def evidence(self) -> Evidence | None:
        """Row coverage, fan-out and examples together; None where nothing was verified.

        The first results of an answer have it at once, the others when it is first asked for.
        """
        if not self.verified or self.found is None:
            return None
        return evidence_of(self.found.query, self.found.meeting())

    @property
    def row_coverage(self) -> float | None:
        """The share of my rows, those without a value included, that find a partner."""
        return self.evidence.row_coverage if self.evidence else None

    @property
    def fan_out(self) -> float | None:
        """The rows of the inner join per row of mine."""
        return self.evidence.fan_out if self.evidence else None

    @property
    def examples(self) -> dict[str, list[str]]:
        """Up to three `matched` and three `unmatched` values as I write them, those that most of
        my rows hold first; the parts of a combination stand with `·` between them."""
        if self.evidence is None:
            return {"matched": [], "unmatched": []}
        return {"matched": list(self.evidence.matched), "unmatched": list(self.evidence.unmatched)}

    def matches(self, limit: int | None = None) -> pa.Table:
        """The values that meet: `value` as I write it, rows of `mine`, rows of `theirs`; values
        that most of my rows hold first. Of a composite key, a column for each of its columns, by
        their names, stands in the place of `value`."""
        return matches(self._found.query, self._found.meeting(), limit)

    def unmatched(self, limit: int | None = None) -> pa.Table:
        """My values that find no partner: `value` (or the columns of the key), rows of `mine`."""
        return unmatched_values(self._found.query, self._found.meeting(), limit)

    def sql(self) -> str:
        """DuckDB SQL that makes the join of my table with this one."""
        from lakejoin.search.sql import join_sql

        return join_sql(self._found)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it; the keys are stable."""
        return {
            "rank": self.rank,
            "table": self.table,
            "columns": list(self.columns),
            "matched": self.matched,
            "containment": self.containment,
            "query_size": self.query_size,
            "column_size": self.column_size,
            "row_coverage": self.row_coverage,
            "fan_out": self.fan_out,
            "examples": self.examples,
            "copy": self.copy,
            "estimate": self.estimate,
            "error": self.error,
            "runner_up": self.runner_up,
        }

    @property
    def _found(self) -> Found:
        if self.found is None:
            raise InputError("this result is not tied to an index; search again")
        return self.found


@dataclass(frozen=True, eq=False)
class Answer(Sequence[Result]):
    """The columns that were found for one query, or the tables for a composite key; best first.

    A sequence of `Result`: `answer[0]`, `len(answer)`, and slices, which are answers again. It
    narrows without a new search: `answer.at_least(0.8)`, `answer.top(3)`.

    `seconds` is how long the caller waited: for reading the table, the search and the evidence.
    Of several answers for one table each has the time since the one before, so that together they
    have it all.
    """

    query: Query | KeyQuery
    results: tuple[Result, ...] = field(repr=False)
    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    counters: Counters | KeyCounters = field(default_factory=Counters)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()

    error: ClassVar[None] = None  # beside `Failed`, where many are searched for

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Answer: ...
    def __getitem__(self, place: int | slice) -> Result | Answer:
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def at_least(self, containment: float) -> Answer:
        """The results that contain at least this share of my values.

        It only narrows: a note says so where others that were not searched for would belong to
        it.
        """
        check_share(containment, "containment")
        kept = bisect_right(self.results, -containment, key=lambda r: -r.containment)
        answer = replace(self, results=self.results[:kept])
        if self.min is not None and containment < self.min:
            return answer._noted(
                f"searched with at least {self.min:g}: what contains less was not found"
            )
        if kept and kept == len(self.results) == self.k:
            return answer._noted(
                f"only the {self.k} best were searched for: more may contain {containment:g}"
            )
        return answer

    def top(self, k: int) -> Answer:
        """The best `k` results."""
        check_k(k)
        answer = replace(self, results=self.results[:k])
        if self.k is not None and len(self.results) == self.k < k:
            return answer._noted(f"only the {self.k} best were searched for")
        return answer

    def _noted(self, sentence: str) -> Answer:
        return self if sentence in self.notes else replace(self, notes=(*self.notes, sentence))

    def to_dict(self) -> dict[str, Any]:
        """The answer as `lakejoin search --json` prints it."""
        from dataclasses import asdict

        columns = self.query.columns
        return {
            "query": {
                "table": self.query.table,
                "column": columns[0] if len(columns) == 1 else None,
                "columns": list(columns),
                "size": len(self.query),
                "rows": self.query.rows,
            },
            "by": self.by,
            "k": self.k,
            "min": self.min,
            "results": [result.to_dict() for result in self.results],
            "counters": asdict(self.counters),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def to_arrow(self) -> pa.Table:
        """One row a result, with the keys of `Result.to_dict`; `examples` as two columns."""
        import pyarrow as pa

        rows = [result.to_dict() for result in self.results]
        for row in rows:
            examples = row.pop("examples")
            row.update({f"{kind}_examples": texts for kind, texts in examples.items()})
        return pa.Table.from_pylist(rows, _schema())

    def to_pandas(self) -> Any:
        """The rows of `to_arrow` as a `pandas.DataFrame`."""
        needed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows of `to_arrow` as a `polars.DataFrame`."""
        return needed("polars").from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        from lakejoin.search.display import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from lakejoin.search.display import as_html

        return as_html(self)


class Answers(tuple[Answer, ...]):
    """The answers for several columns of one table, in the order of its columns."""

    __slots__ = ()
    error = None

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "\n".join(answer._repr_html_() for answer in self)

    def to_dict(self) -> dict[str, Any]:
        """`answers`, each as `Answer.to_dict` has it."""
        return {"answers": [answer.to_dict() for answer in self]}


@dataclass(frozen=True, slots=True)
class Failed:
    """A query of several that could not be answered, and why; it counts as false."""

    table: str
    on: On
    error: LakejoinError

    def __bool__(self) -> bool:
        return False


def _schema() -> pa.Schema:
    import pyarrow as pa

    text, number, share = pa.string(), pa.int64(), pa.float64()
    return pa.schema(
        {
            "rank": number,
            "table": text,
            "columns": pa.list_(text),
            "matched": number,
            "containment": share,
            "query_size": number,
            "column_size": number,
            "row_coverage": share,
            "fan_out": share,
            "matched_examples": pa.list_(text),
            "unmatched_examples": pa.list_(text),
            "copy": text,
            "estimate": share,
            "error": share,
            "runner_up": pa.struct({"columns": pa.list_(text), "matched": number}),
        }
    )
