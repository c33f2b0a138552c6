"""Score a possible join: weigh all signals, and compare where dense numbers start and end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lakejoin.render.candidate_text import describe_coincidence
from lakejoin.signals.chance import evidence
from lakejoin.signals.name_similarity import SAME

if TYPE_CHECKING:
    import pyarrow as pa


MANY = 200
OF_NAMES = 20.0
OF_REFERENCES = 40.0  # of the same identifier in both names, if all values are in a key
SURE = 50.0
REACH = 0.3
KEYED = 0.2
PLAIN = 0.95
NAMED = 0.85
BELIEVED = 10.0
WORTH = 0.1
_MOST = 100.0
_NEARLY_ALL = 0.9  # share of the smaller column's values
_ALL = 0.95  # share of the values (a foreign key), or distinct values per row (a key)


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known about a possible join.

    The smaller column has `values` values; a `share` of them matches, and a share `chance` of
    random ones would. `containment` is the share of the query's values that match. `rows`, `rarity`
    and `ends` are in nats. `names` is the similarity of the column names, 0 to 1, weighted by their
    `specificity`; `identify` if both name an identifier. `unique` is the number of distinct values
    per non-null row, of the side where it is larger. `reference` is the closeness to a foreign key,
    1 if all values of one side are in a key of the other. `row_uniqueness` is how near the query
    columns are to a key, if the search chose them. `unchanged` if values match without rewriting.
    `dense` if all values are in an identifier whose numbers have no gaps: any numbers would be.
    `named_key` if several columns of the same names are a key together; of other keys of several
    columns, a share `same_names` has the same names.
    """

    values: int
    share: float
    chance: float
    containment: float
    names: float = 0.0
    rows: float = 0.0
    rarity: float = 0.0
    ends: float = 0.0
    specificity: float = 1.0
    identify: bool = False
    unique: float = 1.0
    reference: float = 1.0
    row_uniqueness: float = 1.0
    unchanged: bool = True
    dense: bool = False
    named_key: bool = False
    same_names: float = 1.0

    @property
    def nearly_all(self) -> bool:
        """Whether nearly all values of the smaller column match."""
        return self.share >= _NEARLY_ALL

    @property
    def is_named_reference(self) -> bool:
        """Whether both names are the same identifier, and one side refers to the other's key."""
        same = self.identify and self.names >= SAME
        return same and self.share >= _ALL and self.unique >= _ALL

    @property
    def names_count(self) -> float:
        """The weight of the names, 0 to 1: full for a foreign key into a unique column or if both
        names say identifier or name a key together, half for other full containment, otherwise
        none."""
        if self.named_key:
            return 1.0
        if self.share < _ALL:
            return 0.0
        return 1.0 if self.unique >= _ALL or self.identify else 0.5


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a join: its kind, and its weight in nats.

    For `values` with the `share` that matches, `chance`, the share of random values that would, and
    whether values match `unchanged`.
    """

    kind: Literal["values", "rarity", "ends", "rows", "names"]
    nats: float
    share: float | None = None
    chance: float | None = None
    unchanged: bool = True


@dataclass(frozen=True, slots=True)
class Coincidence:
    """Why a match is probably coincidental: random values match too, few values match, or there is
    little evidence; or, for `dense` identifiers, why values prove nothing. `chance` is the share of
    random values that match."""

    kind: Literal["chance", "dense", "few values", "little evidence"]
    chance: float


@dataclass(frozen=True, slots=True)
class JoinScore:
    """A score with its reasons; with a `coincidence`, this is no real join."""

    score: float
    reasons: tuple[Reason, ...]
    coincidence: Coincidence | None = None

    @property
    def nats(self) -> float:
        """The total evidence."""
        return sum(reason.nats for reason in self.reasons)

    @property
    def accidental(self) -> str:
        """Why this is no real join, in words; empty if it is one."""
        if self.coincidence is None:
            return ""
        return describe_coincidence(self.coincidence.kind, self.coincidence.chance)


def score_join(signals: Signals) -> JoinScore:
    """Score a possible join.

    >>> right = score_join(Signals(500, 0.9, 0.03, 0.9))
    >>> codes = score_join(Signals(500, 0.38, 0.35, 0.38))
    >>> round(right.score, 2), right.accidental, round(codes.score, 2), codes.accidental
    (0.97, '', 0.0, '35% of random values would match too')
    >>> symbol = Signals(500, 0.6, 0.1, 0.6)
    >>> sector = Signals(90, 0.9, 0.02, 0.9, reference=0.02)
    >>> score_join(symbol).score > score_join(sector).score
    True
    """
    reasons = tuple(reason for reason in _reasons(signals) if reason.nats > 0)
    nats = sum(reason.nats for reason in reasons)
    sure = min(1.0, nats / SURE)
    # A reference by name is as good as a key, however often its values repeat.
    repeats = 1.0 if signals.is_named_reference else signals.row_uniqueness
    keyed = (signals.reference * repeats) ** KEYED
    plain = (1.0 if signals.unchanged else PLAIN) * (NAMED + (1 - NAMED) * signals.same_names)
    score = sure * signals.containment**REACH * keyed * plain
    others = sum(reason.nats for reason in reasons if reason.kind != "names")
    named = sum(reason.nats for reason in reasons if reason.kind == "names")
    believed = others + signals.names_count * named
    return JoinScore(score, reasons, _find_coincidence(signals, believed, score))


def _reasons(signals: Signals) -> tuple[Reason, ...]:
    many = min(signals.values, MANY * (1 - signals.chance))
    values = min(evidence(many, signals.share, signals.chance), _MOST)
    whole = signals.nearly_all
    of_names = OF_REFERENCES if signals.is_named_reference else OF_NAMES
    return (
        Reason("values", values, signals.share, signals.chance, signals.unchanged),
        Reason("rarity", whole * signals.rarity),
        Reason("ends", whole * signals.ends),
        Reason("rows", min(signals.rows, _MOST)),
        Reason("names", of_names * signals.names * signals.specificity),
    )


def _find_coincidence(signals: Signals, nats: float, score: float) -> Coincidence | None:
    if nats >= BELIEVED:
        return None if score >= WORTH else Coincidence("little evidence", signals.chance)
    by_chance = signals.chance >= 0.5 * signals.share
    if by_chance and signals.dense:
        return Coincidence("dense", signals.chance)
    return Coincidence("chance" if by_chance else "few values", signals.chance)


_WHOLE = r"^-?\d{1,15}$"
_DIGITS = "0123456789"
_FIRST = 1
_ABOUT_ZERO = 0.001  # share of the largest number that counts as zero
_YEARS = (1500, 2100)


class Ends(NamedTuple):
    """The smallest and largest whole number of a column, and their common prefix."""

    low: int
    high: int
    prefix: str = ""

    @property
    def are_common(self) -> bool:
        """Whether any count or any list of years may have these ends."""
        return self.are_years or (not self.prefix and self.start_at_zero)

    @property
    def start_at_zero(self) -> bool:
        """Whether they start at about 0, as counts and amounts do."""
        return self.low <= max(_FIRST, _ABOUT_ZERO * self.high)

    @property
    def are_years(self) -> bool:
        """Whether they may be years, which start and end alike in many tables."""
        return not self.prefix and self.low >= _YEARS[0] and self.high <= _YEARS[1]


def find_ends(values: pa.LargeStringArray) -> Ends | None:
    """The ends of a column of whole numbers, with or without a common prefix; otherwise None.

    >>> import pyarrow as pa
    >>> find_ends(pa.array(["7", "12", "9"])), find_ends(pa.array(["7", "x"]))
    (Ends(low=7, high=12, prefix=''), None)
    >>> find_ends(pa.array(["d-0017", "d-0100"]))
    Ends(low=17, high=100, prefix='d')
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(values):
        return None
    least, most = (side.as_py() for side in pc.min_max(values).values())
    prefix = _common_beginning(least, most).rstrip(_DIGITS).removesuffix("-")
    numbers: Any = pc.utf8_slice_codeunits(values, len(prefix)) if prefix else values
    if prefix:
        numbers = pc.utf8_ltrim(numbers, "-")
    if not pc.all(pc.match_substring_regex(numbers, _WHOLE)).as_py():
        return None
    range_ = pc.min_max(numbers.cast(pa.int64()))
    return Ends(range_["min"].as_py(), range_["max"].as_py(), prefix)


def _common_beginning(first: str, second: str) -> str:
    pairs = enumerate(zip(first, second, strict=False))
    return first[
        : next((position for position, (a, b) in pairs if a != b), min(len(first), len(second)))
    ]


def compare_ends(mine: Ends, theirs: Ends) -> float:
    """How much the ends of two columns agree, in nats.

    >>> round(compare_ends(Ends(10_248, 11_077), Ends(10_248, 11_077)), 1)
    13.4
    >>> round(compare_ends(Ends(1, 1000), Ends(1, 1000)), 1)
    6.9
    >>> compare_ends(Ends(1, 1000), Ends(1, 4000))
    0.0
    """
    if mine.are_years and theirs.are_years:
        return 0.0
    span = min(mine.high - mine.low, theirs.high - theirs.low) + 1
    # A start at about 0 says nothing, a start at 10,248 a lot.
    beginning = min(span, max(1, min(mine.low, theirs.low)))
    return _near(mine.high, theirs.high, span) + _near(mine.low, theirs.low, beginning)


def _near(first: int, second: int, span: int) -> float:
    return max(0.0, math.log(span / (abs(first - second) + 1)))
