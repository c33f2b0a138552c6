"""Many query tables against one index, as a Spark job over its segments.

A task is a group of segments times a chunk of queries: it opens only its segments, runs the same
engine as a search in one process, and returns numbers of columns with their scores, packed into one
cell. The driver puts them together, and a second stage gathers the evidence of what is best. No
value of a table passes through Spark but as an example in an answer, and the index is only read.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.search.near_options import NearAsked
from lakejoin.search.needed_part import check_part
from lakejoin.search.options import SearchOptions
from lakejoin.search.parted import check_parted
from lakejoin.spark.asking import (
    BatchQuery,
    Done,
    Part,
    Searched,
    complete,
    find,
    located,
    put_together,
)
from lakejoin.spark.batch_rows import FUSED_SCHEMA, SCHEMA, fused_rows, rows_of
from lakejoin.spark.failures import why
from lakejoin.spark.polling import polled
from lakejoin.spark.session import parallelism
from lakejoin.spark.tasks import Listener, Progress
from lakejoin.storage import Place
from lakejoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from lakejoin.search.choice import On
    from lakejoin.store.segment import SegmentRecord

Asked = tuple[str, "On", SearchOptions]

_HITS = 40_000  # queries times groups whose hits are handed over at a time
_NAMES = ("table", "on", "k", "min")  # the columns that a frame of queries may have


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How a batch is cut: a group of segments has about `group_bytes` of files, a chunk at most so
    many queries, and a wave is what goes into one Spark job: fewer where there are many groups, as
    each gives hits for every query. There are `rounds` tasks a core, so that a slow one does not
    keep the others waiting."""

    group_bytes: int = 2 << 30
    chunk: int = 200
    wave: int = 20_000
    rounds: int = 3


def search(
    queries: DataFrame,
    index: Any,
    on: On = None,
    *,
    plan: BatchPlan | None = None,
    **options: Any,
) -> DataFrame:
    """The answers for many query tables, as a DataFrame with a row for each result.

    `queries` has a column `table`: a path that the workers can read, or the name of a table of the
    lake. It may have columns `on` (a name, or an array of names for a composite key), `k` and
    `min`, which stand above the arguments where they are not null. `index` is a place or an opened
    `Lake`. The options are those of `Lake.search`, and so are the answers.

    A query that found nothing has one row without a rank, whose `notes` say why; one that could not
    be answered has the reason in `problem`.

    >>> from lakejoin.spark import search
    >>> queries = spark.createDataFrame([("a.csv",), ("b.csv",)], ["table"])  # doctest: +SKIP
    >>> search(queries, "lake.index", by="overlap", k=5).write.parquet("…")  # doctest: +SKIP
    """
    snapshot, how = _snapshot(index), options_of(**options)
    check_part(snapshot, how.by)
    check_parted(how)
    spark = queries.sparkSession
    asked = _asked(queries, on, how)
    run = _Run(spark, Searched(snapshot.place.uri, snapshot.manifest), plan or BatchPlan())
    work = [cell for wave in _waves(asked, run.wave) for cell in run.found(wave, snapshot)]
    make, schema = (fused_rows, FUSED_SCHEMA) if how.by == "fused" else (rows_of, SCHEMA)
    task = partial(_complete_rows, run.searched, make)
    return run.frame(task, work, schema)


def options_of(
    by: str = "fused",
    k: int | None = None,
    min: float | None = None,
    others: bool = False,
    verified: bool = True,
    algorithm: str = "auto",
    initial: str | int | None = None,
    **near: Any,
) -> SearchOptions:
    """The options of `Lake.search` as one."""
    unknown = near.keys() - {one.name for one in fields(NearAsked)}
    if unknown:
        raise InputError(f"a search has no option {sorted(unknown)[0]!r}")
    how = NearAsked(**near).near(by)
    return SearchOptions(by, k, min, others, verified, algorithm, initial, how)


def search_batch(
    spark: SparkSession,
    snapshot: Snapshot,
    asked: Iterable[Asked],
    plan: BatchPlan | None = None,
    listener: Listener = lambda progress: None,
) -> Iterator[Done]:
    """The answers for many queries, in their order; a wave of queries is worked on at a time."""
    searched = Searched(snapshot.place.uri, snapshot.manifest)
    run = _Run(spark, searched, plan or BatchPlan(), listener)
    for wave in _waves(asked, run.wave):
        work = run.found(wave, snapshot)
        task = partial(_complete_packed, run.searched)
        for cell in run.collect(task, work, "gathering evidence"):
            yield from pickle.loads(cell)


