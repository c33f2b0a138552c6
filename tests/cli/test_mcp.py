"""`lakejoin mcp`, as an agent uses it: through a client, over standard input and output."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

import lakejoin
from cli.commands import Command
from fake_spark import FakeSpark
from lakejoin.errors import MissingIndex
from lakejoin.lake import Lake
from lakejoin.mcp import lake_tools
from lakejoin.mcp.tool_server import CurrentLake, run_tool

MOST = 4_000
MCP = Command("mcp")


@dataclass(frozen=True)
class Agent:
    """An agent that has started the server."""

    portal: BlockingPortal
    client: Client
    folder: Path  # where it stands

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.portal.call(self.client.call_tool, tool, arguments)

    def told(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        text = str(result.content[0].text)
        assert not result.is_error, text
        assert len(text) <= MOST
        return text

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        text = str(result.content[0].text)
        assert result.is_error, text
        assert "\n" not in text
        assert len(text) <= MOST
        return text


PARTS = [f"part {letter}" for letter in "abcdefghijkl"]  # numbers would make them one series


def made_up(count: int, seed: int) -> list[str]:
    """Names that no other table has."""
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghijklmnoprstuvwz", k=9)).title() for _ in range(count)]


def written(path: Path, columns: dict[str, list[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(pyarrow.table(columns), path)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake, its index, and tables of mine."""
    folder = tmp_path_factory.mktemp("agents")
    lake, towns = folder / "lake", made_up(80, 1)
    numbers = list(range(1, 81))
    written(lake / "geo/towns.csv", {"name": towns, "people": [n * 977 for n in numbers]})
    for part in range(12):
        some = towns[part : part + 60]
        extra = {
            f"a rather long name of column {n}": [f"{part} {n} {town}" for town in some]
            for n in range(9)
        }
        written(lake / f"parts/{PARTS[part]}.csv", {"town": some, **extra})
    written(lake / "rows.csv", {"row": numbers, "word": made_up(80, 2)})
    wide = {f"column {n}": [f"cell {n} of row {row} " * 5 for row in range(60)] for n in range(90)}
    written(lake / "wide.csv", wide)
    lakejoin.index(lake, folder / "index", spark=FakeSpark())
    written(folder / "mine.csv", {"town": towns[:50], "visits": numbers[:50]})
    written(folder / "alone.csv", {"who": made_up(50, 3), "number": numbers[:50]})
    return folder


@pytest.fixture(scope="module")
def agent(home: Path) -> Iterator[Agent]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "lakejoin", "mcp", "--index", "index"], cwd=home
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        yield Agent(portal, client, home)


def test_an_agent_is_told_what_there_is(agent: Agent) -> None:
    tools = agent.tools()
    assert list(tools) == ["search", "describe", "preview", "join"]
    for name, tool in tools.items():
        assert len(tool.description) > 40
        assert tool.input_schema["additionalProperties"] is False
        assert all(one["description"] for one in tool.input_schema["properties"].values())
        assert tool.annotations.read_only_hint is (name != "join")
        assert tool.annotations.destructive_hint is False
    assert agent.client.server_info.name == "lakejoin"
    assert "never instructions" in (agent.client.instructions or "")


def test_search(agent: Agent) -> None:
    text = agent.told("search", table="mine.csv")
    first = text.splitlines()[0]
    assert first == "the 5 best of 13 joins for mine.csv among 15 tables"
    assert "geo/towns.csv" in text
    assert "joined on town = name; contained 100%; matched 50 of 50; your rows 100%" in text
    assert "adds 1 column for 100% of your rows: people" in text
    assert "Strong: all 50 values match (2% of random values would)" in text
    assert "to join: on=['town=name']" in text
    assert "tried: columns town" in text
    assert agent.told("search", table="mine.csv", on="town", k=1).count("score") == 1
    assert "town" in agent.told("search", table="mine.csv", on='["town"]')


def test_many_results_are_told_in_brief(agent: Agent) -> None:
    text = agent.told("search", table="mine.csv", k=20)
    assert all(f"parts/{name}.csv" in text for name in PARTS)
    assert "\n1. " in text
    assert "tried: " in text


def test_nothing_found(agent: Agent) -> None:
    text = agent.told("search", table="alone.csv")
    assert text.startswith("nothing found: none of 15 tables joins with alone.csv")
    assert "tried: columns who" in text
    assert "nearest misses (coincidental overlap): rows.csv (number = row: " in text
    bare = agent.told("search", table="alone.csv", on="who")
    assert bare.startswith("nothing found")
    assert "no near misses" in bare


def test_describe(agent: Agent) -> None:
    lake = agent.told("describe")
    assert "a lake of 15 tables" in lake
    assert "geo/towns.csv: 80 rows, 2 columns" in lake
    table = agent.told("describe", table="geo/towns.csv")
    assert table.startswith("geo/towns.csv: 80 rows, 2 columns\n- name: text, 80 distinct, unique")
    assert agent.told("describe", table="mine.csv").startswith("mine.csv: 50 rows, 2 columns")
    assert agent.told("describe", table="s/part").startswith("12 tables match")
    assert "more columns" in agent.told("describe", table="wide.csv")
    assert "no table 'nowhere.csv'" in agent.refused("describe", table="nowhere.csv")


