"""How good is a table as a partner of mine? All signals weighed in one place.

Three things speak for a way to join, each in nats (the logarithm of how much likelier it makes what
was seen, than chance does; 100 of each at most):

- **values**: the share of the smaller column's values that both hold, against the share that wrong
  values would have (`signals/chance.py`): row numbers, years and short codes meet anything;
- **rows**: in rows that meet, other columns agree as well (`fused/agreeing.py`);
- **names**: equal names are worth `OF_NAMES`.

Together they say how sure it is, 0 to 1, with `SURE` nats. The score is that, times how many of my
values find a partner, to the power of `REACH`: a table that surely joins a few of my rows stands
before one that may join all. What has fewer than `BELIEVED` nats of values and rows together is
called accidental; it stands behind all others, with the reason.

A table is as good as its best way. But which way is it joined by? Where neither side is a key, as a
sector of mine and one of theirs, rows meet many and are multiplied. So the ways of one table stand
in the order of their score times how near the better side is to a key (`worth_first`).

These four numbers are the weights; `benchmarks/fused_quality.py` measures them on questions whose
right and accidental answers are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.search.display import percent
from lakejoin.signals.chance import evidence

OF_NAMES = 20.0
SURE = 100.0
REACH = 0.3
BELIEVED = 10.0
_MOST = 100.0


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a way to join: mine by theirs.

    `values` of the smaller column, of which a `share` is in both, and a part `chance` of wrong ones
    would be. `containment` is the share of my values that meet. `rows` is in nats, `names` 0 to 1.
    """

    values: int
    share: float
    chance: float
    containment: float
    names: float = 0.0
    rows: float = 0.0


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks for a way to join: what, how much in nats, and in words."""

    what: str
    nats: float
    words: str


@dataclass(frozen=True, slots=True)
class Weighed:
    """A score with its reasons; `accidental` says why it is no join, and is empty if it is one."""

    score: float
    sure: float
    reasons: tuple[Reason, ...]
    accidental: str = ""


def weigh(signals: Signals) -> Weighed:
    """The score of a way to join.

    >>> right = weigh(Signals(500, 0.9, 0.03, 0.9))
    >>> codes = weigh(Signals(500, 0.38, 0.35, 0.38))
    >>> round(right.score, 2), right.accidental, round(codes.score, 2), codes.accidental
    (0.97, '', 0.01, 'of wrong values 35% would meet as well')
    """
    values = min(evidence(signals.values, signals.share, signals.chance), _MOST)
    rows = min(signals.rows, _MOST)
    names = OF_NAMES * signals.names
    reasons = (
        Reason("values", values, _of_values(signals)),
        Reason("rows", rows, "other columns agree in the rows that meet" if rows else ""),
        Reason("names", names, "the names are alike" if names else ""),
    )
    sure = min(1.0, (values + rows + names) / SURE)
    score = sure * signals.containment**REACH
    told = tuple(reason for reason in reasons if reason.nats > 0)
    return Weighed(score, sure, told, _why_accidental(signals, values + rows))


def worth_first(weighed: Weighed, unique: float) -> tuple[bool, float]:
    """By this the ways of one table are put in order, the largest first.

    `unique` is the number of distinct values for each row that has one, of the side where it is
    larger: 1 where mine or theirs is a key.

    >>> symbol, sector = weigh(Signals(500, 0.6, 0.1, 0.6)), weigh(Signals(90, 0.9, 0.02, 0.9))
    >>> symbol.score < sector.score, worth_first(symbol, 1.0) > worth_first(sector, 0.2)
    (True, True)
    """
    return not weighed.accidental, weighed.score * unique


def _of_values(signals: Signals) -> str:
    told = f"{percent(signals.share)} of the values are in both"
    return f"{told}, and of wrong ones {percent(signals.chance)} would be"


def _why_accidental(signals: Signals, nats: float) -> str:
    if nats >= BELIEVED:
        return ""
    if signals.chance >= 0.5 * signals.share:
        return f"of wrong values {percent(signals.chance)} would meet as well"
    return "the few values that meet may do so by chance"
