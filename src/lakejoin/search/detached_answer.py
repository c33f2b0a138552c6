"""Detach an answer from its index, so that it can be sent to another process and shown there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result


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
    """The answer with all figures and examples but without the index: `matches`, `list_unmatched` and
    `sql` of its results raise an error."""
    query = answer.query
    detached_query = DetachedQuery(query.table, query.columns, query.rows, len(query))
    return replace(answer, query=detached_query, results=tuple(map(_detach, answer.results)))


def _detach(result: Result) -> Result:
    figures = {"evidence": result.evidence, "column_size": result.column_size}
    removed: dict[str, Any] = {"found": None}
    if hasattr(result, "partners"):
        removed["partners"] = None
    detached = replace(result, **removed)
    vars(detached).update(figures)  # prime the cached properties
    return detached