@dataclass(frozen=True, slots=True)
class _Run:
    """One index, searched on one session."""

    spark: SparkSession
    searched: Searched
    plan: BatchPlan
    listener: Listener = lambda progress: None

    @property
    def wave(self) -> int:
        """How many queries go into one job; Spark hands over a gigabyte of results at most."""
        size = sum(record.bytes for record in self.searched.manifest.segments)
        groups = max(1, size // self.plan.group_bytes)
        return max(1, min(self.plan.wave, _HITS // groups))

    def found(self, wave: Sequence[Asked], snapshot: Snapshot) -> list[bytes]:
        """What the parts of the index have for each query of a wave, chunk by chunk."""
        queries = located(wave, snapshot)
        parted = [one for one in queries if one.in_parts]
        cores = parallelism(self.spark)
        groups, chunks = self._cut(parted, cores)
        work = [pickle.dumps((group, chunk)) for group in groups for chunk in chunks]
        cells = self.collect(partial(_find_packed, self.searched), work, "searching")
        found: dict[int, list[Part]] = {id(query): [] for query in parted}
        for number, cell in enumerate(cells):  # group by group, as the work was made
            for query, part in zip(chunks[number % len(chunks)], pickle.loads(cell), strict=True):
                found[id(query)].append(part)
        together: list[tuple[BatchQuery, Part]] = []
        for query in queries:
            if query.in_parts:
                together.append((query, put_together(query, found.pop(id(query)), groups)))
            else:
                together.append((query, query.problem or []))
        size = _even(len(together), self.plan.rounds * cores, self.plan.chunk)
        return [pickle.dumps(together[i : i + size]) for i in range(0, len(together), size)]

    def _cut(
        self, queries: Sequence[BatchQuery], cores: int
    ) -> tuple[list[list[int]], list[Sequence[BatchQuery]]]:
        """Groups of segments, and chunks of queries: every core has something to do."""
        wanted = self.plan.rounds * cores
        size = _even(len(queries), wanted, self.plan.chunk)
        chunks = [queries[i : i + size] for i in range(0, len(queries), size)]
        records = self.searched.manifest.segments
        least = -(-wanted // max(1, len(chunks)))
        return grouped(records, self.plan.group_bytes, least), chunks

    def collect(
        self, task: Callable[[bytes], bytes], work: Sequence[bytes], name: str
    ) -> list[bytes]:
        """What the task makes of each piece of work, in their order."""
        if not work:
            return []
        frame = self.frame(partial(_one_cell, task), work, "number bigint, cell binary")
        stage = Progress(name, total=len(work), unit="tasks")
        with polled(self.spark, stage, self.listener):
            try:
                rows = frame.toArrow()
            except Exception as problem:
                raise why(problem) from problem
        cells = dict(zip(rows["number"].to_pylist(), rows["cell"].to_pylist(), strict=True))
        return [cells[number] for number in range(len(work))]

    def frame(self, task: Callable[..., Any], work: Sequence[bytes], schema: str) -> DataFrame:
        """A frame of what tasks make, one a piece of work; nothing is made yet."""
        pieces = max(1, len(work))
        numbers = self.spark.range(0, pieces, 1, pieces)
        return numbers.mapInArrow(partial(_run_partition, task, tuple(work)), schema)


def grouped(records: Sequence[SegmentRecord], group_bytes: int, least: int) -> list[list[int]]:
    """The numbers of segments in groups of about equal size: at least `least` groups where there
    are as many segments, and none much larger than `group_bytes`.

    >>> from lakejoin.store.segment import SegmentRecord
    >>> grouped([SegmentRecord(name, 1, 1, 1, 1, 1, 1, {}) for name in "abc"], 1 << 30, 2)
    [[0, 2], [1]]
    """
    count = max(1, least, -(-sum(record.bytes for record in records) // group_bytes))
    groups: list[list[int]] = [[] for _ in range(max(1, min(count, len(records))))]
    sizes = [0] * len(groups)
    for number in sorted(range(len(records)), key=lambda n: -records[n].bytes):
        smallest = min(range(len(groups)), key=lambda g: (sizes[g], len(groups[g])))
        groups[smallest].append(number)
        sizes[smallest] += records[number].bytes
    return [sorted(group) for group in groups]


def _even(things: int, parts: int, most: int) -> int:
    """How many things go into a part."""
    return max(1, min(most, -(-things // max(1, parts))))


def _waves(asked: Iterable[Asked], size: int) -> Iterator[list[Asked]]:
    rest = iter(asked)
    while wave := list(islice(rest, size)):
        yield wave


def _snapshot(index: Any) -> Snapshot:
    opened = getattr(index, "snapshot", None)
    if isinstance(opened, Snapshot):
        return opened
    if not isinstance(index, str | os.PathLike):
        raise InputError("the index is a place, or an opened Lake")
    return Snapshot(Place.of(index))


def _asked(queries: DataFrame, on: On, options: SearchOptions) -> list[Asked]:
    """The rows of a frame as queries."""
    if "table" not in queries.columns:
        raise InputError("the queries need a column 'table': paths, or names of tables of the lake")
    unknown = [name for name in queries.columns if name not in _NAMES]
    if unknown:
        raise InputError(
            f"the queries have a column {unknown[0]!r} that says nothing here: they may have "
            f"{', '.join(_NAMES)}"
        )
    found: list[Asked] = []
    for row in queries.toArrow().to_pylist():
        given = {name: row[name] for name in ("k", "min") if row.get(name) is not None}
        own = row.get("on")
        found.append((row["table"], on if own is None else own, replace(options, **given)))
    return found


# -- in the workers --------------------------------------------------------------------------------


def _run_partition(
    task: Callable[[int, bytes], pa.RecordBatch],
    work: Sequence[bytes],
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    for numbers in batches:
        for number in numbers.column(0).to_pylist():
            if number < len(work):
                yield task(number, work[number])


def _one_cell(task: Callable[[bytes], bytes], number: int, work: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    cell = task(work)
    return pa.record_batch(
        {"number": pa.array([number], pa.int64()), "cell": pa.array([cell], pa.binary())}
    )


def _find_packed(searched: Searched, work: bytes) -> bytes:
    numbers, queries = pickle.loads(work)
    return pickle.dumps(find(searched, numbers, queries))


def _complete_packed(searched: Searched, work: bytes) -> bytes:
    return pickle.dumps(list(_done(searched, work)))


def _complete_rows(
    searched: Searched,
    make: Callable[[str, Done], pa.RecordBatch],
    number: int,
    work: bytes,
) -> pa.RecordBatch:
    import pyarrow as pa

    del number
    names = [query.name for query, _ in pickle.loads(work)]
    rows = [make(name, done) for name, done in zip(names, _done(searched, work), strict=True)]
    (batch,) = pa.Table.from_batches(rows).combine_chunks().to_batches()
    return batch


def _done(searched: Searched, work: bytes) -> Iterator[Done]:
    yield from complete(searched, pickle.loads(work))
