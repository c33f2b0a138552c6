"""Dates inside texts meet dates in any form."""

from __future__ import annotations

import datetime as dt
import random

import polars as pl
import pytest

import lakejoin

DAYS = [
    dt.date(1960, 1, 1) + dt.timedelta(days=n) for n in random.Random(1).sample(range(20000), 80)
]
FORMS = {
    "Tue Mar 5 1999": lambda d: f"{d:%a} {d:%b} {d.day} {d.year}",
    "Tuesday, 5 March 1999": lambda d: f"{d:%A}, {d.day} {d:%B} {d.year}",
    "1999-03-05T10:15:00": lambda d: f"{d}T10:{d.day:02}:00",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", [True, False])
def test_a_date_inside_a_text(form: str, given: bool) -> None:
    left = {"at": [FORMS[form](day) for day in DAYS], "x": ["y", "z"] * 40}
    right = {"on": [f"{day:%d/%m/%Y}" for day in reversed(DAYS)]}
    join = lakejoin.join(left, right, on="at=on" if given else None)
    assert join.pairs().select(["left_row", "right_row"]).to_pylist() == [
        {"left_row": n, "right_row": 79 - n} for n in range(80)
    ]
    assert join.steps[0].kind == "transform" and join.program is not None
    names: dict[str, object] = {}
    exec(join.to_polars_code(), names)
    made = names["join"](pl.DataFrame(left), pl.DataFrame(right))  # type: ignore[operator]
    assert made.rows() == [tuple(row.values()) for row in join.table().to_pylist()]


def test_days_that_follow_each_other_meet_in_any_two_tables() -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(100)]
    left = {"at": [f"{day:%a} {day:%b} {day.day} {day.year}" for day in days[:80]]}
    right = {"on": [f"{day:%d/%m/%Y}" for day in days[20:]]}
    assert not lakejoin.join(left, right)
