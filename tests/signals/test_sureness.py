"""How sure a join can be at most."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.signals.sureness import SURE, KeyQuality, estimate_sureness

KEYS = st.builds(
    KeyQuality,
    repeated=st.booleans(),
    rewritten=st.booleans(),
    named=st.booleans(),
    measured=st.booleans(),
    reach=st.floats(0, 1),
    rival=st.floats(0, 1),
)


@pytest.mark.parametrize(
    "doubt",
    [
        {"reach": 0.9},
        {"reach": 0.49},
        {"measured": True},
        {"repeated": True},
        {"rewritten": True},
        {"named": False},
        {"rival": 0.95},
    ],
)
def test_every_doubt_takes_a_share(doubt: dict[str, Any]) -> None:
    """The most that a join can be sure, whatever the evidence, falls with each doubt."""
    plain = estimate_sureness(1_000.0, KeyQuality())
    assert plain == SURE
    doubtful = estimate_sureness(1_000.0, KeyQuality(**doubt))
    assert doubtful < plain - 0.05
    other = {"repeated": True} if "repeated" not in doubt else {"measured": True}
    assert estimate_sureness(1_000.0, KeyQuality(**doubt, **other)) < doubtful


@given(KEYS, st.floats(0, 500), st.floats(0, 500))
@settings(deadline=None)
def test_more_evidence_is_never_less_sure(key: KeyQuality, nats: float, more: float) -> None:
    assert 0 <= estimate_sureness(nats, key) <= estimate_sureness(nats + more, key) <= SURE
    assert estimate_sureness(0.0, key) == 0.0


@given(KEYS, st.floats(0, 1), st.floats(0, 1))
@settings(deadline=None)
def test_more_rows_and_weaker_rivals_are_never_less_sure(
    key: KeyQuality, reach: float, rival: float
) -> None:
    better = replace(key, reach=max(reach, key.reach), rival=min(rival, key.rival))
    assert better.most_sure >= key.most_sure


def test_few_rows() -> None:
    """A join that leaves out most rows of both tables is not nearly certain."""
    towns = [sha256(str(number).encode()).hexdigest()[:12] for number in range(500)]
    few = lakejoin.join({"town": towns[:300]}, {"town": towns[200:]})
    all_ = lakejoin.join({"town": towns[:300]}, {"town": towns[:200]})
    assert few.matched == 100
    assert few.sure <= 0.85
    assert all_.sure > 0.95


def test_rewritten_and_repeated() -> None:
    """A learned join whose key repeats in both tables has the limit of other such joins."""
    names = [f"{first}{last}" for first in "abcdefgh" for last in "klmnopqr"]
    mails = [f"{name}.{name[::-1]}@example.org" for name in names]
    owners = [f"{name}.{name[::-1]}" for name in names]
    once = lakejoin.join({"mail": mails}, {"owner": owners})
    twice = lakejoin.join({"mail": mails * 2}, {"owner": owners * 2})
    assert once.sure <= KeyQuality(rewritten=True).most_sure
    assert twice.sure <= KeyQuality(rewritten=True, repeated=True).most_sure < once.sure
