"""Every error that lakejoin raises on purpose, in one tree.

```
LakejoinError              the base: catch this one to catch all of them
├── InputError             the caller passed something wrong: a path, a column, an option
│   ├── UnreadableFile     the file exists, but no table can be read from it
│   ├── UnknownTable       the index has no table of that name
│   └── UnusableTarget     nothing can be learned about the target column
├── IndexProblem           something is wrong with an index on disk
│   ├── MissingIndex       there is no index at that location
│   ├── NewerIndex         the index was written by a newer version of lakejoin
│   ├── DamagedIndex       a file of the index is truncated or altered
│   ├── RetiredIndex       the opened version was replaced, and its files have been removed
│   └── BusyIndex          another process is building this index
├── MissingDependency      an optional library, or Java, is not installed
├── NoJoin                 no join was found between two tables
├── ServerProblem          a lakejoin server failed or gave an unexpected answer
│   ├── NoServer           no lakejoin server answers at that address
│   └── BusyServer         the server is overloaded or hit its time limit: try again
└── BuildFailed            the build stopped; the previous index is untouched
```

Each message is one sentence that names the problem and, if there is one, the way out.

>>> raise MissingIndex("no index at /nowhere; build one with: lakejoin index LAKE")
Traceback (most recent call last):
    ...
lakejoin.errors.MissingIndex: no index at /nowhere; build one with: lakejoin index LAKE
"""

from __future__ import annotations

import errno
from typing import Any


class LakejoinError(Exception):
    """Base class of all errors that lakejoin raises on purpose.

    >>> try:
    ...     lakejoin.open("nowhere.index")
    ... except lakejoin.LakejoinError as problem:
    ...     type(problem).__name__, problem.exit_code
    ('MissingIndex', 3)
    """

    exit_code = 1


class InputError(LakejoinError):
    """The caller passed something wrong: a path, a column, an option.

    >>> lakejoin.join({"a": [1]}, {"b": [1]}, how="outer")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: how must be one of inner, left, right, full, not 'outer'
    """

    exit_code = 2


class UnreadableFile(InputError):
    """The file exists, but no table can be read from it; `reason` is a short stable phrase.

    >>> problem = lakejoin.UnreadableFile("a.csv", "empty file")
    >>> str(problem), problem.reason
    ('a.csv: empty file', 'empty file')
    """

    def __init__(self, path: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{path}: {reason}" + (f" ({detail})" if detail else ""))
        self.path = path
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[UnreadableFile], tuple[str, str, str]]:
        return type(self), (self.path, self.reason, self.detail)


class UnknownTable(InputError):
    """The index has no table of that name.

    >>> try:
    ...     lake.table("citis.csv")
    ... except lakejoin.UnknownTable as problem:
    ...     "did you mean cities.csv" in str(problem)
    True
    """


class UnusableTarget(InputError, ValueError):
    """The target column is unusable: nothing can be learned about it.

    >>> issubclass(lakejoin.UnusableTarget, ValueError)
    True
    """


class IndexProblem(LakejoinError):
    """Something is wrong with an index on disk.

    >>> issubclass(lakejoin.MissingIndex, lakejoin.IndexProblem)
    True
    """

    exit_code = 3


class MissingIndex(IndexProblem):
    """There is no index at that location.

    >>> try:
    ...     lakejoin.open("nowhere.index")
    ... except lakejoin.MissingIndex as problem:
    ...     "no index at" in str(problem)
    True
    """


class NewerIndex(IndexProblem):
    """The index was written by a newer version of lakejoin.

    >>> lakejoin.NewerIndex("update lakejoin").exit_code
    3
    """


class DamagedIndex(IndexProblem):
    """A file of the index is truncated or altered.

    >>> lakejoin.DamagedIndex("segment s0: checksum").exit_code
    3
    """


class RetiredIndex(IndexProblem):
    """The opened version of the index was replaced, and its files have been removed since.

    >>> lakejoin.RetiredIndex("version 1 was replaced: open the index again").exit_code
    3
    """


class BusyIndex(IndexProblem):
    """Another process is building this index.

    >>> lakejoin.BusyIndex("another process is building it").exit_code
    3
    """


class MissingDependency(LakejoinError):
    """An optional library, or Java, is not installed.

    >>> lakejoin.MissingDependency("this needs polars: pip install polars").exit_code
    4
    """

    exit_code = 4


class NoJoin(LakejoinError):
    """No join was found between two tables; the message names the best attempt.

    >>> try:
    ...     lakejoin.join({"a": ["x"]}, {"b": ["y"]}).table()
    ... except lakejoin.NoJoin as problem:
    ...     "no join found" in str(problem)
    True
    """


class ServerProblem(LakejoinError):
    """A lakejoin server failed or gave an unexpected answer.

    >>> issubclass(lakejoin.NoServer, lakejoin.ServerProblem)
    True
    """

    exit_code = 6


class NoServer(ServerProblem):
    """No lakejoin server answers at that address.

    >>> try:
    ...     lakejoin.connect("http://127.0.0.1:1")
    ... except lakejoin.NoServer as problem:
    ...     "is `lakejoin serve` running" in str(problem)
    True
    """


class BusyServer(ServerProblem):
    """The server is overloaded, or the request hit its time limit.

    `retry_after` is the number of seconds to wait before trying again, if the server sent one.

    >>> lakejoin.BusyServer("too many requests", retry_after=2.0).retry_after
    2.0
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BuildFailed(LakejoinError):
    """The build stopped; the previous index is untouched.

    >>> lakejoin.BuildFailed("the disk is full").exit_code
    5
    """

    exit_code = 5


def is_disk_full(problem: BaseException) -> bool:
    """Whether an error means that the disk is full.

    >>> is_disk_full(OSError(errno.ENOSPC, "No space left on device"))
    True
    """
    return isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)


def import_optional(library: str) -> Any:
    """Import an optional library; if it is missing, raise an error that says how to install it.

    >>> import_optional("json").dumps([1])
    '[1]'
    """
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise MissingDependency(f"this needs {library}: pip install {library}") from None
