"""Work on many rows, in parts that run side by side: kernels let go of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
Result = TypeVar("Result")

_SMALLEST = 1000  # rows of a part: fewer are not worth a thread


def in_parts(work: Callable[[slice], Result], rows: int) -> list[Result]:
    """What `work` gives for consecutive parts of the rows, in order; at least one part.

    >>> in_parts(lambda part: list(range(5))[part], 5)
    [[0, 1, 2, 3, 4]]
    """
    from concurrent.futures import ThreadPoolExecutor

    count = max(1, min(os.cpu_count() or 1, rows // _SMALLEST))
    ends = np.linspace(0, rows, count + 1).astype(int).tolist()
    parts = [slice(a, b) for a, b in pairwise(ends)]
    if count == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, parts))
