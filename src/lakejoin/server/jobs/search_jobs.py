"""Jobs that search for tables to join, and list matched and unmatched values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakejoin.engines.query import QueryTable
from lakejoin.errors import InputError
from lakejoin.inputs import resolve_table
from lakejoin.search.options import DEFAULT_K, SearchOptions, near_options
from lakejoin.server.api_problems import Problem
from lakejoin.server.jobs.join_jobs import Job, JoinRequest, Json, compute_join
from lakejoin.server.workspace import ServedLakeTable, ServedTable
from lakejoin.store.catalog import TableEntry
from lakejoin.store.snapshot import Snapshot
from lakejoin.values.column_names import find_column

if TYPE_CHECKING:
    from lakejoin.ranking.answer import FusedAnswer, FusedResult
    from lakejoin.ranking.join_candidates import JoinCandidate
    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result


_OPTIONS = ("k", "min", "tau", "sure", "within")
_MAX_RECENT = 4  # answers kept to explain results without another search
_recent: OrderedDict[str, Any] = OrderedDict()


def search_tables(job: Job) -> Json:
    """Search, and answer with the keys of `lakejoin search --json` plus ids and join requests."""
    request = job.fields["search"]
    query_table = job.workspace.open(request["table"])
    if request["start"] and request["by"] != "fused":
        raise InputError("start: only available in a fused search")
    if (page := _next_page(job)) is not None:
        return _answer_fields(page, query_table)
    for answer in _answers(job, query_table, job.fields["partial"]):
        fields = _answer_fields(answer, query_table)
        if not fields["final"]:
            job.tell("partial", fields)
    _remember(job.fields["key"], answer)
    if request["start"]:  # the search that it continues is no longer remembered
        return _answer_fields(_page(answer, request), query_table)
    return fields


def _next_page(job: Job) -> FusedAnswer | None:
    """The results after the first ones of a search that is remembered; None if there is none."""
    request, key = job.fields["search"], job.fields["key"]
    return _page(_recent[key], request) if request["start"] and key in _recent else None


def _page(answer: FusedAnswer, request: Json) -> FusedAnswer:
    assert answer.rest is not None, "a final answer has more"
    return answer.rest(request["start"], request.get("k") or DEFAULT_K)


def explain_result(job: Job) -> Json:
    """List the matched and unmatched values of one result."""
    fields, request = job.fields, job.fields["search"]
    rank, limit = fields["rank"], fields["limit"]
    query_table = job.workspace.open(request["table"])
    answer = _recent.get(fields["key"])
    if answer is None and (values := _equal_values(job, query_table, limit)) is not None:
        return values
    if answer is None:
        *_, answer = _answers(job, query_table)
        _remember(fields["key"], answer)
    result = _result_at(answer, rank, fields["miss"])
    job.progress("comparing values")
    if answer.by == "fused":
        return _candidate_values(job, query_table, result, limit)
    return {"result": _result_fields(result, request), **_values(result, limit)}


def _result_at(answer: Any, rank: int, is_miss: bool) -> Any:
    """The result of a rank; of a fused search, also beyond those that the answer shows."""
    is_fused = answer.by == "fused"
    results = list(answer.misses if is_miss and is_fused else answer)
    for result in results:
        if result.rank == rank:
            return result
    if is_fused and not is_miss and rank <= answer.total:
        return answer.rest(rank - 1, 1)[0]
    total = answer.total if is_fused and not is_miss else len(results)
    raise InputError(f"result {rank} not found: the search has {total:,} results")


# -- answers -----------------------------------------------------------------------------------


def _answers(job: Job, query_table: ServedTable, partial: bool = False) -> Iterator[Any]:
    """Answers, each better than the previous one; only the last one unless `partial`."""
    lake, request = job.workspace.lake(), job.fields["search"]
    on, by = request.get("on") or None, request["by"]
    options = {key: request[key] for key in _OPTIONS if request.get(key) is not None}
    job.progress("reading the table")
    table, k = query_table.as_input(), options.get("k", DEFAULT_K)
    if by == "fused":
        if extra := set(options) - {"k"}:
            raise InputError(f"{', '.join(sorted(extra))}: not available in a fused search")
        if not partial:
            yield lake.search(table, on, k)
            return
        job.progress("searching")
        for answer in lake.search_progressively(table, on, k):
            yield answer
            job.progress("verifying results")
        return
    job.progress("searching")
    how_near = (options.pop(name, None) for name in ("tau", "within", "sure"))
    near = near_options(by, *how_near)
    search_options = SearchOptions(by, others=request["others"], near=near, **options)
    yield lake.search_with(table, on, search_options)


def _answer_fields(answer: FusedAnswer | Answer, query_table: ServedTable) -> Json:
    from lakejoin.ranking.answer import FusedAnswer

    fields = answer.to_dict()
    fields["query"]["id"] = str(query_table.id)
    if isinstance(answer, FusedAnswer):
        for key, results in (("results", answer.results), ("misses", answer.misses)):
            fields[key] = [_fused_result_fields(result) for result in results]
        return {**fields, "final": answer.final}
    fields["results"] = [_result_fields(result, fields) for result in answer]
    return {**fields, "final": True}


def _fused_result_fields(result: FusedResult) -> Json:
    fields = result.to_dict()
    right = f"lake:{result.table}"
    for candidate, candidate_fields in zip(result.candidates, fields["ways"], strict=True):
        candidate_fields["join"] = _join_request(candidate, right)
    return {**fields, "id": right}


def _join_request(candidate: JoinCandidate, right: str) -> Json:
    from lakejoin.ranking.join_arguments import join_arguments

    options = join_arguments(candidate)
    pairs = _pairs(candidate.query_columns, candidate.lake_columns) if options.on else None
    request: Json = {"right": right, "on": pairs, "by": options.by}
    return {**request, "within": options.within} if options.within else request


def _pairs(names: Sequence[str], lake_names: Sequence[str]) -> list[Json] | None:
    if len(names) != len(lake_names):  # coordinates may be one column or two
        return None
    return [{"left": a, "right": b} for a, b in zip(names, lake_names, strict=True)]


def _result_fields(result: Result, request: Json) -> Json:
    right = f"lake:{result.table}"
    names = request["query"]["columns"] if "query" in request else request.get("on") or []
    join: Json = {"right": right, "on": _pairs(names, result.columns), "by": None}
    if request.get("by") == "meaning":
        # With a chance, the tau of an answer only says how far its matches can be.
        sure = request.get("sure")
        join |= {"tau": request.get("tau")} if sure is None else {"precision": sure}
        join["by"] = "meaning"
    elif request.get("by") == "distance":
        join |= {"by": "nearest", "within": request.get("within")}
    return {**result.to_dict(), "id": right, "join": join}


# -- values ------------------------------------------------------------------------------------


def _candidate_values(job: Job, query_table: ServedTable, result: FusedResult, limit: int) -> Json:
    index = job.fields["way"]
    if not 0 <= index < len(result.candidates):
        raise InputError(
            f"join {index} not found: {result.table} has {len(result.candidates)} joins"
        )
    candidate = result.candidates[index]
    fields = _fused_result_fields(result)
    if hasattr(candidate.result, "matches"):
        return {"result": fields, **_values(candidate.result, limit)}
    join = fields["ways"][index]["join"]
    return {"result": fields, **_joined_values(job, query_table, join, limit)}


def _equal_values(job: Job, query_table: ServedTable, limit: int) -> Json | None:
    """The same without another search, if the answer is stored (another worker may have searched)
    and the result is an equal match of one column."""
    fields, workspace = job.fields, job.workspace
    stored = None if fields["miss"] else workspace.read_answer(fields["stored"])
    results = stored["results"] if stored else []
    index, rank = fields["way"], fields["rank"]
    shown: Json = next((result for result in results if result["rank"] == rank), {})
    candidates = shown.get("ways", [])
    if not index < len(candidates):
        return None
    candidate = candidates[index]
    if candidate["kind"] != "equal" or len(candidate["mine"]) > 1:
        return None
    columns = candidate["mine"][0], candidate["theirs"][0]
    result = match_columns(workspace.lake().snapshot, query_table, shown["table"], columns)
    return None if result is None else {"result": shown, **_values(result, limit)}


def _values(result: Any, limit: int) -> Json:
    return {
        "matches": _value_rows(result.matches(limit)),
        "unmatched": _value_rows(result.unmatched(limit)),
        "matched": result.matched,
        "unmatched_total": result.query_size - result.matched,
        "sql": _sql(result),
    }


def _value_rows(values: pa.Table) -> list[Json]:
    """Values as JSON; `value` of a composite key is an object of its columns."""
    measures = ("partner", "distance", "mine", "theirs")
    rows: list[Json] = values.to_pylist()
    if "value" in values.column_names:
        return rows
    combined = []
    for row in rows:
        key = {name: text for name, text in row.items() if name not in measures}
        combined.append({"value": key, **{name: row[name] for name in measures if name in row}})
    return combined


def _joined_values(job: Job, query_table: ServedTable, join: Json, limit: int) -> Json:
    """The same by running the join, for joins that rewrite values."""
    left = str(query_table.id)
    done = compute_join(job, JoinRequest.from_fields({**join, "left": left, "how": "inner"}))
    if not done:
        raise Problem("input", done.no_join)
    pairs = [
        {"value": example.before, "partner": example.partner, "after": example.after}
        for example in done.examples(limit)
    ]
    missing = done.unmatched("left", limit, nearest=False).to_pylist()
    return {
        "matches": pairs[:limit],
        "unmatched": [{"value": row["value"]} for row in missing],
        "matched": done.left_joined,
        "unmatched_total": done.left.num_rows - done.left_joined,
        "sql": None,
    }


def _sql(result: Any) -> str | None:
    try:
        return str(result.sql())
    except InputError:  # some similarity matches have no SQL
        return None


def _remember(key: str, answer: Any) -> None:
    _recent[key] = answer
    _recent.move_to_end(key)
    while len(_recent) > _MAX_RECENT:
        _recent.popitem(last=False)


def match_columns(
    snapshot: Snapshot, served_table: ServedTable, table: str, columns: tuple[str, str]
) -> Result | None:
    """Compare a column of the query table with one of a lake table, as a search would; None if they
    share nothing or the tables are copies."""
    from lakejoin.search.searcher import Searcher

    query_table = _query_table(snapshot, served_table)
    segment_index, entry = _locate_table(snapshot, table)
    entries = snapshot.segments[segment_index].catalog.columns_of(entry)
    names = [column.name for column in entries]
    lake_column = entry.first + find_column(names, columns[1], table)
    column_index = find_column(query_table.column_names, columns[0], query_table.name)
    results = Searcher(snapshot).results_for_columns(
        query_table, column_index, [(segment_index, lake_column)]
    )
    return results[0] if results else None


def _query_table(snapshot: Snapshot, mine: ServedTable) -> QueryTable:
    from lakejoin.search.query_tables import IndexedTable

    if isinstance(mine, ServedLakeTable):
        return IndexedTable(snapshot, *_locate_table(snapshot, mine.name))
    return resolve_table(mine.as_input()).query_table(snapshot)


def _locate_table(snapshot: Snapshot, name: str) -> tuple[int, TableEntry]:
    """The index of the segment of a lake table, and its entry there."""
    segment, entry = snapshot.table(name)
    return next(i for i, other in enumerate(snapshot.segments) if other is segment), entry
