"""Answers without an index: read from JSON, or detached to be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import Array
from lakejoin.search.answer import Answer
from lakejoin.search.result import Result, ValueSource

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DetachedQuery:
    """The query of a detached answer: its names and sizes, without values."""

    table: str
    columns: tuple[str, ...]
    rows: int
    size: int
    counts: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False)

    def __len__(self) -> int:
        return self.size

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        """Nothing: a detached answer has no values."""
        del positions
        return []


def detach_answer(answer: Answer) -> Answer:
    """The answer with all figures and examples but without the index: `matches`, `unmatched` and
    `sql` of its results raise an error."""
    names = answer.query.columns
    query = DetachedQuery(answer.query.table, names, answer.query.rows, len(answer.query))
    results = (Result.from_dict(result.to_dict(), names) for result in answer.results)
    return replace(answer, query=query, results=tuple(results))


def read_answer(
    data: Mapping[str, Any], source: Callable[[int], ValueSource] | None = None
) -> Answer:
    """Read an answer from the JSON of `Answer.to_dict`; `source` lists the values of a result, by
    rank."""
    from lakejoin.engines.composite.hits import KeyCounters
    from lakejoin.engines.hits import Counters
    from lakejoin.engines.meaning.hits import VectorCounters
    from lakejoin.search.tau_choice import Reach

    searched, counted = data["query"], data["counters"]
    query = DetachedQuery(
        searched["table"], tuple(searched["columns"]), searched["rows"], searched["size"]
    )
    kinds = (Counters, KeyCounters, VectorCounters)
    kind = next(kind for kind in kinds if {count.name for count in fields(kind)} == set(counted))
    return Answer(
        query,
        tuple(
            Result.from_dict(result, query.columns, source(result["rank"]) if source else None)
            for result in data["results"]
        ),
        data["by"],
        data["k"],
        data["min"],
        kind(**counted),
        data["seconds"],
        tuple(data["notes"]),
        Reach.from_dict(data) if data.get("measure") else None,
    )
