"""Errors as JSON: a kind, one sentence, and the HTTP status that goes with it."""

from __future__ import annotations

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
    "died": 500,
    "damaged": 500,
    "ours": 500,
}


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
    def of(cls, fields: dict[str, Any]) -> Problem:
        """Rebuild a problem from `to_dict`."""
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
            return cls(_kind(error), str(error), **getattr(error, "more", {}))
        if isinstance(error, MemoryError):
            return cls("memory", "not enough memory for this request")
        if isinstance(error, OSError) and error.strerror:
            return cls("ours", error.strerror)  # without the path, which is private
        return cls("ours", f"unexpected error ({type(error).__name__}); see the server log")


def _kind(error: LakejoinError) -> str:
    if isinstance(error, UnknownTable):
        return "unknown"
    if isinstance(error, InputError):
        return "input"
    if isinstance(error, IndexProblem):
        return "damaged"
    return "missing" if isinstance(error, MissingDependency) else "input"
