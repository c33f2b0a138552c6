"""Choose tau: the default of an encoder, or the knee of how many columns qualify at each tau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.reach import format_tau

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

LARGEST_DISTANCE = 2.0  # the largest distance of two vectors of length 1; tau is a share of it
OWN_TAU = 0.30  # measured for encoders that combine words with characters: docs/encoders.md
PAPER_TAU = 0.06  # of the PEXESO paper, for averaged word vectors
_OWN_CHARACTERS = "characters"
TAU_SAMPLE = 100  # query values used to choose tau; more add little and take long
TAU_GRID = tuple(percent / 100 for percent in range(1, 51))  # unrelated texts lie at 71 %


def default_tau(identity: str) -> float:
    """The default tau of an encoder.

    >>> default_tau('wordllama+characters 1 {"meaning":128}'), default_tau("onnx 1 {}")
    (0.3, 0.06)
    """
    name = identity.partition(" ")[0]
    return OWN_TAU if name.rpartition("+")[2] == _OWN_CHARACTERS else PAPER_TAU


@dataclass(frozen=True, slots=True, repr=False)
class TauCounts:
    """How many columns would qualify at each tau, and which tau was chosen.

    Prints as a small plot, in a notebook as a picture; `to_arrow` and `to_pandas` make a table. A
    column qualifies if `least` of `values` query values have a match; these are a sample if the
    query has more, `of` in all.
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
        """The figures as in `--json`."""
        counts = zip(self.tau, self.columns, strict=True)
        return {
            "taken": self.taken,
            "why": self.why,
            "least": self.least,
            "values": self.values,
            "counts": [{"tau": tau, "columns": columns} for tau, columns in counts],
        }

    def to_arrow(self) -> pa.Table:
        """One row per tau with the number of `columns` that qualify."""
        import pyarrow as pa

        return pa.table({"tau": list(self.tau), "columns": list(self.columns)})

    def to_pandas(self) -> Any:
        """The rows of `to_arrow` as a `pandas.DataFrame`."""
        from lakejoin.errors import import_optional

        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        from lakejoin.search.tau_plot import plot_text

        return "\n".join([*plot_text(self), self.why])

    def _repr_html_(self) -> str:
        from lakejoin.search.tau_plot import plot_svg

        return plot_svg(self)


def sample_positions(values: int) -> Array:
    """The positions of the values to choose tau from: all, or a fixed random sample.

    >>> sample_positions(3).tolist(), len(sample_positions(10_000))
    ([0, 1, 2], 100)
    """
    if values <= TAU_SAMPLE:
        return np.arange(values)
    return np.sort(np.random.default_rng(values).choice(values, TAU_SAMPLE, replace=False))


def choose_tau(
    columns: Sequence[int], least: int, values: int, usual: float, of: int | None = None
) -> TauCounts:
    """Choose a tau, given that `columns[i]` columns qualify at the i-th tau of `TAU_GRID`.

    Take the curve from the first tau at which any column qualifies to the first after which no more
    do, and choose its point farthest below the straight line between the ends. Up to there each
    step of tau adds few columns; beyond it, unrelated values begin to match. If the curve is never
    below the line, choose its start; if nothing qualifies, keep the encoder's `usual` tau.

    >>> choose_tau([2] * 20 + [3, 4, 6, 9, 20, 80, 300] + [900] * 23, 6, 10, 0.3).taken
    0.25
    """
    counts = np.asarray(columns, dtype=np.int64)
    taken, why = _chosen(counts, usual)
    if of is not None and of > values:
        why += f" (counted for {values:,} of the {of:,} values)"
    return TauCounts(TAU_GRID, tuple(counts.tolist()), taken, why, least, values, of or values)


def _chosen(counts: Array, usual: float) -> tuple[float, str]:
    if not counts.any():
        return usual, (
            f"no column qualifies at any tau up to {format_tau(TAU_GRID[-1])}; using the encoder's "
            f"default, {format_tau(usual)}"
        )
    begin, end = int(np.argmax(counts > 0)), int(np.argmax(counts == counts[-1]))
    first, last = int(counts[begin]), int(counts[end])
    if begin == end:
        return TAU_GRID[begin], (
            f"tau {format_tau(TAU_GRID[begin])}: {_qualify(last)}, and no more up to {format_tau(TAU_GRID[-1])}"
        )
    knee = find_knee(counts[begin : end + 1]) + begin
    if knee == begin:
        return TAU_GRID[begin], (
            f"tau {format_tau(TAU_GRID[begin])}: the smallest at which {_qualify(first)}; the number "
            f"rises right after it"
        )
    return TAU_GRID[knee], (
        f"tau {format_tau(TAU_GRID[knee])}: {_qualify(int(counts[knee]))}; beyond this knee the number "
        f"rises faster, to {last:,} at {format_tau(TAU_GRID[end])}"
    )


def _qualify(count: int) -> str:
    return "1 column qualifies" if count == 1 else f"{count:,} columns qualify"


def find_knee(counts: Array) -> int:
    """The index of the count farthest below the straight line from the first to the last; the first
    of several, and 0 if none is below.

    >>> find_knee(np.array([1, 1, 1, 2, 20, 90])), find_knee(np.array([1, 50, 90])), find_knee([3])
    (3, 0, 0)
    """
    counts = np.asarray(counts, dtype=np.float64)
    line = np.linspace(counts[0], counts[-1], len(counts))
    below = line - counts
    # Rounding errors on a straight line are not a knee.
    knee = int(np.argmax(below > below.max() - 1e-9 * max(1.0, counts[-1])))
    return knee if below[knee] > 1e-9 * max(1.0, counts[-1]) else 0
