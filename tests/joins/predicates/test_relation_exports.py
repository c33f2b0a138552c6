"""Exports of foreign keys are what the other tools read."""

from __future__ import annotations

import csv
import io

import pytest
import yaml
from click.testing import CliRunner

from lakejoin.cli.main import cli
from lakejoin.errors import InputError
from lakejoin.joins.predicates.database_relations import Relations
from lakejoin.joins.predicates.key_relations import Relation

ODD = """a "b", 'c'"""
FOUND = Relations(
    (
        Relation("roles", ("film",), "films", ("id",), 3, 2, 0, 2, 0.9, "w"),
        Relation("roles", (ODD,), ODD, ("x",), 3, 2, 0, 2, 0.8, "w"),
        Relation("shows", ("film", "day"), "runs", ("film", "at"), 3, 2, 0, 2, 0.7, "w"),
    ),
    ("films", "roles", "runs", "shows", ODD),
)


def test_dbt() -> None:
    body = yaml.safe_load(FOUND.export("dbt"))
    (source,) = body["sources"]
    tables = {table["name"]: table for table in source["tables"]}
    assert (body["version"], list(tables)) == (2, list(FOUND.tables))
    assert tables["films"]["columns"] == [{"name": "id", "tests": ["unique", "not_null"]}]
    film, odd = tables["roles"]["columns"]
    assert film["tests"] == [{"relationships": {"to": "source('lake', 'films')", "field": "id"}}]
    assert odd["name"] == ODD
    assert odd["tests"][0]["relationships"]["to"] == """source('lake', 'a "b", \\'c\\'')"""
    assert "columns" not in tables["shows"]
    assert "# film, day -> runs (film, at)" in FOUND.export("dbt")


def test_dbml() -> None:
    lines = FOUND.export("dbml").splitlines()
    assert lines[:3] == ['Table "films" {', '  "id" text', "}"]
    assert lines[-3] == 'Ref: "roles"."film" > "films"."id"'
    assert lines[-1] == 'Ref: "shows".("film", "day") > "runs".("film", "at")'


def test_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(FOUND.export("csv"))))
    assert [row["relation"] for row in rows] == ["1", "2", "3", "3"]
    assert (rows[1]["column"], rows[3]["key_column"]) == (ODD, "at")


def test_the_command_and_what_it_refuses(tmp_path: object) -> None:
    with CliRunner().isolated_filesystem():
        with open("films.csv", "w") as films, open("roles.csv", "w") as roles:  # noqa: PTH123
            films.write("id,title\n" + "".join(f"f{i},t{i}\n" for i in range(30)))
            roles.write("film,name\n" + "".join(f"f{i % 30},n{i}\n" for i in range(90)))
        done = CliRunner().invoke(cli, ["relations", ".", "--export", "dbml"])
        assert done.output.splitlines()[-1] == 'Ref: "roles.csv"."film" > "films.csv"."id"'
    with pytest.raises(InputError, match="choose one of dbt, dbml, csv"):
        FOUND.export("xml")
