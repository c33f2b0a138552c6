"""Turns the failure of a Spark job into a readable error."""

from __future__ import annotations

import re

from lakejoin.errors import BuildFailed

_ERROR = re.compile(r"(?:[\w.]+\.)?\w*(?:Error|Exception)\b: ")


def job_failure(problem: BaseException) -> BaseException:
    """The error to raise for a failed Spark job.

    A job ended by Ctrl-C fails too, and PySpark raises that failure instead of the interrupt.
    """
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return KeyboardInterrupt()
        cause = cause.__cause__ or cause.__context__
    return BuildFailed(f"the Spark job failed: {error_line(problem)}")


def error_line(problem: BaseException) -> str:
    """The most useful line of a Spark error: the last that names an error, else the first.

    >>> text = "An error occurred while calling o1.x.\\n: org.apache.SparkException: No such master"
    >>> error_line(RuntimeError(text))
    'org.apache.SparkException: No such master'
    """
    lines = [line.strip().removeprefix(": ") for line in str(problem).splitlines()]
    lines = [line for line in lines if line]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors[-1] if errors else lines[0] if lines else type(problem).__name__)[:500]
