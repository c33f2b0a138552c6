"""What a Spark job that failed is to be told as."""

from __future__ import annotations

import re

from lakejoin.errors import BuildFailed

_ERROR = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception)\b: ")


def why(problem: BaseException) -> BaseException:
    """What a failed Spark job is to be told as. One that was ended by Ctrl-C fails as well, and
    PySpark lets that error stand in for the interrupt."""
    before: BaseException | None = problem
    while before is not None:
        if isinstance(before, KeyboardInterrupt):
            return KeyboardInterrupt()
        before = before.__cause__ or before.__context__
    return BuildFailed(f"the Spark job failed: {essence(problem)}")


def essence(problem: BaseException) -> str:
    """The line of a Spark error that says most: the last that names an error, else the first.

    >>> told = "An error occurred while calling o1.x.\\n: org.apache.SparkException: No such master"
    >>> essence(RuntimeError(told))
    'org.apache.SparkException: No such master'
    """
    lines = [line.strip().removeprefix(": ") for line in str(problem).splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors[-1] if errors else lines[0] if lines else type(problem).__name__)[:500]
