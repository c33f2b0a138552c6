"""Translate a join candidate of a search into the arguments of `lakejoin join`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakejoin.ranking.join_candidates import JoinCandidate


@dataclass(frozen=True, slots=True)
class JoinArguments:
    """The options of `lakejoin join` that repeat a join found by a search."""

    on: tuple[str, ...] = ()
    by: str | None = None
    within: str | None = None

    def words(self) -> list[str]:
        """The options as words of the command.

        >>> JoinArguments(("a=b",), "nearest", "5km").words()
        ['--on', 'a=b', '--by', 'nearest', '--within', '5km']
        """
        words = [word for pair in self.on for word in ("--on", pair)]
        words += ["--by", self.by] if self.by else []
        return [*words, *(["--within", self.within] if self.within else [])]


def join_arguments(candidate: JoinCandidate) -> JoinArguments:
    """The options that repeat the join of a candidate; where pairs of columns cannot express it,
    `lakejoin join` finds the columns itself."""
    paired = len(candidate.query_columns) == len(candidate.lake_columns)
    if candidate.kind == "near" and paired:
        return JoinArguments(_pairs(candidate), "nearest", str(candidate.radius))
    if candidate.kind == "rewritten":
        return JoinArguments(_pairs(candidate) if paired else (), "transform")
    if candidate.kind == "meaning":
        return JoinArguments(_pairs(candidate), "meaning")
    return JoinArguments(_pairs(candidate)) if paired else JoinArguments(by="auto")


def _pairs(candidate: JoinCandidate) -> tuple[str, ...]:
    """The columns as `--on` takes them; column indices where names would be ambiguous."""
    location = candidate.location
    entry = location.entry
    lake_names = (
        location.segment.catalog.columns["name"].slice(entry.first, entry.width).to_pylist()
    )
    pairs = []
    for position, pair in enumerate(
        zip(candidate.query_columns, candidate.lake_columns, strict=True)
    ):
        plain = "=" not in "".join(pair) and lake_names.count(pair[1]) == 1
        plain = plain and list(location.query_table.column_names).count(pair[0]) == 1
        words = (
            pair
            if plain
            else (str(location.query_columns[position]), str(location.column_index(position)))
        )
        pairs.append("=".join(words))
    return tuple(pairs)
