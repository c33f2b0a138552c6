"""Every key that a command prints as JSON is documented in docs/json.md."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cli.commands import Command
from lakejoin.cli.main import cli
from lakejoin.graph.graph_statistics import GraphStatistics
from lakejoin.model import Skipped
from lakejoin.pipeline.build import BuildReport
from lakejoin.pipeline.compaction import CompactReport
from lakejoin.store.manifest import Totals

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `lakejoin (\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
# Objects whose keys are data: stages, preferences, algorithms, columns of a table.
OPEN = {"seconds_by", "scores", "algorithms", "methods", "preview", "seconds", "initial"}


def documented(command: str) -> set[str]:
    """The keys in the section of a command, and in those that it refers to."""
    text = SECTIONS[command]
    keys = set(re.findall(r"`(\w+)`", text))
    for other in re.findall(r"(?:The keys of|as (?:of|for)) `(\w+)`", text):
        keys |= documented(other)
    return keys


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in OPEN:
                yield from keys_of(inner)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item)


def test_every_command_has_a_section() -> None:
    assert list(SECTIONS) == cli.list_commands(click.Context(cli))


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("info", ()),
        ("tables", ()),
        ("columns", ("cities.csv",)),
        ("show", ("cities.csv",)),
        ("skipped", ()),
        ("check", ()),
        ("history", ()),
        ("search", ("mine.csv",)),
        ("overlap", ("mine.csv", "--on", "town")),
        ("overlap", ("mine.csv", "--on", "*")),
        ("overlap", ("mine.csv", "--on", "town", "--explain", "1")),
        ("containment", ("mine.csv", "--on", "town")),
        ("composite", ("cities.csv", "--on", "city", "--on", "country")),
        ("union", ("mine.csv",)),
        ("union", ("cities.csv",)),
        ("paths", ("mine.csv", "cities.csv")),
        ("join", ("mine.csv", "cities.csv")),
        ("join", ("mine.csv", "cities.csv", "--code", "sql", "--on", "town=city")),
        ("join", ("mine.csv", "cities.csv", "--prefer", "compact")),
        ("predicates", ("mine.csv", "cities.csv", "--code", "sql")),
        ("relations", ("--diagram", "mermaid")),
        ("mcp", ()),
    ],
)
def test_every_key_is_documented(here: Path, command: str, arguments: tuple[str, ...]) -> None:
    printed = json.loads(Command(command).run(*arguments, "--json").stdout)
    assert set(keys_of(printed)) <= documented(command)


@pytest.mark.parametrize(
    ("command", "reports"),
    [
        ("index", (BuildReport, Totals, Skipped)),
        ("compact", (CompactReport,)),
        ("graph", (GraphStatistics,)),
    ],
)
def test_every_field_of_a_report_is_documented(command: str, reports: tuple[Any, ...]) -> None:
    for report in reports:
        names = {field.name for field in dataclasses.fields(report)}
        assert names <= documented(command), report
