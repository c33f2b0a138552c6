"""Errors in SQL statements, with their position in the text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from lakejoin.server.problems import Problem
from lakejoin.errors import InputError

_MOST_CANDIDATES = 5
_LONGEST_SENTENCE = 500


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A position in a text: `line` and `column` from 1, `offset` in characters from 0."""

    line: int
    column: int
    offset: int


def position_at(text: str, offset: int) -> TextPosition:
    """The position of the character at an offset.

    >>> position_at("select\\n  x", 9)
    Place(line=2, column=3, offset=9)
    """
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    return TextPosition(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)


class SqlProblem(Problem, InputError):
    """A statement that cannot run; `line`, `column` and `offset` say where, if known."""

    def __init__(self, message: str, position: TextPosition | None = None) -> None:
        at = asdict(position) if position else None
        super().__init__("sql", message, **({"at": at} if at else {}))
        self.line = position.line if position else None
        self.column = position.column if position else None
        self.offset = position.offset if position else None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> SqlProblem:
        """Rebuild a problem from `to_dict`."""
        return cls(fields["message"], TextPosition(**fields["at"]) if fields.get("at") else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.to_dict(),)


def problem_from_duckdb(error: Exception, sql: str, before: int = 0) -> Problem:
    """Convert DuckDB's error. `before` bytes preceded the statement when it ran.

    >>> error = '{"exception_type": "Binder", "exception_message": "no column x", "position": "7"}'
    >>> str(problem_from_duckdb(ValueError("Binder Error: " + error), "select x")), problem_from_duckdb(
    ...     ValueError("Binder Error: " + error), "select x").more["at"]["column"]
    ('no column x', 8)
    """
    details = _error_details(str(error))
    kind, message = details.get("exception_type", ""), details.get("exception_message", "")
    if "Out of Memory" in kind or "bad_alloc" in message or "bad allocation" in message:
        return Problem("memory", "the query exceeds the memory limit", limit="memory")
    if message.startswith(("Max expression depth", "memory exhausted")):
        message = "the statement is nested too deeply"
    return SqlProblem(_sentence(message, details), _position(details, sql, before))


def _error_details(text: str) -> dict[str, str]:
    head, _, rest = text.partition(": ")
    if rest.startswith("{"):
        try:
            details = json.loads(rest)
        except ValueError:
            pass
        else:
            return {str(key): str(value) for key, value in details.items()}
    if not head.endswith("Error"):
        head, rest = "", text
    return {"exception_type": head.removesuffix(" Error"), "exception_message": rest}


def _sentence(message: str, details: dict[str, str]) -> str:
    """DuckDB's message in one line, with its suggestion but without long lists."""
    parts = [part.strip() for part in message.strip().split("\n")]
    first = parts[0].rstrip("!.:")
    names = [name for name in details.get("candidates", "").split(",") if name][:_MOST_CANDIDATES]
    if names and details.get("error_subtype") != "NO_MATCHING_FUNCTION":
        first += "; did you mean " + " or ".join(names) + "?"
    elif len(parts) > 1 and parts[1].startswith("Did you mean"):
        first += "; did" + parts[1].removeprefix("Did")
    elif len(parts) > 1 and parts[1].startswith("Either add"):
        first += ": either" + parts[1].removeprefix("Either").rstrip(".")
    return first[:_LONGEST_SENTENCE] or "this statement cannot run"


def _position(details: dict[str, str], sql: str, before: int) -> TextPosition | None:
    position = details.get("position", "")
    if not position.isdecimal():
        return None
    data = sql.encode()
    at = min(max(int(position) - before, 0), len(data))
    return position_at(sql, len(data[:at].decode(errors="ignore")))
