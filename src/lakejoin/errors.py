"""Every error that lakejoin raises on purpose, in one tree.

```
LakejoinError              the base: catch this one to catch all of them
├── InputError             what the caller gave is wrong: a path, a column, an option
│   ├── UnreadableFile     a file exists but no table can be read from it
│   ├── UnknownTable       no table of that name in the index
│   └── UnusableTarget     a column from which nothing can be learned
├── IndexProblem           something is wrong with an index on disk
│   ├── MissingIndex       there is no index at that place
│   ├── NewerIndex         the index was written by a newer version
│   ├── DamagedIndex       a file of the index is truncated or altered
│   └── BusyIndex          another process is building this index
├── MissingPart            an optional library, or Java, is not installed
├── NoJoin                 two tables do not join, as far as can be found
├── ServerProblem          a lakejoin server did not answer as it should
│   ├── NoServer           nothing answers at that address, or no lakejoin server
│   └── BusyServer         it has too much to do, or took longer than it may: try again
└── BuildFailed            the pipeline stopped; the previous index is untouched
```

Each message is one sentence that names the thing and, where there is one, the way out.

>>> raise MissingIndex("no index at /nowhere; build one with: lakejoin index LAKE")
Traceback (most recent call last):
    ...
lakejoin.errors.MissingIndex: no index at /nowhere; build one with: lakejoin index LAKE
"""

from __future__ import annotations

import errno
from typing import Any


class LakejoinError(Exception):
    """The base of all errors that lakejoin raises on purpose."""

    exit_code = 1


class InputError(LakejoinError):
    """What the caller gave is wrong: a path, a column, an option."""

    exit_code = 2


class UnreadableFile(InputError):
    """A file exists but no table can be read from it; `reason` is a short stable phrase."""

    def __init__(self, path: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f" ({detail})" if detail else ""))
        self.path = path
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[UnreadableFile], tuple[str, str, str]]:
        return type(self), (self.path, self.reason, self.detail)


class UnknownTable(InputError):
    """No table of that name is in the index."""


class UnusableTarget(InputError, ValueError):
    """A column that is to be predicted, and from which nothing can be learned."""


class IndexProblem(LakejoinError):
    """Something is wrong with an index on disk."""

    exit_code = 3


class MissingIndex(IndexProblem):
    """There is no index at that place."""


class NewerIndex(IndexProblem):
    """The index was written by a newer version of lakejoin."""


class DamagedIndex(IndexProblem):
    """A file of the index is truncated or altered."""


class BusyIndex(IndexProblem):
    """Another process is building this index."""


class MissingPart(LakejoinError):
    """An optional library, or Java, is not installed."""

    exit_code = 4


class NoJoin(LakejoinError):
    """Two tables do not join, as far as can be found; the message names the best attempt."""


class ServerProblem(LakejoinError):
    """A lakejoin server did not answer as it should."""

    exit_code = 6


class NoServer(ServerProblem):
    """Nothing answers at that address, or something that is no lakejoin server."""


class BusyServer(ServerProblem):
    """The server has too much to do, or stopped what took longer than it allows.

    `retry_after` is in how many seconds it may be asked again, where the server said so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BuildFailed(LakejoinError):
    """The pipeline stopped; the previous index is untouched."""

    exit_code = 5


def disk_is_full(problem: BaseException) -> bool:
    """Whether an error says that there is no room left.

    >>> disk_is_full(OSError(errno.ENOSPC, "No space left on device"))
    True
    """
    return isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)


def needed(library: str) -> Any:
    """A library that only some calls need, or the sentence that says how to get it.

    >>> needed("json").dumps([1])
    '[1]'
    """
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise MissingPart(f"this needs {library}: pip install {library}") from None
