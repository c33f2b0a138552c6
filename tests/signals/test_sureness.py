"""How sure a join can be at most."""

from __future__ import annotations

from hashlib import sha256

import pytest

import lakejoin
from lakejoin.signals.sureness import KeyQuality, estimate_sureness


@pytest.mark.parametrize(
    ("key", "most"),
    [
        (KeyQuality(), 0.99),
        (KeyQuality(reach=0.5), 0.99),
        (KeyQuality(reach=0.49), 0.85),
        (KeyQuality(measured=True), 0.85),
        (KeyQuality(repeated=True, rewritten=True), 0.85),
        (KeyQuality(rewritten=True), 0.92),
        (KeyQuality(named=False), 0.92),
        (KeyQuality(named=False, reach=0.1), 0.85),
    ],
)
def test_limits(key: KeyQuality, most: float) -> None:
    """The strictest limit holds, whatever the evidence; weak evidence is not raised to it."""
    assert estimate_sureness(1_000.0, key) == most
    assert estimate_sureness(0.0, key) == 0.0


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
    assert 0.85 < once.sure <= 0.92
    assert twice.sure <= 0.85
