"""Errors as JSON: a kind, one sentence, the HTTP status that goes with it and, for SQL, the
position in the statement."""

from __future__ import annotations

import errno
import json
from dataclasses import asdict, dataclass
from typing import Any

from lakejoin.errors import IndexProblem, InputError, LakejoinError, MissingDependency, UnknownTable

STATUS = {
    "input": 400,
    "sql": 400,
    "no_join": 422,
    "token": 401,
    "forbidden": 403,
    "unknown": 404,
    "slow": 408,
    "gone": 410,
    "too_large": 413,
    "stopped": 499,  # client closed request, as nginx calls it
    "missing": 501,
    "busy": 503,
    "time": 504,
    "memory": 507,
    "full": 507,
    "died": 500,
    "damaged": 500,
    "ours": 500,
}


_KINDS = ((UnknownTable, "unknown"), (IndexProblem, "damaged"), (MissingDependency, "missing"))


class Problem(LakejoinError):
    """An error for the caller: `kind` is a key of `STATUS`, `more` are further JSON fields."""

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more

    @property
    def status(self) -> int:
        """The HTTP status of this kind.

        >>> Problem("gone", "this table is no longer stored").status
        410
        """
        return STATUS.get(self.kind, 500)

    def to_dict(self) -> dict[str, Any]:
        """The content of `error` in the response."""
        return {"kind": self.kind, "message": str(self), **self.more}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Problem:
        more = {key: value for key, value in fields.items() if key not in ("kind", "message")}
        return cls(fields["kind"], fields["message"], **more)

    @classmethod
    def from_error(cls, error: BaseException) -> Problem:
        """Turn any error into a problem: lakejoin's errors keep their message, others are `ours`.

        >>> Problem.from_error(InputError("column 'x' not found in a.csv")).kind
        'input'
        """
        if isinstance(error, Problem):
            return error
        if isinstance(error, LakejoinError):
            kind = next((kind for known, kind in _KINDS if isinstance(error, known)), "input")
            return cls(kind, str(error))
        if isinstance(error, MemoryError):
            return cls("memory", "not enough memory for this request")
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return cls("full", "the disk with the server's files is full; ask who runs the server")
        if isinstance(error, OSError) and error.strerror:
            return cls("ours", error.strerror)  # without the path, which is private
        return cls("ours", f"unexpected error ({type(error).__name__}); see the server log")


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
    TextPosition(line=2, column=3, offset=9)
    """
    offset = max(0, min(offset, len(text)))
    before = text[:offset]
    return TextPosition(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)


def position_at_byte(text: str, offset: int) -> TextPosition:
    """The position of the character at an offset in the bytes of UTF-8."""
    return position_at(text, len(text.encode()[: max(0, offset)].decode(errors="ignore")))


class SqlProblem(Problem, InputError):
    """A statement that cannot run; `position` says where, if known."""

    def __init__(self, message: str, position: TextPosition | None = None) -> None:
        super().__init__("sql", message, **({"at": asdict(position)} if position else {}))
        self.position = position

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> SqlProblem:
        return cls(fields["message"], TextPosition(**fields["at"]) if fields.get("at") else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)


def problem_from_duckdb(error: Exception, sql: str, before: int = 0) -> Problem:
    """Convert DuckDB's error. `before` bytes preceded the statement when it ran.

    >>> error = '{"exception_type": "Binder", "exception_message": "no column x", "position": "7"}'
    >>> problem = problem_from_duckdb(ValueError("Binder Error: " + error), "select x")
    >>> str(problem), problem.more["at"]["column"]
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
    return position_at_byte(sql, int(position) - before)
