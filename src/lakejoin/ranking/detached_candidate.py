"""A join candidate read from JSON, without the signals and the index behind it."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lakejoin.ranking.join_candidates import JoinCandidate
from lakejoin.ranking.join_score import JoinScore, Reason, Signals
from lakejoin.search.result import Result, ValueSource
from lakejoin.store.distance_limits import METRES, DistanceLimit

_FIGURES = ("matched", "containment", "row_coverage", "fan_out")


@dataclass(frozen=True, eq=False)
class DetachedCandidate(JoinCandidate):
    """The columns, figures and evidence of a candidate, from its JSON."""

    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], table: str, rank: int, source: ValueSource | None = None
    ) -> DetachedCandidate:
        """Read the JSON of a candidate for a table; `source` lists its values."""
        share, radius = data["containment"], data["radius"]
        figures = {
            **{name: data[name] for name in _FIGURES},
            **{"rank": rank, "table": table, "columns": data["theirs"]},
            **{"copy": "", "estimate": None, "error": None, "runner_up": None},
            "query_size": round(data["matched"] / share) if share else 0,
            "column_size": None,
            "examples": {"matched": (), "unmatched": ()},
        }
        return cls(
            tuple(data["mine"]),
            Result.from_dict(figures, data["mine"], source),
            Signals(0, 0.0, data["chance"], share),
            data["kind"],
            also_equal=data["also_equal"],
            superseded=data["superseded"],
            tau=data["tau"],
            radius=None if radius is None else DistanceLimit(radius, METRES),
            data=data,
        )

    @property
    def programs(self) -> tuple[object, ...]:
        """The programs that rewrite values, as one text."""
        return (self.data["program"],) if self.data["program"] else ()

    @cached_property
    def join_score(self) -> JoinScore:
        """The score with its reasons; `accidental` says whether this is no real join."""
        reasons = tuple(Reason(reason["what"], reason["nats"]) for reason in self.data["reasons"])
        return JoinScore(self.data["score"], reasons)

    @property
    def accidental(self) -> str:
        """Why this is no real join, in words; empty if it is one."""
        return str(self.data["accidental"])

    @property
    def believed(self) -> bool:
        """Whether this is more than coincidental overlap."""
        return not self.accidental

    @property
    def possible(self) -> bool:
        """Whether it may be a real join that values alone cannot prove."""
        return bool(self.accidental) and self.verdict == "check"

    @property
    def repeats(self) -> bool:
        """Whether the key repeats in both tables, so that the join multiplies rows."""
        return bool(self.data["repeats"])

    @property
    def sure(self) -> float:
        """The chance that this is the right join."""
        return float(self.data["sure"])

    @property
    def how(self) -> str:
        """The programs, or how near values are, in words; empty for equal values."""
        return str(self.data["how"])

    @property
    def why(self) -> str:
        """The evidence for the join, or why it is accidental, in words."""
        return self.accidental or "; ".join(reason["words"] for reason in self.data["reasons"])

    @property
    def words(self) -> str:
        """The verdict with its main figures, in one sentence."""
        return str(self.data["words"])

    def to_dict(self) -> dict[str, Any]:
        """The JSON it was read from."""
        return dict(self.data)


def _reduce_candidate(candidate: JoinCandidate) -> tuple[Any, ...]:
    where = candidate.result.table, candidate.result.rank
    return DetachedCandidate.from_dict, (candidate.to_dict(), *where)


# Pickled candidates are detached.
for _kind in (JoinCandidate, DetachedCandidate):
    copyreg.pickle(_kind, _reduce_candidate)
