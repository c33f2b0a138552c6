"""What goes wrong, as one sentence with a kind: for a browser, a client, or across a pipe."""

from __future__ import annotations

from typing import Any

from lakejoin.errors import (
    IndexProblem,
    InputError,
    LakejoinError,
    MissingPart,
    UnknownTable,
)

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
    "stopped": 499,  # which is what others call a caller who left
    "missing": 501,
    "busy": 503,
    "time": 504,
    "memory": 507,
    "died": 500,
    "damaged": 500,
    "ours": 500,
}


class Problem(LakejoinError):
    """Something that a caller is told: `kind` is one of `STATUS`, `more` are further keys."""

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more

    @property
    def status(self) -> int:
        """The HTTP status that goes with it.

        >>> Problem("gone", "that table is no longer stored").status
        410
        """
        return STATUS.get(self.kind, 500)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, inside `error`."""
        return {"kind": self.kind, "message": str(self), **self.more}

    @classmethod
    def of(cls, told: dict[str, Any]) -> Problem:
        """The problem that `to_dict` told."""
        more = {key: value for key, value in told.items() if key not in ("kind", "message")}
        return cls(told["kind"], told["message"], **more)

    @classmethod
    def from_error(cls, error: BaseException) -> Problem:
        """Any error as a problem: errors of lakejoin keep their sentence, others are ours.

        >>> Problem.from_error(InputError("there is no column x")).kind
        'input'
        """
        if isinstance(error, Problem):
            return error
        if isinstance(error, LakejoinError):
            return cls(_kind(error), str(error), **getattr(error, "more", {}))
        if isinstance(error, MemoryError):
            return cls("memory", "this takes more memory than there is")
        if isinstance(error, OSError) and error.strerror:
            return cls("ours", error.strerror)  # not where: folders are no business of a caller
        return cls("ours", f"this should not happen: {type(error).__name__}")


def _kind(error: LakejoinError) -> str:
    if isinstance(error, UnknownTable):
        return "unknown"
    if isinstance(error, InputError):
        return "input"
    if isinstance(error, IndexProblem):
        return "damaged"
    return "missing" if isinstance(error, MissingPart) else "input"
