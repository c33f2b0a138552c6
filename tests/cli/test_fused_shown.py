"""A fused search as people see it: refined on a terminal, each kind of join, many tables."""

from __future__ import annotations

import io
import json
import random
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from rich.console import Console

import lakejoin
from cli.commands import JOIN, SEARCH
from fake_spark import FakeSpark
from lakejoin.cli import fused_output
from lakejoin.cli.engine_output import TypedQuery
from lakejoin.errors import InputError
from lakejoin.ranking.answer import FusedAnswer


def written(path: Path, columns: dict[str, list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(pa.table(columns), path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a table that joins mine by equal values, and copies of it; one whose codes have a
    prefix; and places near mine."""
    folder = tmp_path_factory.mktemp("fused")
    draw = random.Random(1)
    numbers = draw.sample(range(10_000, 99_999), 120)
    names = ["".join(draw.choices("bcdfghklmnprstvwz", k=8)).title() for _ in numbers]
    places = [(draw.uniform(-60, 60), draw.uniform(-150, 150)) for _ in numbers]
    lake = folder / "lake"
    for name in ("names.csv", "old/names.csv"):
        written(lake / name, {"town": names, "founded": [n % 900 + 1000 for n in numbers]})
    coded: dict[str, list[object]] = {"key": [f"TX-{n}" for n in numbers], "size": list(names)}
    written(lake / "coded.csv", {**coded, "size": [n % 77 for n in numbers]})
    near = {
        "latitude": [round(lat + 0.00002, 6) for lat, _ in places],
        "longitude": [round(lon - 0.00002, 6) for _, lon in places],
        "reading": [draw.random() for _ in numbers],
    }
    written(lake / "sensors.csv", near)
    written(lake / "count.csv", {"id": list(range(1, 400)), "w": [f"w{n}" for n in range(1, 400)]})
    lakejoin.index(lake, folder / "index", spark=FakeSpark())
    written(
        folder / "mine.csv",
        {
            "code": list(numbers),
            "town": list(names),
            "lat": [round(lat, 6) for lat, _ in places],
            "lon": [round(lon, 6) for _, lon in places],
        },
    )
    written(folder / "batch/a.csv", {"town": names[:60]})
    written(folder / "batch/b.csv", {"nobody": [f"zz{n}q" for n in range(30)]})
    return folder


@pytest.fixture
def here(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    monkeypatch.setenv("LAKEJOIN_INDEX", str(home / "index"))
    return home


class Terminal:
    """A screen that is written down."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, height: int = 40) -> None:
        self._file = io.StringIO()
        self._screen = Console(
            force_terminal=True, width=100, height=height, file=self._file, color_system=None
        )
        monkeypatch.setattr(fused_output, "console", lambda: self._screen)

    @property
    def text(self) -> str:
        return self._file.getvalue()


def test_answers_are_refined_in_place(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    lake = lakejoin.open()
    answer = fused_output.search_live(lake, TypedQuery("mine.csv", None, len(lake)), None, 10)
    assert answer.final
    assert [one.table for one in answer] == [one.table for one in lake.search("mine.csv")]
    assert "searching …" in terminal.text
    assert "from sketches, after " in terminal.text
    assert "still to come: equal values, counted exactly, keys of several columns" in terminal.text
    assert "so far, after " in terminal.text
    assert "\x1b[2K" in terminal.text, "what was drawn is taken back"
    assert "adds" not in terminal.text, "the answer itself is printed afterwards"


def test_a_small_screen_and_one_that_goes_nowhere(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lakejoin.open()
    typed = TypedQuery("mine.csv", None, len(lake))
    small = Terminal(monkeypatch, height=6)
    fused_output.search_live(lake, typed, None, 10)
    drawn = small.text.split("\x1b[2K")
    assert max(part.count("\n") for part in drawn) <= 6
    quiet = Terminal(monkeypatch)
    assert len(fused_output.search_live(lake, typed, None, 10, quiet=True)) >= 1
    assert quiet.text == ""


def test_a_failure_leaves_the_screen_as_it_was(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    lake = lakejoin.open()
    with pytest.raises(InputError, match="no column 'nothing'"):
        fused_output.search_live(lake, TypedQuery("mine.csv", None, len(lake)), ["nothing"], 10)
    assert "\x1b[?25h" in terminal.text, "the cursor is back"


def test_each_kind_of_join_is_told(here: Path) -> None:
    shown = SEARCH.run("mine.csv").output
    assert "town = town" in shown
    assert "copies or other versions: " in shown
    assert "adds 1 column for 100% of your rows: founded" in shown
    assert "code ~ key" in shown
    assert "equal once rewritten: " in shown
    assert "lat ~ latitude and lon ~ longitude" in shown
    assert "near, within " in shown
    assert "coincidental overlap: count.csv" in shown or "count.csv" not in shown
    last = shown.strip().splitlines()[-1]
    assert all(part in last for part in ("overlap", "chance", "rewritten", "places", "adds"))


def test_the_command_that_is_told_makes_the_join(here: Path) -> None:
    kinds = set()
    for rank in (1, 2, 3):
        found = SEARCH.answer("mine.csv", "--explain", str(rank))
        kind = found["result"]["ways"][0]["kind"]
        kinds.add(kind)
        assert (found["sql"] is None) == (kind in ("rewritten", "near"))
        shown = SEARCH.run("mine.csv", "--explain", str(rank)).output
        line = next(one for one in shown.splitlines() if one.startswith("  lakejoin join"))
        words = [word for word in shlex.split(line)[2:] if word not in ("-o", "joined.csv")]
        joined = JOIN.answer(*words)
        assert joined["left_joined"] >= 110, line
    assert kinds == {"equal", "rewritten", "near"}


def test_text_and_html_tell_the_same(here: Path) -> None:
    answer = lakejoin.open().search("mine.csv")
    assert isinstance(answer, FusedAnswer)
    text, page = repr(answer), answer._repr_html_()
    for said in ("equal once rewritten: ", "near, within ", "copies or other versions: "):
        assert said in text and said in page
    assert "equal values" in page
    assert "overlap 0." in text and "overlap 0." in page


def test_many_tables(here: Path) -> None:
    shown = SEARCH.run("--batch", "batch", "-k", "1").output
    assert "town of batch/a.csv: " in shown
    assert "no joins found among 5 tables" in shown
    assert "lakejoin join batch/a.csv " in shown
    lines = SEARCH.run("--batch", "batch", "--json").output.splitlines()
    first, second = map(json.loads, lines)
    assert (first["by"], first["results"][0]["ways"][0]["mine"]) == ("fused", ["town"])
    assert second["results"] == []