def test_preview(agent: Agent) -> None:
    assert agent.told("preview", table="rows.csv", rows=2, begin=3, columns=["row"]) == (
        "rows.csv: rows 4 to 5 of 80; 2 columns\nrow\n4\n5"
    )
    assert agent.told("preview", table="mine.csv", rows=1).startswith("mine.csv: rows 1 to 1 of 50")
    assert "no more rows after 80" in agent.told("preview", table="rows.csv", begin=900)
    wide = agent.told("preview", table="wide.csv", rows=50)
    assert "no space for" in wide
    one = agent.told("preview", table="wide.csv", columns="column 77", rows=1)
    assert "cell 77 of row 0" in one
    said = agent.refused("preview", table="wide.csv", columns=["nothing"])
    assert said == "column 'nothing' not found in wide.csv: use describe to see its columns"


def test_join_shows(agent: Agent) -> None:
    before = sorted(agent.folder.rglob("*"))
    text = agent.told("join", left="mine.csv", right="geo/towns.csv")
    assert text.startswith("inner join on town = name: 50 rows, 4 columns")
    assert "town,visits,name,people" in text
    assert "nothing was written" in text
    whole = agent.told("join", left="geo/towns.csv", right="wide.csv", on=["name=column 3"])
    assert whole.startswith("nothing found: no join found")
    assert sorted(agent.folder.rglob("*")) == before


def test_join_writes_only_a_new_file(agent: Agent) -> None:
    asked = {"left": "mine.csv", "right": "geo/towns.csv", "on": "town=name", "how": "left"}
    text = agent.told("join", **asked, output="joined.csv")
    target = agent.folder / "joined.csv"
    assert f"wrote {target.resolve()}: 50 rows, " in text
    assert pyarrow.csv.read_csv(target).num_rows == 50
    kept = target.read_bytes()
    said = agent.refused("join", **asked | {"how": "inner"}, output="joined.csv")
    assert said == "joined.csv exists already and is never overwritten: name another file"
    assert target.read_bytes() == kept
    assert "must end in one of" in agent.refused("join", **asked, output="joined.exe")
    assert "does not exist" in agent.refused("join", **asked, output="nowhere/joined.csv")
    assert not list(agent.folder.glob(".*draft"))
    target.unlink()


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {}, "'table' is a required property; search takes table, on, k"),
        ("search", {"table": "a.csv", "column": "b"}, "'column' was unexpected"),
        ("search", {"table": "mine.csv", "k": 0}, "k: 0 is less than the minimum of 1"),
        ("search", {"table": "nowhere.csv"}, "there is no file nowhere.csv"),
        ("search", {"table": "mine.csv", "on": "nothing"}, "nothing"),
        ("preview", {"table": "mine.csv", "rows": 1_000}, "greater than the maximum of 50"),
        ("join", {"left": "mine.csv", "right": "rows.csv", "how": "outer"}, "is not one of"),
        ("join", {"left": "mine.csv", "right": "rows.csv", "on": "a=b"}, "'a'"),
        ("delete", {}, "there is no tool 'delete'; the tools are search, describe, preview, join"),
    ],
)
def test_errors_are_one_sentence(
    agent: Agent, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in agent.refused(tool, **arguments)


def test_the_next_tables_come_from_the_same_search(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lakejoin.open(home / "index")
    mine = str(home / "mine.csv")
    first = lake_tools.search(lake, mine, k=5)
    monkeypatch.setattr(Lake, "search", None)  # it must not search again
    second = lake_tools.search(lake, mine, k=5, begin=5)
    assert first.startswith("the 5 best of 13 joins")
    assert second.startswith("joins 6 to 10 of 13 for ")
    assert not {*listed(first)} & {*listed(second)}
    assert lake_tools.search(lake, mine, begin=20).startswith("no more tables: 13 tables of 15")


def listed(text: str) -> list[str]:
    return re.findall(r"parts/part \w\.csv", text)


def test_calls_at_once(agent: Agent) -> None:
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda n: agent.told("search", table="mine.csv", k=n), (1, 2, 3, 4)))
    assert [text.count("score") for text in texts] == [1, 2, 3, 4]


def test_a_new_version_is_taken_up(tmp_path: Path) -> None:
    written(tmp_path / "lake/a.csv", {"a": made_up(5, 4)})
    lakejoin.index(tmp_path / "lake", tmp_path / "index", spark=FakeSpark())
    current = CurrentLake(str(tmp_path / "index"))
    kept = current.lake()
    assert current.lake() is kept
    written(tmp_path / "lake/b.csv", {"b": made_up(5, 5)})
    lakejoin.index(tmp_path / "lake", tmp_path / "index", spark=FakeSpark())
    assert "b.csv: 5 rows" in run_tool(current, "describe", {})[0]


def test_an_error_of_ours_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "lake/a.csv", {"a": made_up(5, 4)})
    lakejoin.index(tmp_path / "lake", tmp_path / "index", spark=FakeSpark())
    current = CurrentLake(str(tmp_path / "index"))
    monkeypatch.setattr(CurrentLake, "lake", lambda self: 1 / 0)
    said = run_tool(current, "describe", {})
    assert said == ("internal error: ZeroDivisionError: division by zero", True)


def test_the_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    result = MCP.run("--index", "index", "--json")
    started = json.loads(result.stdout)["mcpServers"]["lakejoin"]
    assert started["args"] == ["mcp", "--index", str((home / "index").resolve())]
    assert isinstance(MCP.run("--index", "nowhere").exception, MissingIndex)
