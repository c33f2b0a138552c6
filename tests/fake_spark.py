"""The small part of a Spark session that the pipeline uses, in this process: no JVM, no retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]


class FakeSpark:
    """`range(…).mapInArrow(f, schema).toArrow()`, one partition after the other."""

    class _Context:
        defaultParallelism = 2  # noqa: N815 (Spark's name)

    sparkContext = _Context()  # noqa: N815

    def __init__(self) -> None:
        self.jobs = 0

    def range(self, begin: int, end: int, step: int, partitions: int) -> FakeSpark:
        assert (step, partitions) == (1, end - begin), "one number a partition"
        self._numbers = range(begin, end)
        return self

    def mapInArrow(self, function: Callable[[Batches], Batches], schema: str) -> FakeSpark:  # noqa: N802
        del schema
        self._function = function
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802
        self.jobs += 1
        found = []
        for number in self._numbers:
            batch = pa.record_batch({"id": pa.array([number], pa.int64())})
            found += list(self._function(iter([batch])))
        return pa.Table.from_batches(found)
