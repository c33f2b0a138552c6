"""Run work on many rows in parallel threads, as kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")

_SMALLEST = 1000  # rows per thread: fewer are not worth one


def run_in_threads(work: Callable[[slice], Result], rows: int) -> list[Result]:
    """The results of `work` for consecutive slices of the rows, in order; at least one.

    >>> run_in_threads(lambda rows: list(range(5))[rows], 5)
    [[0, 1, 2, 3, 4]]
    """
    from concurrent.futures import ThreadPoolExecutor

    count = max(1, min(os.cpu_count() or 1, rows // _SMALLEST))
    ends = np.linspace(0, rows, count + 1).astype(int).tolist()
    slices = [slice(a, b) for a, b in pairwise(ends)]
    if count == 1:
        return [work(slices[0])]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, slices))
