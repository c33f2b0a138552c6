"""The sentences about a join candidate are made from its fields, and nothing is cut out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import pytest

from lakejoin.ranking.answer import FusedResult
from lakejoin.ranking.join_arguments import join_arguments
from lakejoin.ranking.join_candidates import JoinCandidate, MatchFigures
from lakejoin.ranking.join_score import Coincidence, JoinScore, Reason, Signals, score_join
from lakejoin.render.candidate_text import (
    describe_alternatives,
    describe_kind,
    describe_reason,
    describe_shorter_key,
    format_joined_columns,
    summarize_candidate,
)
from lakejoin.store.distance_limits import METRES, DistanceLimit


@dataclass(frozen=True)
class Figures:
    """Figures of a match, without an index."""

    columns: tuple[str, ...]
    matched: int = 30
    query_size: int = 40
    containment: float = 0.75
    row_coverage: float | None = 0.5
    fan_out: float | None = 2.0
    found: None = None


def candidate_of(*names: str, **fields: object) -> JoinCandidate:
    """A candidate whose columns are named alike on both sides."""
    figures = cast(MatchFigures, Figures(names))
    return replace(JoinCandidate(names, figures, Signals(40, 0.75, 0.02, 0.75)), **fields)


EQUAL = candidate_of("first", "last")
NEAR = candidate_of("lat", "lon", kind="near", radius=DistanceLimit(5000.0, METRES))
MEANING = candidate_of("title", kind="meaning", tau=0.065)
ESTIMATED = replace(MEANING, tau=0.3, sampled=24)


@pytest.mark.parametrize(
    ("candidate", "how", "kind", "pairs"),
    [
        (EQUAL, "", "", "first = first and last = last"),
        (NEAR, "within 5 km", "near, within 5 km", "lat ~ lat and lon ~ lon (within 5 km)"),
        (
            MEANING,
            "by meaning, within 6.5%",
            "same meaning, within 6.5%",
            "title ~ title (by meaning, within 6.5%)",
        ),
        (
            ESTIMATED,
            "by meaning, within 30%; from 24 values",
            "same meaning, within 30%; from 24 values",
            "title ~ title (by meaning, within 30%; from 24 values)",
        ),
    ],
    ids=["equal", "near", "meaning", "estimated"],
)
def test_every_kind_is_described_from_its_fields(
    candidate: JoinCandidate, how: str, kind: str, pairs: str
) -> None:
    assert (candidate.how, describe_kind(candidate), candidate.pairs) == (how, kind, pairs)
    fields = candidate.to_dict()
    assert (fields["how"], fields["tau"]) == (how, candidate.tau)
    assert fields["radius"] == (candidate.radius.amount if candidate.radius else None)
    assert fields["program"] is None


def test_coordinates_may_be_one_column_or_two() -> None:
    one = replace(NEAR, result=cast(MatchFigures, Figures(("position",))))
    assert format_joined_columns(one) == "lat, lon ~ position"
    assert join_arguments(one).by == "auto", "pairs of columns cannot express it"


def test_figures_and_evidence() -> None:
    row = FusedResult(1, "people.csv", 0.9, (EQUAL,), ()).row()
    assert [cell.text.strip() for cell in row.cells[1:7]] == [
        *("people.csv", "first = first and last = last", "75%", "30 of 40", "50%", "x2.00")
    ]
    why = "75% of the smaller column's values match; 2% of random values would"
    assert EQUAL.why == why
    verdict = "Strong: 30 of 40 values match (2% of random values would)"
    assert EQUAL.words == verdict
    assert summarize_candidate(EQUAL) == f"first = first and last = last. {verdict}"
    rewritten = score_join(replace(EQUAL.signals, unchanged=False)).reasons[0]
    assert describe_reason(rewritten).startswith("75% of the compared values match")
    assert describe_reason(Reason("rows", 3.0)) == "other columns agree in the matching rows"


@pytest.mark.parametrize(
    ("coincidence", "said"),
    [
        (None, ""),
        (Coincidence("chance", 0.35), "35% of random values would match too"),
        (Coincidence("few values", 0.1), "too few values match to rule out coincidence"),
        (Coincidence("little evidence", 0.1), "few values match, and there is little other"),
    ],
)
def test_why_it_is_coincidental(coincidence: Coincidence | None, said: str) -> None:
    score = JoinScore(0.5, (), coincidence)
    assert score.accidental.startswith(said) and bool(score.accidental) == bool(said)


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        (Signals(40, 1.0, 0.5, 1.0), "Strong: 30 of 40 values match (50% of random values would)"),
        (
            Signals(9, 1.0, 0.3, 1.0, rows=4.0, names=0.5),
            "Check: 30 of 40 values match (30% of random values would); the column names are "
            "similar; other columns agree in the matching rows",
        ),
        (
            Signals(40, 0.5, 0.5, 0.5),
            "Coincidence: 50% of random values would match too",
        ),
        (
            Signals(40, 1.0, 1.0, 1.0, dense=True),
            "Check: possible: all your values match, but so would any numbers in this range; a "
            "similar name, another shared column or a declared key would settle it",
        ),
    ],
    ids=["strong", "check", "coincidence", "possible"],
)
def test_a_verdict_has_its_figures(signals: Signals, words: str) -> None:
    assert replace(EQUAL, signals=signals).words == words


def test_a_shorter_key_says_what_it_multiplies() -> None:
    assert describe_shorter_key(candidate_of("team")) == "team = team alone (x2.00 rows)"


def test_further_columns_of_a_rewritten_key_are_equal() -> None:
    longer = candidate_of("county", "state", kind="rewritten", also_equal=1)
    assert format_joined_columns(longer) == "county ~ county and state = state"


def test_other_candidates_are_counted() -> None:
    assert describe_alternatives([], 2) == ""
    assert describe_alternatives(["a = b"], 2) == "or on a = b"
