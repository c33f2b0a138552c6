"""Nothing leaves a statement: each way out is refused, and leads nowhere where it is not."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from http_server.sql_asking import PEOPLE, RAW_CHILD, saved, with_runner
from http_server.sql_escapes import ESCAPES, PYTHON
from lakejoin.server.api_problems import Problem, SqlProblem
from lakejoin.server.sql.confinement import connect
from lakejoin.server.sql.statement_checks import (
    TABLE_FUNCTIONS,
    CheckedStatement,
    check_parse_tree,
    check_statement,
    check_syntax,
)
from lakejoin.server.sql.statement_runner import SqlLimits, SqlRunner

SECRET = "what-nobody-may-read-8271"
# USE names the one database in memory, which changes nothing but how names are looked up.
SETTINGS = "select name, value from duckdb_settings() where name <> 'search_path' order by name"
FUNCTIONS = "select count(*), count(distinct function_name) from duckdb_functions()"


@dataclass(frozen=True)
class Place:
    """Where the ways out lead."""

    folder: Path
    secret: Path
    new: Path
    listening: socket.socket

    def fill(self, statement: str) -> str:
        told = {"secret": self.secret, "new": self.new, "folder": self.folder}
        for name, path in told.items():
            statement = statement.replace("{" + name + "}", str(path))
        return statement.replace("{port}", str(self.listening.getsockname()[1]))

    def untouched(self) -> bool:
        files = {path.name for path in self.folder.iterdir()}
        return files == {self.secret.name} and self.secret.read_text() == f"a\n{SECRET}\n"

    def called(self) -> bool:
        try:
            self.listening.accept()
        except BlockingIOError:
            return False
        return True


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("escapes") / "inside"
    folder.mkdir()
    secret = folder / "secret.csv"
    secret.write_text(f"a\n{SECRET}\n")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield Place(folder, secret, folder / "new", listening)


def asked(place: Place, statements: list[str], tmp_path: Path, **options: Any) -> list[str]:
    """What each statement gives in a child that checks nothing."""
    table = saved(PEOPLE, tmp_path / "table.arrow")
    output = tmp_path / "out.arrow"

    async def work(runner: SqlRunner) -> None:
        sql = json.dumps([place.fill(one) for one in statements])
        await runner.run(sql, table, {}, output)

    with_runner(work, SqlLimits(seconds=60, **options), children=1, module=RAW_CHILD)
    said: list[str] = pa.ipc.open_file(output).read_all()["said"].to_pylist()
    return said


def test_there_are_many_ways() -> None:
    assert len(set(ESCAPES)) >= 100


@pytest.mark.parametrize("statement", ESCAPES)
def test_the_check_refuses(statement: str, place: Place) -> None:
    with pytest.raises(SqlProblem) as found:
        check_statement(place.fill(statement))
    assert "\n" not in str(found.value)


@pytest.fixture(scope="module")
def unchecked(place: Place, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the ways out give in a confined child, unchecked: all in one, one after another."""
    os.environ["LAKEJOIN_TEST_SECRET"] = SECRET
    try:
        statements = [SETTINGS, FUNCTIONS, *ESCAPES, SETTINGS, FUNCTIONS]
        said = asked(place, statements, tmp_path_factory.mktemp("unchecked"))
    finally:
        del os.environ["LAKEJOIN_TEST_SECRET"]
    assert said[0] == said[-2], "a setting has changed"
    assert said[1] == said[-1], "an extension was loaded"
    assert "'lock_configuration', 'true'" in said[0]
    assert "'enable_external_access', 'false'" in said[0]
    return dict(zip(ESCAPES, said[2:-2], strict=True))


@pytest.mark.parametrize("statement", ESCAPES)
def test_the_child_contains(statement: str, place: Place, unchecked: dict[str, str]) -> None:
    said = unchecked[statement]
    assert SECRET not in said
    # No variable of the environment, and no part of a file.
    assert not any(value in said for value in (os.environ["PATH"], "PYTHONPATH", "r-xp"))
    assert place.untouched()
    assert not place.called()
    reaches = ("{secret}", "{new}", "{folder}", "{port}", "/proc/", "hf://", "install", "load ")
    if any(part in statement for part in reaches) and "macro" not in statement:
        assert said.startswith("refused"), said


def test_a_crash_harms_only_its_child(place: Place, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="crashed its process") as found:
        asked(place, ["python:import ctypes; ctypes.string_at(0)"], tmp_path)
    assert found.value.kind == "died"
    assert {path.name for path in tmp_path.iterdir()} == {"table.arrow"}


@pytest.mark.skipif(sys.platform != "linux", reason="the filter of system calls is Linux's")
def test_a_child_that_was_taken_over_reaches_nothing(place: Place, tmp_path: Path) -> None:
    statements = [f"python:said = {one}" for one in PYTHON]
    said = asked(place, [*statements, "python:said = 6 * 7"], tmp_path, must_confine=True)
    for statement, outcome in zip(PYTHON, said, strict=False):
        assert outcome.startswith("refused"), (statement, outcome)
    assert said[-1] == "gave 42"
    assert place.untouched()
    assert not place.called()


def test_a_child_knows_no_environment(place: Place, tmp_path: Path) -> None:
    said = asked(place, ["python:import os; said = dict(os.environ)"], tmp_path)
    assert said == ["gave {}"]


def test_functions_of_the_engine_are_known() -> None:
    """A new DuckDB may bring functions: those that take a place outside must be refused."""
    import duckdb

    listed = duckdb.connect(":memory:").execute(
        "select distinct function_name from duckdb_functions() where function_type = 'table'"
    )
    others = [name for (name,) in listed.fetchall() if name not in TABLE_FUNCTIONS]
    for name in others:
        with pytest.raises(SqlProblem):
            check_statement(f"select * from {name}(1)")


@pytest.mark.parametrize("statement", ESCAPES)
def test_the_second_opinion_refuses_too(statement: str, place: Place) -> None:
    """DuckDB's own parser, without sqlglot's: whatever it takes for a SELECT is looked at."""
    connection = connect(1)
    sql = place.fill(statement)
    try:
        with pytest.raises(SqlProblem):
            check_syntax(connection, sql)
            check_parse_tree(connection, CheckedStatement(sql, "pivot" in sql, None))
    except pytest.fail.Exception:
        assert statement.startswith("pivot"), "of a PIVOT DuckDB has no tree: sqlglot must do"
    finally:
        connection.close()
