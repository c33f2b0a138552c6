"""Score a possible join: the one place where all signals are weighed.

Evidence is measured in nats (log likelihood ratio of a real join against coincidence):

- **values**: the share of the smaller column's values that match, against the share of random
  values that would (`signals/chance.py`): row numbers, years and short codes match anything. At
  most `MANY` values count, and fewer the higher the chance, as values of dense columns do not match
  independently of each other;
- **rarity**: if nearly all values of the smaller column match, how few lake columns hold as many of
  the query's values;
- **ends**: for dense numbers, that both columns start and end at the same ones;
- **rows**: in matching rows, other columns agree too;
- **names**: equal names are worth `OF_NAMES`, less if many tables have such a column.

The confidence, 0 to 1, is the sum divided by `SURE`. The score is the confidence times the
containment to the power of `REACH` and the closeness to a foreign key to the power of `KEYED`: a
table that certainly joins a few rows ranks before one that may join all, and a foreign key ranks
before a few shared names. Values that must be rewritten first, or are only near, count `PLAIN` of
the score. If the caller named no columns, their uniqueness counts like a key: a table by county
ranks before one by state.

A join with fewer than `BELIEVED` nats without its names, or a score below `WORTH`, is accidental:
it ranks after all others, with the reason. Names count there too if all values of one side are in
the other, as in a foreign key.

These eight weights are tuned with `benchmarks/fused_quality.py` and `benchmarks/fused_lakes.py`,
whose right and accidental answers are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakejoin.search.answer_display import format_percent
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
_NEARLY_ALL = 0.9  # of the smaller column's values match
_ALL = 0.95  # of the values (a foreign key), or of the rows (a key)


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known about a possible join.

    The smaller column has `values` values; a `share` of them matches, and a share `chance` of
    random ones would. `containment` is the share of the query's values that match. `rows`, `rarity`
    and `ends` are in nats. `names` is the similarity of the column names, 0 to 1, weighted by how
    specific they are (`telling`); `identify` if both name an identifier. `unique` is the number of
    distinct values per non-null row, of the side where it is larger. `refers` is the closeness to a
    foreign key, 1 if all values of one side are in a key of the other. `tells_apart` is how near
    the query columns are to a key, if the search chose them. `plain` if values are equal as they
    are, without rewriting.
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
        """Whether nearly all values of the smaller column match."""
        return self.share >= _NEARLY_ALL

    @property
    def names_count(self) -> float:
        """The weight of the names, 0 to 1: full for a foreign key into a unique column or if both
        names say identifier, half for other full containment, otherwise none."""
        if self.share < _ALL:
            return 0.0
        return 1.0 if self.unique >= _ALL or self.identify else 0.5


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a join: its kind, its weight in nats, and a sentence."""

    what: str
    nats: float
    words: str


@dataclass(frozen=True, slots=True)
class JoinScore:
    """A score with its reasons; `accidental` says why this is no real join, or is empty."""

    score: float
    sure: float
    reasons: tuple[Reason, ...]
    accidental: str = ""

    @property
    def nats(self) -> float:
        """The total evidence."""
        return sum(reason.nats for reason in self.reasons)


def score_join(signals: Signals) -> JoinScore:
    """Score a possible join.

    >>> right = score_join(Signals(500, 0.9, 0.03, 0.9))
    >>> codes = score_join(Signals(500, 0.38, 0.35, 0.38))
    >>> round(right.score, 2), right.accidental, round(codes.score, 2), codes.accidental
    (0.97, '', 0.0, '35% of random values would match too')
    >>> symbol, sector = Signals(500, 0.6, 0.1, 0.6), Signals(90, 0.9, 0.02, 0.9, refers=0.02)
    >>> score_join(symbol).score > score_join(sector).score
    True
    """
    reasons = tuple(reason for reason in _reasons(signals) if reason.nats > 0)
    nats = sum(reason.nats for reason in reasons)
    sure = min(1.0, nats / SURE)
    keyed = (signals.refers * signals.tells_apart) ** KEYED
    score = sure * signals.containment**REACH * keyed * (1.0 if signals.plain else PLAIN)
    others = sum(reason.nats for reason in reasons if reason.what != "names")
    named = sum(reason.nats for reason in reasons if reason.what == "names")
    believed = others + signals.names_count * named
    return JoinScore(score, sure, reasons, _why_accidental(signals, believed, score))


def _reasons(signals: Signals) -> tuple[Reason, ...]:
    many = min(signals.values, MANY * (1 - signals.chance))
    values = min(evidence(many, signals.share, signals.chance), _MOST)
    whole = signals.nearly_all
    return (
        Reason("values", values, _describe_values(signals)),
        Reason("rarity", whole * signals.rarity, "few other lake columns share this many values"),
        Reason("ends", whole * signals.ends, "both columns start and end at the same numbers"),
        Reason("rows", min(signals.rows, _MOST), "other columns agree in the matching rows"),
        Reason("names", OF_NAMES * signals.names * signals.telling, "the column names are similar"),
    )


def _describe_values(signals: Signals) -> str:
    share, chance = format_percent(signals.share), format_percent(signals.chance)
    if signals.plain:
        return f"{share} of the smaller column's values match; {chance} of random values would"
    return f"{share} of the compared values match; {chance} of random values would"


def _why_accidental(signals: Signals, nats: float, score: float) -> str:
    if nats >= BELIEVED:
        return "" if score >= WORTH else "few values match, and there is little other evidence"
    if signals.chance >= 0.5 * signals.share:
        return f"{format_percent(signals.chance)} of random values would match too"
    return "so few values match that it may be coincidence"
