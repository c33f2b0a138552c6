"""Choose sample sizes so that the samples of both tables contain enough matching pairs.

If at least the share `participation` of the target's rows matches, samples of these sizes contain
more than `pairs` matching pairs with a probability of at least 1 - exp(-slack^2 * expected / 2), by
a Chernoff bound (thesis, section 4.5): 99.8 % for the defaults. The expected number of pairs in the
samples is N_t * p_t * p_s * participation, and the fewest rows with a given expectation are as many
of one table as of the other. (Equation 4.8 of the thesis swaps the two rates; both variants keep
the guarantee, this one with fewer rows.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_EASY = 0.1


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """The pairs that samples must contain, and the assumed share of matching rows."""

    pairs: int = 4
    slack: float = 0.8
    participation: float = 0.01

    @property
    def expected(self) -> float:
        """The matching pairs that samples must contain on average."""
        return round(self.pairs / (1 - self.slack), 9)

    def stages(self) -> tuple[SampleOptions, ...]:
        """A smaller sample first, which suffices if a tenth of the rows match."""
        easy = replace(self, participation=max(self.participation, _EASY))
        return (easy,) if easy == self else (easy, self)


def sample_sizes(source: int, target: int, options: SampleOptions) -> tuple[int, int]:
    """The number of rows needed of each table; all of them for small tables.

    >>> sample_sizes(1_000_000, 1_000_000, SampleOptions(participation=0.1))
    (14143, 14143)
    >>> sample_sizes(100, 50, SampleOptions())
    (100, 50)
    >>> sample_sizes(1_000_000, 5_000, SampleOptions())
    (400000, 5000)
    """
    if not source or not target:
        return source, target
    needed = options.expected / options.participation * source  # the product of both sizes
    each = math.sqrt(needed)
    source_size = min(source, math.ceil(max(each, needed / target)))
    target_size = min(target, math.ceil(max(each, needed / source)))
    return source_size, target_size


def sample_rows(rows: int, size: int, seed: int) -> Array:
    """A sorted random sample of row indexes; the same for the same seed."""
    if size >= rows:
        return np.arange(rows, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))
