"""An answer apart from the index that it came from: it can be sent elsewhere, and shown there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What was searched for, without its values."""

    table: str
    columns: tuple[str, ...]
    rows: int
    size: int
    counts: Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False)

    def __len__(self) -> int:
        return self.size

    def written(self, places: Array) -> list[pa.LargeStringArray]:
        """Nothing: the values stayed where the search was."""
        del places
        return []


def set_apart(answer: Answer) -> Answer:
    """The answer with all its figures and examples, and nothing that leads back to the index:
    `matches`, `unmatched` and `sql` of its results are refused."""
    query = answer.query
    asked = AskedFor(query.table, query.columns, query.rows, len(query))
    return replace(answer, query=asked, results=tuple(map(_apart, answer.results)))


def _apart(result: Result) -> Result:
    known = {"evidence": result.evidence, "column_size": result.column_size}
    away: dict[str, Any] = {"found": None}
    if hasattr(result, "partners"):
        away["partners"] = None
    alone = replace(result, **away)
    vars(alone).update(known)  # as if it had been asked for them already
    return alone
