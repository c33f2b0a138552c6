"""How many rows must be looked at? Samples of both tables that still hold enough joinable pairs.

If at least the share `participation` of the target's rows joins, then samples of these sizes hold
more than `pairs` joinable pairs with a probability of at least `certainty` (a Chernoff bound,
thesis, section 4.5): 99.8 % for the defaults. The expected number of pairs in the samples is
N_t * p_t * p_s * participation, and the fewest rows with a given expectation are as many of the
one table as of the other. (Equation 4.8 of the thesis names the two rates the other way round;
both ways keep the promise, this one with fewer rows.)
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
    """What a sample must hold, and under what circumstances."""

    pairs: int = 4
    slack: float = 0.8
    participation: float = 0.01

    @property
    def expected(self) -> float:
        """The joinable pairs that samples must hold on average."""
        return round(self.pairs / (1 - self.slack), 9)

    def stages(self) -> tuple[SampleOptions, ...]:
        """A smaller sample first: where a tenth of the rows joins, it is enough."""
        easy = replace(self, participation=max(self.participation, _EASY))
        return (easy,) if easy == self else (easy, self)

    @property
    def certainty(self) -> float:
        """The probability that samples hold more than `pairs` joinable pairs.

        >>> round(SampleOptions().certainty, 4)
        0.9983
        """
        return 1 - math.exp(-(self.slack**2) * self.expected / 2)


def sample_sizes(source: int, target: int, options: SampleOptions) -> tuple[int, int]:
    """How many rows of each table are needed; all of them where tables are small.

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
    mine = min(source, math.ceil(max(each, needed / target)))
    theirs = min(target, math.ceil(max(each, needed / source)))
    return mine, theirs


def sampled_rows(rows: int, wanted: int, seed: int) -> Array:
    """Which rows, in their order; the same ones every time."""
    if wanted >= rows:
        return np.arange(rows, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(rows, wanted, replace=False))
