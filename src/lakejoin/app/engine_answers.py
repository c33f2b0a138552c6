"""What is printed of a search by one engine: its answer, several, or one result in full."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lakejoin.app.answers import join_command_for, print_all, print_answer, print_explained
from lakejoin.app.printing import console, print_json
from lakejoin.errors import InputError
from lakejoin.search.answer import Answer
from lakejoin.search.result import NearResult

if TYPE_CHECKING:
    from lakejoin.app.answers import Asked
    from lakejoin.search.answer import Answers
    from lakejoin.search.result import Result


def show_found(
    found: Answer | Answers, asked: Asked, limit: int, explain: int | None, as_json: bool
) -> None:
    """Prints what was found: one answer, or the best `limit` results of each of several; `explain`
    is the number of a result of the one that there is."""
    if explain is not None:
        (answer,) = [found] if isinstance(found, Answer) else found
        _explain(answer, explain, asked, as_json)
    elif as_json:
        print_json(found.to_dict())
    elif isinstance(found, Answer):
        print_answer(console(), found, asked)
    else:
        print_all(console(), found, asked, limit)


def _explain(answer: Answer, rank: int, asked: Asked, as_json: bool) -> None:
    result = next((one for one in answer if one.rank == rank), None)
    if result is None:
        raise InputError(f"there is no result {rank}: the search found {len(answer):,}")
    if not result.verified:
        raise InputError("--explain counts exactly: leave out --unverified")
    if isinstance(result, NearResult) and not result.listed:
        result.matches()  # refuses, and says why
    if as_json:
        print_json(_explained_json(answer, result, asked))
    else:
        print_explained(console(), answer, result, asked)


def _explained_json(answer: Answer, result: Result, asked: Asked) -> dict[str, Any]:
    whole = replace(answer, results=()).to_dict()
    asked_for = ("query", "by", "k", "min", *(answer.reach.to_dict() if answer.reach else ()))
    return {
        **{key: whole[key] for key in asked_for},
        "result": result.to_dict(),
        "matches": result.matches().to_pylist(),
        "unmatched": result.unmatched().to_pylist(),
        **{key: whole[key] for key in ("counters", "notes", "seconds")},
        "sql": _sql(result),
        "join": join_command_for(result, answer, asked) if answer.reach is None else None,
    }


def _sql(result: Result) -> str | None:
    """The SQL of a join; None for one that cannot be written so."""
    try:
        return result.sql()
    except InputError:
        if isinstance(result, NearResult):
            return None
        raise
