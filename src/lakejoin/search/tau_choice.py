"""How near matches must be: the tau of an encoder, its automatic choice with a plot, and formatted
distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lakejoin.errors import import_optional
from lakejoin.model import Array
from lakejoin.store.distance_limits import DistanceLimit, parse_distance
from lakejoin.text_format import format_tau

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TauCounts:
        """Read the JSON of `to_dict`, which does not say how many values were sampled from."""
        counts = [(count["tau"], count["columns"]) for count in data["counts"]]
        tau, columns = zip(*counts, strict=True) if counts else ((), ())
        figures = (data[name] for name in ("taken", "why", "least", "values", "values"))
        return cls(tau, columns, *figures)

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
        return pa.table({"tau": list(self.tau), "columns": list(self.columns)})

    def to_pandas(self) -> Any:
        """The rows of `to_arrow` as a `pandas.DataFrame`."""
        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return "\n".join([*plot_text(self), self.why])

    def _repr_html_(self) -> str:
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
            f"tau {format_tau(TAU_GRID[begin])}: {_qualify(last)}, and no more up to "
            f"{format_tau(TAU_GRID[-1])}"
        )
    knee = find_knee(counts[begin : end + 1]) + begin
    if knee == begin:
        return TAU_GRID[begin], (
            f"tau {format_tau(TAU_GRID[begin])}: the smallest at which {_qualify(first)}; the "
            "number rises right after it"
        )
    return TAU_GRID[knee], (
        f"tau {format_tau(TAU_GRID[knee])}: {_qualify(int(counts[knee]))}; beyond this knee the "
        f"number rises faster, to {last:,} at {format_tau(TAU_GRID[end])}"
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


_EIGHTHS = " ▁▂▃▄▅▆▇█"
_HEIGHT = 6  # lines of the plot
_TICK = 10  # bars from one label below to the next


def plot_text(taus: TauCounts) -> list[str]:
    """Plot in lines of text: a title, bars, and the axis with a mark at the chosen tau.

    A bar with a positive count is never empty.
    """
    most = max(taus.columns, default=0)
    gauge = max(len(f"{most:,}"), 2)
    eighths = [_height(count, most, _HEIGHT * 8) for count in taus.columns]
    lines = [f"columns with matches for {taus.least:,} of {_values(taus)}, by tau"]
    for line in range(_HEIGHT - 1, -1, -1):
        label = f"{most:,}" if line == _HEIGHT - 1 else "0" if line == 0 else ""
        bars = "".join(_EIGHTHS[min(8, max(0, height - 8 * line))] for height in eighths)
        lines.append(f"{label:>{gauge}} │{bars}".rstrip())
    taken = _taken(taus)
    lines.append(" " * gauge + " └" + "".join("▲" if i == taken else "─" for i in range(len(taus))))
    lines.append(" " * (gauge + 2) + _labels(taus))
    return lines


def _values(taus: TauCounts) -> str:
    sampled = f" (a sample of {taus.of:,})" if taus.of > taus.values else ""
    return f"{taus.values:,} values{sampled}"


def _height(count: int, most: int, room: int) -> int:
    return max(1, round(room * count / most)) if count else 0


def _taken(taus: TauCounts) -> int:
    """The index of the bar of the chosen tau; -1 if it is not on the axis."""
    return taus.tau.index(taus.taken) if taus.taken in taus.tau else -1


def _labels(taus: TauCounts) -> str:
    line = ""
    for i in range(_TICK - 1, len(taus), _TICK):
        label = format_tau(taus.tau[i])
        line = line.ljust(i + 1 - len(label)) + label
    return line


# -- notebooks -----------------------------------------------------------------------------------

_BAR = 8  # pixels per bar
_TALL = 120  # pixels of the tallest bar
_LEFT, _BELOW, _ABOVE = 60, 34, 22
# Half-transparent colours suit light and dark pages.
_COLOUR, _TAKEN, _INK = "rgba(56,132,255,.55)", "rgba(230,120,30,.9)", "currentColor"


def plot_svg(taus: TauCounts) -> str:
    """Plot as a self-contained SVG; its title gives the same explanation."""
    most = max(taus.columns, default=0)
    width, height = _LEFT + _BAR * len(taus) + 10, _ABOVE + _TALL + _BELOW
    ground, taken = _ABOVE + _TALL, _taken(taus)
    parts = [
        f"<title>{taus.why}</title>",
        _words(_LEFT, 12, f"columns by tau ({taus.least:,} of {_values(taus)})", "start"),
        _words(_LEFT - 6, _ABOVE + 8, f"{most:,}", "end"),
        _words(_LEFT - 6, ground, "0", "end"),
        f'<line x1="{_LEFT}" y1="{ground}" x2="{width - 10}" y2="{ground}" stroke="{_INK}"/>',
    ]
    for i, count in enumerate(taus.columns):
        tall = _height(count, most, _TALL)
        parts.append(
            f'<rect x="{_LEFT + _BAR * i + 1}" y="{ground - tall}" width="{_BAR - 2}" '
            f'height="{tall}" fill="{_TAKEN if i == taken else _COLOUR}">'
            f"<title>tau {format_tau(taus.tau[i])}: {count:,}</title></rect>"
        )
        if (i + 1) % _TICK == 0:
            parts.append(
                _words(_LEFT + _BAR * i + 4, ground + 14, format_tau(taus.tau[i]), "middle")
            )
    parts.append(_words(_LEFT, ground + 30, taus.why, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{max(width, 640)}" '
        f'height="{height}" font-size="11" font-family="sans-serif">{"".join(parts)}</svg>'
    )


def _words(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{_INK}">{text}</text>'


_MILLIMETRE = 0.001  # shorter distances are rounding errors


def _plain(number: float, digits: int) -> str:
    """Format a number with that many significant digits, if possible without an exponent."""
    return f"{number:,.0f}" if 999.5 <= number < 1e15 else f"{number:.{digits}g}"


def limit_unit(within: str | float | DistanceLimit) -> str:
    """The unit of distances within a limit: `m`, `%`, or empty for plain numbers.

    >>> limit_unit("500m"), limit_unit("5%"), limit_unit(3)
    ('m', '%', '')
    """
    return {"m": "m", "share": "%"}.get(parse_distance(within).unit, "")


@dataclass(frozen=True, slots=True)
class Reach:
    """How near the matches of an answer had to be.

    By meaning: `tau`, and the identity of the `encoder`; `taus` if tau was chosen automatically;
    `sure` if a match is the nearest value of a column with at least that chance of being right:
    then `tau` is how far the farthest of them can be. By distance: `within` as the caller wrote
    it, and the `metric`. `measure` is what was counted.
    `unit` is the unit of distances: `"%"` for a share (of the largest distance by meaning, of the
    query's number by distance), `"m"` for metres, `" rad"` for angles, empty for plain numbers.
    """

    measure: str
    tau: float | None = None
    encoder: str | None = None
    within: str | None = None
    metric: str | None = None
    unit: str = ""
    taus: TauCounts | None = None
    sure: float | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reach:
        """Read the JSON of `to_dict`."""
        taus, metric, within = data["taus"], data["metric"], data["within"]
        unit = "%" if within is None else " rad" if metric == "angular" else limit_unit(within)
        counts = None if taus is None else TauCounts.from_dict(taus)
        sure = data.get("sure")
        return cls(
            data["measure"], data["tau"], data["encoder"], within, metric, unit, counts, sure
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures as in `--json`."""
        return {
            "tau": self.tau,
            "within": self.within,
            "metric": self.metric,
            "measure": self.measure,
            "encoder": self.encoder,
            "taus": self.taus.to_dict() if self.taus else None,
            "sure": self.sure,
        }

    def format_distance(self, distance: float | None) -> str:
        """Format a distance.

        >>> meaning, near = Reach("hit", tau=0.3, unit="%"), Reach("hit", within="500m", unit="m")
        >>> [meaning.format_distance(share) for share in (0.2134, None)]
        ['21.3%', '-']
        >>> [near.format_distance(metres) for metres in (2.4e-9, 312.4, 2345.0)]
        ['0 m', '312 m', '2.35 km']
        >>> Reach("hit", within="1e7").format_distance(5556000.0)
        '5,556,000'
        """
        if distance is None:
            return "-"
        if self.unit == "%":
            return f"{_plain(100 * distance, 3)}%"
        if self.unit == "m":
            distance = distance if distance >= _MILLIMETRE else 0.0
            return f"{distance:.3g} m" if distance < 999.5 else f"{distance / 1000:,.2f} km"
        return f"{_plain(distance, 4)}{self.unit}"

    @property
    def text(self) -> str:
        """How near, for a sentence.

        >>> Reach("hit", tau=0.3, unit="%").text, Reach("hit", within="500m", unit="m").text
        ('within tau 30%', 'within 500m')
        >>> Reach("hit", tau=0.47, unit="%", sure=0.9).text
        'with a chance of 90% (tau up to 47%)'
        """
        if self.sure is not None and self.tau is not None:
            tau = format_tau(round(self.tau, 2))
            return f"with a chance of {self.sure:.0%} (tau up to {tau})"
        return f"within {self.within}" if self.tau is None else f"within tau {format_tau(self.tau)}"
