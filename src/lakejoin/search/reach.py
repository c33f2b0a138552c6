"""How near did partners have to be, and in what is their distance told?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.search.tau import Taus


_MILLIMETRE = 0.001  # what is nearer is rounding


def _plain(number: float, digits: int) -> str:
    """A number with so many digits, and without an exponent where it is not needed."""
    return f"{number:,.0f}" if 999.5 <= number < 1e15 else f"{number:.{digits}g}"


def tau_text(tau: float) -> str:
    """A tau for people.

    >>> tau_text(0.3), tau_text(0.065), tau_text(0.0)
    ('30%', '6.5%', '0%')
    """
    return f"{100 * tau:.4g}%"


@dataclass(frozen=True, slots=True)
class Reach:
    """How near the partners of an answer had to be.

    By meaning it is `tau`, and `encoder` the identity of the encoder; `taus` where tau was chosen.
    By distance it is `within`, as it was given, in a `metric`. `measure` says what was counted, and
    `unit` in what distances are told: `"%"` for shares, by meaning of the largest distance and by
    distance of my number; `"m"` for metres; `" rad"` for angles; nothing for plain numbers.
    """

    measure: str
    tau: float | None = None
    encoder: str | None = None
    within: str | None = None
    metric: str | None = None
    unit: str = ""
    taus: Taus | None = None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` has it."""
        return {
            "tau": self.tau,
            "within": self.within,
            "metric": self.metric,
            "measure": self.measure,
            "encoder": self.encoder,
            "taus": self.taus.to_dict() if self.taus else None,
        }

    def shown(self, distance: float | None) -> str:
        """A distance for people.

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
        """What near was, for a sentence.

        >>> Reach("hit", tau=0.3, unit="%").said, Reach("hit", within="500m", unit="m").said
        ('within tau 30%', 'within 500m')
        """
        return (
            f"within tau {tau_text(self.tau)}" if self.tau is not None else f"within {self.within}"
        )
