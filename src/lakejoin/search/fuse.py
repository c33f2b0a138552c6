"""How good is a table as a partner of mine? All signals weighed in one place.

What speaks for a way to join is told in nats (the logarithm of how much likelier it makes what was
seen, than chance does):

- **values**: the share of the smaller column's values that both hold, against the share that wrong
  values would have (`signals/chance.py`): row numbers, years and short codes meet anything. Beyond
  `MANY` values more of them say no more, and fewer do the larger chance is: values of columns that
  leave few gaps do not meet independently of each other;
- **rarity**: where nearly all values of the smaller column are in both, how few of the lake's
  columns hold as many of mine;
- **ends**: of such numbers that leave few gaps, that both columns begin and end at the same ones;
- **rows**: in rows that meet, other columns agree as well;
- **names**: equal names are worth `OF_NAMES`, less if many tables have such a column.

Together they say how sure it is, 0 to 1, with `SURE` nats. The score is that, times how many of my
values find a partner, to the power of `REACH`, and how near it is to a reference, to the power of
`KEYED`: a table that surely joins a few of my rows stands before one that may join all, and one
whose rows refer to mine, or mine to its, before one that shares some names. Values that must be
rewritten first, or are only near, count `PLAIN` of the others. Where no columns were named, so it
is with how well mine tell my rows apart: a table by county stands before one by state.

What has fewer than `BELIEVED` nats without its name, or scores less than `WORTH`, is called
accidental; it stands behind all others, with the reason. The name counts there too where all values
of one side are in the other, as those of references are.

These eight numbers are the weights; `benchmarks/fused_quality.py` and `benchmarks/fused_lakes.py`
measure them on questions whose right and accidental answers are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.search.display import percent
from lakejoin.signals.chance import evidence

MANY = 200
OF_NAMES = 20.0
SURE = 50.0
REACH = 0.3
KEYED = 0.2
PLAIN = 0.95
BELIEVED = 10.0
WORTH = 0.1
_MOST = 100.0
_NEARLY_ALL = 0.9  # of the smaller column's values are in both
_ALL = 0.95  # of the values, or of the rows: a reference, and a key


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a way to join: mine by theirs.

    `values` of the smaller column, of which a `share` is in both, and a part `chance` of wrong ones
    would be. `containment` is the share of my values that meet. `rows`, `rarity` and `ends` are in
    nats. `names` are alike 0 to 1, as telling as `telling` says, and may both `identify`. `unique`
    is the number of distinct values for each row that has one, of the side where it is larger.
    `refers` is how much of a side is in one that is a key, 1 where all is. `tells_apart` is how
    near my columns are to a key, where the search was to choose them. `plain` are values that are
    equal as they are.
    """

    values: int
    share: float
    chance: float
    containment: float
    names: float = 0.0
    rows: float = 0.0
    rarity: float = 0.0
    ends: float = 0.0
    telling: float = 1.0
    identify: bool = False
    unique: float = 1.0
    refers: float = 1.0
    tells_apart: float = 1.0
    plain: bool = True

    @property
    def nearly_all(self) -> bool:
        """Whether nearly all values of the smaller column are in both."""
        return self.share >= _NEARLY_ALL

    @property
    def names_count(self) -> float:
        """Whether names are believed: where all values of one side are in a key of the other, as
        those of references are, or both are named as identifiers; else half."""
        if self.share < _ALL:
            return 0.0
        return 1.0 if self.unique >= _ALL or self.identify else 0.5


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

    @property
    def nats(self) -> float:
        """All that speaks for it."""
        return sum(one.nats for one in self.reasons)


def weigh(signals: Signals) -> Weighed:
    """The score of a way to join.

    >>> right = weigh(Signals(500, 0.9, 0.03, 0.9))
    >>> codes = weigh(Signals(500, 0.38, 0.35, 0.38))
    >>> round(right.score, 2), right.accidental, round(codes.score, 2), codes.accidental
    (0.97, '', 0.0, 'of wrong values 35% would meet as well')
    >>> symbol, sector = Signals(500, 0.6, 0.1, 0.6), Signals(90, 0.9, 0.02, 0.9, refers=0.02)
    >>> weigh(symbol).score > weigh(sector).score
    True
    """
    reasons = tuple(one for one in _reasons(signals) if one.nats > 0)
    nats = sum(one.nats for one in reasons)
    sure = min(1.0, nats / SURE)
    keyed = (signals.refers * signals.tells_apart) ** KEYED
    score = sure * signals.containment**REACH * keyed * (1.0 if signals.plain else PLAIN)
    others = sum(one.nats for one in reasons if one.what != "names")
    named = sum(one.nats for one in reasons if one.what == "names")
    believed = others + signals.names_count * named
    return Weighed(score, sure, reasons, _why_accidental(signals, believed, score))


def _reasons(signals: Signals) -> tuple[Reason, ...]:
    many = min(signals.values, MANY * (1 - signals.chance))
    values = min(evidence(many, signals.share, signals.chance), _MOST)
    whole = signals.nearly_all
    return (
        Reason("values", values, _of_values(signals)),
        Reason("rarity", whole * signals.rarity, "few columns of the lake hold as many of them"),
        Reason("ends", whole * signals.ends, "the numbers begin and end at the same ones"),
        Reason("rows", min(signals.rows, _MOST), "other columns agree in the rows that meet"),
        Reason("names", OF_NAMES * signals.names * signals.telling, "the names are alike"),
    )


def _of_values(signals: Signals) -> str:
    share, chance = percent(signals.share), percent(signals.chance)
    if signals.plain:
        return f"{share} of the values are in both, and of wrong ones {chance} would be"
    return f"{share} of those compared meet, and of wrong ones {chance} would"


def _why_accidental(signals: Signals, nats: float, score: float) -> str:
    if nats >= BELIEVED:
        return "" if score >= WORTH else "few values meet, and little speaks for it"
    if signals.chance >= 0.5 * signals.share:
        return f"of wrong values {percent(signals.chance)} would meet as well"
    return "the few values that meet may do so by chance"
