"""How near is near enough? The usual tau of an encoder, and one chosen from how many columns would
qualify at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.reach import tau_text

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

LARGEST = 2.0  # the largest distance of two vectors of length 1; tau is a share of it
OURS = 0.30  # measured for encoders that join words with characters: docs/encoders.md
USUAL = 0.06  # of the PEXESO paper, for averaged word vectors
_OWN_CHARACTERS = "characters"
SAMPLE = 100  # values of mine that the choice is made from; more tell little more, and take long
GRID = tuple(percent / 100 for percent in range(1, 51))  # unrelated texts lie at 71 %


def default_tau(identity: str) -> float:
    """The tau that an encoder is searched with where none is given.

    >>> default_tau('wordllama+characters 1 {"meaning":128}'), default_tau("onnx 1 {}")
    (0.3, 0.06)
    """
    name = identity.partition(" ")[0]
    return OURS if name.rpartition("+")[2] == _OWN_CHARACTERS else USUAL


@dataclass(frozen=True, slots=True, repr=False)
class Taus:
    """How many columns would qualify at each tau, and which tau was taken.

    It prints as a small plot, in a notebook as a picture; `to_arrow` and `to_pandas` make a table
    of it. `least` of `values` of mine must have a partner for a column to qualify; where I have
    more, `of` them all, these are a sample.
    """

    tau: tuple[float, ...]
    columns: tuple[int, ...]
    taken: float
    why: str
    least: int
    values: int
    of: int

    def __len__(self) -> int:
        return len(self.tau)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        counts = zip(self.tau, self.columns, strict=True)
        return {
            "taken": self.taken,
            "why": self.why,
            "least": self.least,
            "values": self.values,
            "counts": [{"tau": tau, "columns": columns} for tau, columns in counts],
        }

    def to_arrow(self) -> pa.Table:
        """One row a tau, with the number of `columns` that qualify."""
        import pyarrow as pa

        return pa.table({"tau": list(self.tau), "columns": list(self.columns)})

    def to_pandas(self) -> Any:
        """The rows of `to_arrow` as a `pandas.DataFrame`."""
        from lakejoin.errors import needed

        needed("pandas")
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        from lakejoin.search.tau_plot import as_text

        return "\n".join([*as_text(self), self.why])

    def _repr_html_(self) -> str:
        from lakejoin.search.tau_plot import as_svg

        return as_svg(self)


def sample_of(values: int) -> Array:
    """The places of the values that the choice is made from: all, or some at random; always the
    same ones.

    >>> sample_of(3).tolist(), len(sample_of(10_000))
    ([0, 1, 2], 100)
    """
    if values <= SAMPLE:
        return np.arange(values)
    return np.sort(np.random.default_rng(values).choice(values, SAMPLE, replace=False))


def choose_tau(
    columns: Sequence[int], least: int, values: int, usual: float, of: int | None = None
) -> Taus:
    """The tau to take, where `columns[i]` columns qualify at the i-th tau of `GRID`.

    The rule: of the curve from the first tau at which any column qualifies to the first from which
    on no more do, the point farthest below the straight line between its ends. Up to there each
    step of tau brought few columns; behind it the number runs away, as it does where unrelated
    values begin to meet. A curve that never lies below that line gives its beginning; where nothing
    qualifies at all, the encoder's `usual` tau is kept.

    >>> choose_tau([2] * 20 + [3, 4, 6, 9, 20, 80, 300] + [900] * 23, 6, 10, 0.3).taken
    0.25
    """
    counts = np.asarray(columns, dtype=np.int64)
    taken, why = _chosen(counts, usual)
    if of is not None and of > values:
        why += f" (counted for {values:,} of the {of:,} values)"
    return Taus(GRID, tuple(counts.tolist()), taken, why, least, values, of or values)


def _chosen(counts: Array, usual: float) -> tuple[float, str]:
    if not counts.any():
        return usual, (
            f"no column qualifies at any tau up to {tau_text(GRID[-1])}: tau stays "
            f"{tau_text(usual)}, the encoder's own"
        )
    begin, end = int(np.argmax(counts > 0)), int(np.argmax(counts == counts[-1]))
    first, last = int(counts[begin]), int(counts[end])
    if begin == end:
        return GRID[begin], (
            f"tau {tau_text(GRID[begin])}: {_qualify(last)} there, and no more up to "
            f"{tau_text(GRID[-1])}"
        )
    knee = knee_of(counts[begin : end + 1]) + begin
    if knee == begin:
        return GRID[begin], (
            f"tau {tau_text(GRID[begin])}: the smallest at which {_qualify(first)}; beyond it the "
            f"number rises at once"
        )
    return GRID[knee], (
        f"tau {tau_text(GRID[knee])}: {_qualify(int(counts[knee]))}; beyond this knee the number "
        f"rises faster, to {last:,} at {tau_text(GRID[end])}"
    )


def _qualify(count: int) -> str:
    return "1 column qualifies" if count == 1 else f"{count:,} columns qualify"


def knee_of(counts: Array) -> int:
    """The place of the count farthest below the straight line from the first to the last; the first
    of several, and 0 where none is below.

    >>> knee_of(np.array([1, 1, 1, 2, 20, 90])), knee_of(np.array([1, 50, 90])), knee_of([3])
    (3, 0, 0)
    """
    counts = np.asarray(counts, dtype=np.float64)
    line = np.linspace(counts[0], counts[-1], len(counts))
    below = line - counts
    # What rounding makes of a straight line is no knee.
    place = int(np.argmax(below > below.max() - 1e-9 * max(1.0, counts[-1])))
    return place if below[place] > 1e-9 * max(1.0, counts[-1]) else 0
