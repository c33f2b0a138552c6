"""Choose what to print of a search by a single engine: answers, one result, or JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lakejoin.cli.engine_output import (
    join_command_for,
    print_answers,
    print_answer,
    print_explained,
)
from lakejoin.cli.terminal import console, print_json
from lakejoin.errors import InputError
from lakejoin.search.answer import Answer
from lakejoin.search.result import NearResult

if TYPE_CHECKING:
    from lakejoin.cli.engine_output import TypedQuery
    from lakejoin.search.answer import Answers
    from lakejoin.search.result import Result


def show_engine_answer(
    found: Answer | Answers, typed: TypedQuery, limit: int, explain: int | None, as_json: bool
) -> None:
    """Print one answer, or the best `limit` results of each of several answers; with `explain`,
    print that result of the only answer in full."""
    if explain is not None:
        (answer,) = [found] if isinstance(found, Answer) else found
        _explain(answer, explain, typed, as_json)
    elif as_json:
        print_json(found.to_dict())
    elif isinstance(found, Answer):
        print_answer(console(), found, typed)
    else:
        print_answers(console(), found, typed, limit)


def _explain(answer: Answer, rank: int, typed: TypedQuery, as_json: bool) -> None:
    result = next((result for result in answer if result.rank == rank), None)
    if result is None:
        raise InputError(f"there is no result {rank}: the search found {len(answer):,}")
    if not result.verified:
        raise InputError("--explain needs exact counts: leave out --unverified")
    if isinstance(result, NearResult) and not result.listed:
        result.matches()  # raises and says why
    if as_json:
        print_json(_explained_json(answer, result, typed))
    else:
        print_explained(console(), answer, result, typed)


def _explained_json(answer: Answer, result: Result, typed: TypedQuery) -> dict[str, Any]:
    whole = replace(answer, results=()).to_dict()
    options = ("query", "by", "k", "min", *(answer.reach.to_dict() if answer.reach else ()))
    return {
        **{key: whole[key] for key in options},
        "result": result.to_dict(),
        "matches": result.matches().to_pylist(),
        "unmatched": result.unmatched().to_pylist(),
        **{key: whole[key] for key in ("counters", "notes", "seconds")},
        "sql": _sql_or_none(result),
        "join": join_command_for(result, answer, typed) if answer.reach is None else None,
    }


def _sql_or_none(result: Result) -> str | None:
    """The SQL of a join; None if it cannot be written in SQL."""
    try:
        return result.sql()
    except InputError:
        if isinstance(result, NearResult):
            return None
        raise
