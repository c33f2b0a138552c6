"""Jobs that search: which tables join with one, and which values meet."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk
from lakejoin.app.server.problems import Problem
from lakejoin.app.server.tables import OpenTable
from lakejoin.app.server.work.joined import JoinAsked, joined
from lakejoin.app.server.work.meeting import met
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.fused.answer import FusedAnswer, FusedResult
    from lakejoin.discovery.fused.ways import Way
    from lakejoin.search.answer import Answer
    from lakejoin.search.result import Result

Told = dict[str, Any]

_OPTIONS = ("k", "min", "tau", "within", "measure", "metric")
_REMEMBERED = 4  # answers, so that one can be opened without another search
_EXPLAINED = 50
_remembered: OrderedDict[str, Any] = OrderedDict()


def search(desk: Desk, job: Told, tell: Tell) -> Told:
    """The answer to a search, as `lakejoin search --json` has it, with ids and what to join by."""
    asked = job["search"]
    mine = desk.tables.open(asked["table"])
    for answer in _answers(desk, mine, asked, tell, job["partial"]):
        told = _told(answer, mine)
        if not told["final"]:
            tell("partial", told)
    _remember(job["key"], answer)
    return told


def explain(desk: Desk, job: Told, tell: Tell) -> Told:
    """One result: the values that meet and those that do not, side by side."""
    asked, rank, limit = job["search"], int(job["rank"]), int(job.get("limit") or _EXPLAINED)
    mine = desk.tables.open(asked["table"])
    answer = _remembered.get(job["key"])
    if answer is None and (told := _equal_values(desk, mine, job, limit)) is not None:
        return told
    if answer is None:
        *_, answer = _answers(desk, mine, asked, tell)
        _remember(job["key"], answer)
    results = list(answer.misses if job.get("miss") and answer.by == "fused" else answer)
    if not 1 <= rank <= len(results):
        raise InputError(f"there is no result {rank}: the search found {len(results):,}")
    result = results[rank - 1]
    tell("progress", {"doing": "comparing values"})
    if answer.by == "fused":
        return _explained_way(desk, mine, result, int(job.get("way") or 0), limit)
    return {
        "result": _result(result, asked),
        **_values(result, limit),
        "sql": _sql(result),
    }


# -- answers -----------------------------------------------------------------------------------


def _answers(
    desk: Desk, mine: OpenTable, asked: Told, tell: Tell, partial: bool = False
) -> Iterator[Any]:
    """One answer after the other, each better than the one before; the last one only, if nobody
    sees the others."""
    lake = desk.lake()
    on = asked.get("on") or None
    by = asked.get("by") or "fused"
    options = {key: asked[key] for key in _OPTIONS if asked.get(key) is not None}
    tell("progress", {"doing": "reading the table"})
    if by == "fused":
        if extra := set(options) - {"k"}:
            raise InputError(f"{', '.join(sorted(extra))}: not for a search in every way")
        if not partial:
            yield lake.search(mine.given(), on, options.get("k"), by="fused")
            return
        tell("progress", {"doing": "looking at sketches"})
        for answer in lake.search_progressively(mine.given(), on, options.get("k")):
            yield answer
            tell("progress", {"doing": "looking closer"})
        return
    tell("progress", {"doing": "searching"})
    others = bool(asked.get("others", True))
    yield lake.search(mine.given(), on, by=by, others=others, **options)


def _told(answer: FusedAnswer | Answer, mine: OpenTable) -> Told:
    from lakejoin.discovery.fused.answer import FusedAnswer

    told = answer.to_dict()
    told["query"]["id"] = str(mine.id)
    if isinstance(answer, FusedAnswer):
        for key, results in (("results", answer.results), ("misses", answer.misses)):
            told[key] = [_fused_result(one) for one in results]
        return {**told, "final": answer.final}
    told["results"] = [_result(one, told) for one in answer]
    return {**told, "final": True}


def _fused_result(result: FusedResult) -> Told:
    told = result.to_dict()
    right = f"lake:{result.table}"
    for way, shown in zip(result.ways, told["ways"], strict=True):
        shown["join"] = _join_by(way, right)
    return {**told, "id": right}


def _join_by(way: Way, right: str) -> Told:
    """What to ask for to join by a way."""
    from lakejoin.app.pasting import join_options

    options = join_options(way)
    mine, theirs = way.columns, way.result.columns
    paired = len(mine) == len(theirs) and bool(options.on)
    pairs = [{"left": a, "right": b} for a, b in zip(mine, theirs, strict=True)] if paired else None
    told: Told = {"right": right, "on": pairs, "by": options.by}
    return {**told, "within": options.within} if options.within else told


def _result(result: Result, asked: Told) -> Told:
    right = f"lake:{result.table}"
    names = asked["query"]["columns"] if "query" in asked else asked.get("on") or []
    pairs = None
    if len(names) == len(result.columns):
        pairs = [{"left": a, "right": b} for a, b in zip(names, result.columns, strict=True)]
    join: Told = {"right": right, "on": pairs, "by": None}
    if asked.get("by") == "meaning":
        join |= {"by": "meaning", "tau": asked.get("tau")}
    elif asked.get("by") == "distance":
        join |= {"by": "nearest", "within": asked.get("within")}
    return {**result.to_dict(), "id": right, "join": join}


# -- values ------------------------------------------------------------------------------------


def _explained_way(
    desk: Desk, mine: OpenTable, result: FusedResult, place: int, limit: int
) -> Told:
    if not 0 <= place < len(result.ways):
        raise InputError(f"there is no way {place}: {result.table} joins in {len(result.ways)}")
    way = result.ways[place]
    told = _fused_result(result)
    if hasattr(way.result, "matches"):
        return {"result": told, **_values(way.result, limit), "sql": _sql(way.result)}
    return {"result": told, **_joined_values(desk, mine, told["ways"][place]["join"], limit)}


def _equal_values(desk: Desk, mine: OpenTable, job: Told, limit: int) -> Told | None:
    """The same without another search, where the answer is kept and values of one column are
    equal: as another worker has searched, or somebody long ago."""
    kept = None if job.get("miss") else desk.answer(job["key"])
    results = kept["results"] if kept else []
    place = int(job.get("way") or 0)
    if not 1 <= int(job["rank"]) <= len(results):
        return None
    shown = results[int(job["rank"]) - 1]
    ways = shown.get("ways", [])
    if not place < len(ways) or ways[place]["kind"] != "equal" or len(ways[place]["mine"]) > 1:
        return None
    way = ways[place]
    found = met(desk.lake().snapshot, mine, way["mine"][0], shown["table"], way["theirs"][0])
    if found is None:
        return None
    return {"result": shown, **_values(found, limit), "sql": _sql(found)}


def _values(result: Any, limit: int) -> Told:
    return {
        "matches": _valued(result.matches(limit)),
        "unmatched": _valued(result.unmatched(limit)),
        "matched": result.matched,
        "unmatched_total": result.query_size - result.matched,
    }


def _valued(values: pa.Table) -> list[Told]:
    """Rows of values; the parts of a combination stand together as `value`."""
    numbers = ("partner", "distance", "mine", "theirs")
    rows: list[Told] = values.to_pylist()
    if "value" in values.column_names:
        return rows
    told = []
    for row in rows:
        parts = {name: text for name, text in row.items() if name not in numbers}
        told.append({"value": parts, **{name: row[name] for name in numbers if name in row}})
    return told


def _joined_values(desk: Desk, mine: OpenTable, join: Told, limit: int) -> Told:
    """The same by making the join, where values must be rewritten to meet."""
    found = joined(desk, JoinAsked.of({**join, "left": str(mine.id), "how": "inner"}))
    if not found:
        raise Problem("input", found.no_join)
    pairs = [
        {"value": one.before, "partner": one.partner, "after": one.after}
        for one in found.examples(limit)
    ]
    missing = found.unmatched("left", limit, nearest=False).to_pylist()
    return {
        "matches": pairs[:limit],
        "unmatched": [{"value": one["value"]} for one in missing],
        "matched": found.left_joined,
        "unmatched_total": found.left.num_rows - found.left_joined,
        "sql": None,
    }


def _sql(result: Any) -> str | None:
    try:
        return str(result.sql())
    except InputError:  # of likeness there may be none
        return None


def _remember(key: str, answer: Any) -> None:
    _remembered[key] = answer
    _remembered.move_to_end(key)
    while len(_remembered) > _REMEMBERED:
        _remembered.popitem(last=False)
