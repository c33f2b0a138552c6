"""What is wrong with a statement: one sentence, and where in the text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lakejoin.app.server.problems import Problem
from lakejoin.errors import InputError

_MOST_CANDIDATES = 5
_LONGEST_SENTENCE = 500


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: `line` and `column` from 1, `offset` in characters from 0."""

    line: int
    column: int
    offset: int


def place_at(text: str, offset: int) -> Place:
    """The place of a character.

    >>> place_at("select\\n  x", 9)
    Place(line=2, column=3, offset=9)
    """
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)


class SqlProblem(Problem, InputError):
    """A statement that cannot be run; `line`, `column` and `offset` say where, if that is known."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        at = {"line": place.line, "column": place.column, "offset": place.offset} if place else None
        super().__init__("sql", message, **({"at": at} if at else {}))
        self.line = place.line if place else None
        self.column = place.column if place else None
        self.offset = place.offset if place else None

    @classmethod
    def of(cls, told: dict[str, Any]) -> SqlProblem:
        """The problem that `to_dict` told."""
        return cls(told["message"], Place(**told["at"]) if told.get("at") else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.to_dict(),)


def told_by_engine(error: Exception, sql: str, before: int = 0) -> Problem:
    """DuckDB's error as a problem. `before` bytes stood before the statement when it was run.

    >>> told = '{"exception_type": "Binder", "exception_message": "no column x", "position": "7"}'
    >>> str(told_by_engine(ValueError("Binder Error: " + told), "select x")), told_by_engine(
    ...     ValueError("Binder Error: " + told), "select x").more["at"]["column"]
    ('no column x', 8)
    """
    told = _structured(str(error))
    kind, message = told.get("exception_type", ""), told.get("exception_message", "")
    if "Out of Memory" in kind or "bad_alloc" in message or "bad allocation" in message:
        return Problem("memory", "this query takes more memory than a query may", limit="memory")
    if message.startswith(("Max expression depth", "memory exhausted")):
        message = "this statement is nested too deeply"
    return SqlProblem(_sentence(message, told), _place(told, sql, before))


def _structured(text: str) -> dict[str, str]:
    head, _, rest = text.partition(": ")
    if rest.startswith("{"):
        try:
            told = json.loads(rest)
        except ValueError:
            pass
        else:
            return {str(key): str(value) for key, value in told.items()}
    if not head.endswith("Error"):
        head, rest = "", text
    return {"exception_type": head.removesuffix(" Error"), "exception_message": rest}


def _sentence(message: str, told: dict[str, str]) -> str:
    """DuckDB's message in one line: what it suggests follows, what it lists at length is cut."""
    parts = [part.strip() for part in message.strip().split("\n")]
    first = parts[0].rstrip("!.:")
    names = [name for name in told.get("candidates", "").split(",") if name][:_MOST_CANDIDATES]
    if names and told.get("error_subtype") != "NO_MATCHING_FUNCTION":
        first += "; did you mean " + " or ".join(names) + "?"
    elif len(parts) > 1 and parts[1].startswith("Did you mean"):
        first += "; did" + parts[1].removeprefix("Did")
    elif len(parts) > 1 and parts[1].startswith("Either add"):
        first += ": either" + parts[1].removeprefix("Either").rstrip(".")
    return first[:_LONGEST_SENTENCE] or "this statement cannot be run"


def _place(told: dict[str, str], sql: str, before: int) -> Place | None:
    position = told.get("position", "")
    if not position.isdecimal():
        return None
    data = sql.encode()
    at = min(max(int(position) - before, 0), len(data))
    return place_at(sql, len(data[:at].decode(errors="ignore")))
