"""How near matches had to be, and how to format their distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.search.tau_choice import TauCounts


_MILLIMETRE = 0.001  # shorter distances are rounding errors


def _plain(number: float, digits: int) -> str:
    """Format a number with that many significant digits, if possible without an exponent."""
    return f"{number:,.0f}" if 999.5 <= number < 1e15 else f"{number:.{digits}g}"


def format_tau(tau: float) -> str:
    """Format a tau.

    >>> format_tau(0.3), format_tau(0.065), format_tau(0.0)
    ('30%', '6.5%', '0%')
    """
    return f"{100 * tau:.4g}%"


@dataclass(frozen=True, slots=True)
class Reach:
    """How near the matches of an answer had to be.

    By meaning: `tau`, and the identity of the `encoder`; `taus` if tau was chosen automatically. By
    distance: `within` as the caller wrote it, and the `metric`. `measure` is what was counted.
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

    def to_dict(self) -> dict[str, Any]:
        """The figures as in `--json`."""
        return {
            "tau": self.tau,
            "within": self.within,
            "metric": self.metric,
            "measure": self.measure,
            "encoder": self.encoder,
            "taus": self.taus.to_dict() if self.taus else None,
        }

    def shown(self, distance: float | None) -> str:
        """Format a distance.

        >>> meaning, place = Reach("hit", tau=0.3, unit="%"), Reach("hit", within="500m", unit="m")
        >>> meaning.shown(0.2134), place.shown(312.4), place.shown(2345.0), meaning.shown(None)
        ('21.3%', '312 m', '2.35 km', '-')
        >>> place.shown(2.4e-9), Reach("hit", within="1e7").shown(5556000.0)
        ('0 m', '5,556,000')
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
    def said(self) -> str:
        """How near, for a sentence.

        >>> Reach("hit", tau=0.3, unit="%").said, Reach("hit", within="500m", unit="m").said
        ('within tau 30%', 'within 500m')
        """
        return (
            f"within tau {format_tau(self.tau)}" if self.tau is not None else f"within {self.within}"
        )
