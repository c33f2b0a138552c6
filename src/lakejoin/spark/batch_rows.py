"""Converts answers to rows of a Spark DataFrame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.pipeline.search_tasks import QueryOutcome

SCHEMA = (
    "query string, mine array<string>, rank bigint, `table` string, columns array<string>, "
    "matched bigint, containment double, query_size bigint, column_size bigint, "
    "row_coverage double, fan_out double, matched_examples array<string>, "
    "unmatched_examples array<string>, copy string, estimate double, error double, pairs bigint, "
    "distance double, notes array<string>, problem string"
)
FUSED_SCHEMA = (
    "query string, rank bigint, `table` string, score double, reason string, result string, "
    "notes array<string>, problem string"
)


def answer_rows(name: str, done: QueryOutcome) -> pa.RecordBatch:
    """One row per result of a query; a row without a rank if there are none."""
    rows = []
    for answer in done.answers:
        about = {"query": name, "mine": list(answer.query.columns), "notes": list(answer.notes)}
        rows += [{**about, **_flat(result.to_dict())} for result in answer] or [about]
    if done.error is not None:
        rows.append({"query": name, "problem": str(done.error)})
    return _batch(rows, SCHEMA)


def fused_answer_rows(name: str, done: QueryOutcome) -> pa.RecordBatch:
    """The same for a fused search; `result` is the JSON of each result."""
    rows: list[dict[str, Any]] = []
    if done.fused is not None:
        answer = done.fused[0]
        about = {"query": name, "notes": answer["notes"]}
        keys = ("rank", "table", "score", "reason")
        results = [
            {**about, **{key: found[key] for key in keys}, "result": json.dumps(found, default=str)}
            for found in answer["results"]
        ]
        rows += results or [about]
    if done.error is not None:
        rows.append({"query": name, "problem": str(done.error)})
    return _batch(rows, FUSED_SCHEMA)


def _flat(result: dict[str, Any]) -> dict[str, Any]:
    examples = result.pop("examples")
    return {**result, **{f"{kind}_examples": texts for kind, texts in examples.items()}}


def _batch(rows: list[dict[str, Any]], schema: str) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {
        "string": pa.string(),
        "array<string>": pa.list_(pa.string()),
        "bigint": pa.int64(),
        "double": pa.float64(),
    }
    fields = [field.split(" ") for field in schema.split(", ")]
    return pa.RecordBatch.from_pylist(
        rows, pa.schema([(name.strip("`"), kinds[kind]) for name, kind in fields])
    )
