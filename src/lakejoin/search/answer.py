"""What was found: results with their evidence, as a sequence that prints, converts and narrows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, overload

from lakejoin.errors import LakejoinError, needed
from lakejoin.search.hits import Counters
from lakejoin.search.options import check_k, check_share
from lakejoin.search.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.choice import On
    from lakejoin.search.evidence import Wanted
    from lakejoin.search.mate.hits import KeyCounters
    from lakejoin.search.reach import Reach
    from lakejoin.search.tau import Taus
    from lakejoin.search.vectors.hits import VectorCounters


@dataclass(frozen=True, eq=False)
class Answer(Sequence[Result]):
    """The columns that were found for one query, or the tables for a composite key; best first.

    A sequence of `Result`: `answer[0]`, `len(answer)`, and slices, which are answers again. It
    narrows without a new search: `answer.at_least(0.8)`, `answer.top(3)`.

    `seconds` is how long the caller waited: for reading the table, the search and the evidence.
    Of several answers for one table each has the time since the one before, so that together they
    have it all.

    Of a search by meaning or by distance `tau` or `within` is how near partners had to be, and
    `measure` what was counted; `taus` how many columns would qualify at each tau, where it was
    chosen by itself. Else these are None.
    """

    query: Wanted
    results: tuple[Result, ...] = field(repr=False)
    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    counters: Counters | KeyCounters | VectorCounters = field(default_factory=Counters)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    reach: Reach | None = None

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

    @property
    def tau(self) -> float | None:
        """How near by meaning partners had to be, as a share of the largest distance."""
        return self.reach.tau if self.reach else None

    @property
    def within(self) -> str | None:
        """How near by distance partners had to be."""
        return self.reach.within if self.reach else None

    @property
    def measure(self) -> str | None:
        """`"hit"` where my values with a partner were counted, `"all"` where all pairs were."""
        return self.reach.measure if self.reach else None

    @property
    def taus(self) -> Taus | None:
        """How many columns would qualify at each tau, where it was chosen by itself."""
        return self.reach.taus if self.reach else None

    def at_least(self, containment: float) -> Answer:
        """The results that contain at least this share of my values.

        It only narrows: a note says so where others that were not searched for would belong to
        it.
        """
        check_share(containment, "containment")
        enough = tuple(result for result in self.results if result.containment >= containment)
        answer = replace(self, results=enough)
        if self.min is not None and containment < self.min:
            return answer._noted(
                f"searched with at least {self.min:g}: what contains less was not found"
            )
        if enough and len(enough) == len(self.results) == self.k:
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
            **(self.reach.to_dict() if self.reach else {}),
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
        return pa.Table.from_pylist(rows, _schema(near=self.reach is not None))

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


def _schema(near: bool) -> pa.Schema:
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
            **({"pairs": number, "distance": share} if near else {}),
        }
    )
