"""The options of a join."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice

HOWS = ("inner", "left", "right", "full")
SUFFIX = "_right"
MATCH_KINDS = ("auto", "equal", "transform", "fuzzy", "meaning", "nearest")
TAU = 0.3  # of the largest distance, for callers without one

Progress = Callable[[str], None]  # called with what is being done


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """How near matches must be, and what becomes of several matches of a row.

    `one_to_one` gives each row at most one match. `aggregate` merges all matches of a left row into
    one row: `"first"` for every right column, or `{"price": "mean"}` for some. `suffix` is added to
    the name of a right column if the left table has it too. Fuzzy matches are made while their
    estimated precision is at least `precision`, and matches by meaning if their chance of being
    right is at least that. `within` is the largest distance of nearest values (`5`, `"3d"`,
    `"500m"`); with an `aggregate`, all rows within it are merged, not only the nearest. With a
    `tau`, each text matches the nearest in meaning within that share of the largest distance,
    whatever its chance. `encoder` makes the vectors.

    >>> shops, sales = {"shop": ["A", "B"]}, {"shop": ["A", "A"], "amount": [3, 4]}
    >>> summed = lakejoin.MatchOptions(aggregate={"amount": "sum"})
    >>> lakejoin.join(shops, sales, on="shop", options=summed).table().column("amount").to_pylist()
    [7]
    """

    one_to_one: bool = False
    aggregate: str | Sequence[str] | Mapping[str, str] = ()
    suffix: str = SUFFIX
    precision: float = 0.9
    within: str | float | None = None
    tau: float | None = None
    encoder: EncoderChoice = None

    def for_join(
        self, on: tuple[tuple[str, str], ...], how: str, by: str | None, rules: ValueRules
    ) -> JoinOptions:
        """The options of a join on these columns."""
        options = {option.name: getattr(self, option.name) for option in fields(self)}
        options["aggregate"] = aggregate_functions(self.aggregate)
        return JoinOptions(on=on, how=how, by=by, rules=rules, **options)


def aggregate_functions(aggregate: str | Sequence[str] | Mapping[str, str]) -> tuple[str, ...]:
    """The aggregate functions as `function` or `column=function`.

    >>> aggregate_functions({"price": "mean"}), aggregate_functions("first")
    (('price=mean',), ('first',))
    """
    if isinstance(aggregate, Mapping):
        return tuple(f"{column}={function}" for column, function in aggregate.items())
    return (aggregate,) if isinstance(aggregate, str) else tuple(aggregate)


@dataclass(frozen=True, slots=True)
class JoinOptions(MatchOptions):
    """How to join two tables.

    `on` fixes the columns, as pairs of a left and a right name. `by` is how rows may match; the
    default is `auto`: equal values, then learned programs, then fuzzy matching of the unmatched
    rows. Columns named with `on` are joined on equal values first, and more is tried only if no
    row matches. The functions of `aggregate` are in `joined_table`.

    >>> JoinOptions(how="outer")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: how must be one of inner, left, right, full, not 'outer'
    """

    aggregate: tuple[str, ...] = ()
    on: tuple[tuple[str, str], ...] = ()
    how: str = "inner"
    by: str | None = None
    rules: ValueRules = field(default_factory=ValueRules)

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise InputError(f"how must be one of {', '.join(HOWS)}, not {self.how!r}")
        if self.by is not None and self.by not in MATCH_KINDS:
            raise InputError(f"by must be one of {', '.join(MATCH_KINDS)}, not {self.by!r}")
        if not 0 < self.precision <= 1:
            raise InputError(f"precision must be above 0 and at most 1, not {self.precision:g}")
        if self.tau is not None and not 0 <= self.tau <= 1:
            raise InputError(f"tau must be between 0 and 1, not {self.tau:g}")
        if self.within is not None and self.by != "nearest":
            raise InputError("within only applies to joins by nearest")
        if self.tau is not None and self.by != "meaning":
            raise InputError("tau only applies to joins by meaning")
        if self.by in ("meaning", "nearest") and not self.on:
            raise InputError(f"a join by {self.by} needs columns: name them with on")
        if self.by == "meaning" and len(self.on) != 1:
            raise InputError("a join by meaning takes one column of each table")
        if self.aggregate and self.how not in ("inner", "left"):
            raise InputError(
                f"aggregate makes one row per left row: how must be inner or left, not {self.how}"
            )
        if self.aggregate and self.one_to_one:
            raise InputError("one_to_one leaves nothing to aggregate: use one or the other")
