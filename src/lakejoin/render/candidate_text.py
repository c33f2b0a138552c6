"""Describe a join candidate: its columns, how values match, its figures, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from lakejoin.text_format import format_percent, format_tau, to_one_line

if TYPE_CHECKING:
    from lakejoin.store.distance_limits import DistanceLimit

_LABELS = {
    "rewritten": "equal once rewritten: ",
    "meaning": "same meaning, ",
    "near": "near, ",
}
_REASONS = {
    "rarity": "few other lake columns share this many values",
    "ends": "both columns start and end at the same numbers",
    "rows": "other columns agree in the matching rows",
    "names": "the column names are similar",
}


class FigureFields(Protocol):
    """The figures of a match: how many of how many query values match, the shares of values and
    rows, and the rows of the join per query row."""

    @property
    def matched(self) -> int: ...
    @property
    def query_size(self) -> int: ...
    @property
    def containment(self) -> float: ...
    @property
    def row_coverage(self) -> float | None: ...
    @property
    def fan_out(self) -> float | None: ...


class CandidateFields(Protocol):
    """A candidate, as `JoinCandidate` describes it: its columns, how values match, figures and
    evidence. `how` and `why` are words; programs print as text."""

    @property
    def query_columns(self) -> Sequence[str]: ...
    @property
    def lake_columns(self) -> Sequence[str]: ...
    @property
    def kind(self) -> str: ...
    @property
    def programs(self) -> Sequence[object]: ...
    @property
    def tau(self) -> float | None: ...
    @property
    def sampled(self) -> int | None: ...
    @property
    def radius(self) -> DistanceLimit | None: ...
    @property
    def also_equal(self) -> int: ...
    @property
    def result(self) -> FigureFields: ...
    @property
    def how(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def accidental(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def chance(self) -> float: ...
    @property
    def repeats(self) -> bool: ...
    @property
    def reasons(self) -> Sequence[ReasonFields]: ...


class ReasonFields(Protocol):
    """One piece of evidence, as `Reason` describes it; the shares are those of `values`."""

    @property
    def kind(self) -> str: ...
    @property
    def nats(self) -> float: ...
    @property
    def share(self) -> float | None: ...
    @property
    def chance(self) -> float | None: ...
    @property
    def unchanged(self) -> bool: ...


# -- columns and values --------------------------------------------------------------------------


def format_joined_columns(candidate: CandidateFields) -> str:
    """Format the pairs of joined columns, as in `first = vorname and last = name`."""
    sign = "=" if candidate.kind == "equal" else "~"
    ends = (len(names) - candidate.also_equal for names in _sides(candidate))
    sides = zip(_sides(candidate), ends, strict=True)
    own, partners = (list(names[:end]) for names, end in sides)
    if len(own) == len(partners):
        pairs = [f"{a} {sign} {b}" for a, b in zip(own, partners, strict=True)]
    else:  # coordinates may be one column or two
        pairs = [f"{', '.join(own)} {sign} {', '.join(partners)}"]
    last = (names[len(names) - candidate.also_equal :] for names in _sides(candidate))
    further = zip(*last, strict=True)
    return " and ".join([*pairs, *(f"{a} = {b}" for a, b in further)])


def _sides(candidate: CandidateFields) -> tuple[Sequence[str], Sequence[str]]:
    return candidate.query_columns, candidate.lake_columns


def format_pairs(candidate: CandidateFields) -> str:
    """Format the pairs of joined columns, and how their values match if they are not equal."""
    columns = format_joined_columns(candidate)
    return f"{columns} ({candidate.how})" if candidate.how else columns


def describe_match(match: CandidateFields) -> str:
    """Describe how values match: the programs, or how near they are; empty for equal values."""
    limits = _describe_limits(match)
    return f"by meaning, {limits}" if limits and match.kind == "meaning" else limits


def describe_kind(match: CandidateFields) -> str:
    """Describe how unequal values match, with the kind of match; empty for equal values."""
    if match.kind == "equal":
        return ""
    return (_LABELS[match.kind] + to_one_line(_describe_limits(match))).rstrip(":, ")


def _describe_limits(match: CandidateFields) -> str:
    if match.radius is not None:
        return f"within {format_metres(match.radius.amount)}"
    if match.kind != "meaning":
        return " = ".join(map(str, match.programs))
    sample = "" if match.sampled is None else f"; from {match.sampled:,} values"
    limit = "nearest both ways" if match.tau is None else f"within {format_tau(match.tau)}"
    return f"{limit}{sample}"


def format_metres(metres: float) -> str:
    """Format a length.

    >>> format_metres(500.0), format_metres(2000.0)
    ('500 m', '2 km')
    """
    return f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"


# -- figures and evidence ------------------------------------------------------------------------


def describe_reason(reason: ReasonFields) -> str:
    """Describe one piece of evidence for a join."""
    if reason.kind != "values":
        return _REASONS[reason.kind]
    values = "the smaller column's values" if reason.unchanged else "the compared values"
    share, chance = format_percent(reason.share), format_percent(reason.chance)
    return f"{share} of {values} match; {chance} of random values would"


def describe_evidence(reasons: Sequence[ReasonFields], accidental: str) -> str:
    """Describe the evidence for a join, or say why it is accidental."""
    return accidental or "; ".join(map(describe_reason, reasons))


_OTHER_REASONS = 2  # beside the values


def describe_verdict(candidate: CandidateFields) -> str:
    """The verdict on a candidate with its main figures, in one sentence.

    The share of values that match and what chance would give, how often rows are multiplied, and
    the strongest other evidence.
    """
    figures = candidate.result
    if candidate.accidental:
        return f"{candidate.verdict.capitalize()}: {candidate.accidental}"
    said = [f"{_count_matches(figures)} match"]
    if candidate.kind in ("equal", "rewritten"):
        said[0] += f" ({format_percent(candidate.chance)} of random values would)"
    if candidate.repeats and figures.fan_out is not None:
        rows = figures.fan_out / max(figures.row_coverage or 0.0, 1e-9)
        said.append(f"the key repeats in both tables: your rows match {rows:,.1f} of theirs each")
    others = [reason for reason in candidate.reasons if reason.kind != "values"]
    others.sort(key=lambda reason: -reason.nats)
    said += [_REASONS[reason.kind] for reason in others[:_OTHER_REASONS]]
    return f"{candidate.verdict.capitalize()}: {'; '.join(said)}"


def _count_matches(figures: FigureFields) -> str:
    """How many values match, as in `all 918 values` or `12 of 40 values`."""
    values = "value" if figures.query_size == 1 else "values"
    if figures.matched == figures.query_size:
        return f"all {figures.matched:,} {values}"
    return f"{figures.matched:,} of {figures.query_size:,} {values}"


def describe_coincidence(kind: str, chance: float) -> str:
    """Say why a match is probably coincidental; `chance` is the share of random values that match.

    >>> describe_coincidence("chance", 0.35)
    '35% of random values would match too'
    """
    if kind == "chance":
        return f"{format_percent(chance)} of random values would match too"
    if kind == "dense":
        return (
            "possible: all your values match, but so would any numbers in this range; a similar "
            "name, another shared column or a declared key would settle it"
        )
    if kind == "few values":
        return "too few values match to rule out coincidence"
    return "few values match, and there is little other evidence"


def summarize_candidate(candidate: CandidateFields) -> str:
    """Describe a candidate in one sentence: its columns, and the verdict with its figures."""
    return f"{format_pairs(candidate)}. {candidate.words}"


def describe_shorter_key(candidate: CandidateFields) -> str:
    """The joined columns of a candidate that another one extends, with the rows it multiplies."""
    fan_out = candidate.result.fan_out
    rows = "" if fan_out is None else f" (x{fan_out:,.2f} rows)"
    return f"{format_joined_columns(candidate)} alone{rows}"


def describe_alternatives(pairs: Sequence[str], most: int) -> str:
    """Name the columns of other candidates, at most so many; empty if there are none.

    >>> describe_alternatives(["a = b", "c = d", "e = f"], 2)
    'or on a = b, c = d and 1 more'
    """
    if not pairs:
        return ""
    more = len(pairs) - most
    return f"or on {', '.join(pairs[:most])}" + (f" and {more:,} more" if more > 0 else "")


def describe_miss(table: str, pairs: str, accidental: str) -> str:
    """Name a table with coincidental overlap, and say why it is coincidental."""
    return f"{table} ({pairs}: {accidental})"
