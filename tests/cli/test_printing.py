"""Tables fit the screen: numbers are never cut, and what is left out is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from lakejoin.cli import terminal
from lakejoin.cli.terminal import print_table
from lakejoin.render.layout import fitted_widths

GAP = 3


@given(
    st.lists(st.tuples(st.integers(0, 90), st.booleans()), max_size=40),
    st.integers(1, 220),
    st.integers(1, 15),
)
def test_widths_fit(columns: list[tuple[int, bool]], room: int, least: int) -> None:
    natural, fixed = [width for width, _ in columns], [is_fixed for _, is_fixed in columns]
    widths = fitted_widths(natural, fixed, room, least)
    shown = len(widths)
    assert shown >= min(1, len(columns))
    for width, wanted, is_fixed in zip(widths, natural, fixed, strict=False):
        assert width == wanted if is_fixed else min(wanted, least) <= width <= wanted
    if shown > 1:
        assert sum(widths) + GAP * (shown - 1) <= room
    if shown < len(columns):  # one more would not have fitted, however much the others are cut
        floor = [w if f else min(w, least) for w, f in columns[: shown + 1]]
        assert sum(floor) + GAP * shown > room
    if sum(natural) + GAP * (len(natural) - 1) <= room:
        assert widths == natural


def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> list[str]:
    monkeypatch.setattr(terminal, "console", lambda: Console(width=width, highlight=False))
    heads = ["column", "distinct", "examples"]
    rows = [
        ["a long name of a column", "12,345,678", "one, two, three, " * 5],
        ["b", "1", "日本" * 30],
    ]
    print_table(heads, rows, right=["distinct"])
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [40, 80, 112])
def test_numbers_are_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    lines = printed(monkeypatch, capsys, width)
    assert "distinct" in lines[0] and "examples" in lines[0]
    assert "12,345,678" in lines[2]
    assert "one, tw" in lines[2]
    assert len(lines) == 4


def test_columns_that_do_not_fit_are_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(monkeypatch, capsys, 25)
    assert "examples" not in lines[0]
    assert lines[-1] == "… and 1 more column; --json shows all"
