"""A password in a URL is in no message."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lakejoin.cli.main import cli
from lakejoin.errors import InputError
from lakejoin.locations import Location

SECRET = "s3cr3t@word"
URLS = [
    f"postgresql://me:{SECRET}@db.example.org:5432/shop",
    f"postgres+psycopg2://me:{SECRET}@db/shop",
    f"mysql://me:{SECRET}@db/shop",
    f"jdbc:postgresql://me:{SECRET}@db/shop",
    f"snowflake://me:{SECRET}@account/db",
    f"nosuch://me:{SECRET}@host/path",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("command", ["index", "search", "columns", "join"])
def test_no_command_shows_a_password(url: str, command: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("a,b\n1,2\n")
    given = {"join": [str(mine), url], "index": [url, "--index", str(tmp_path / "index")]}
    if command in ("search", "columns") and "nosuch" not in url:
        given[command] = [url, "--index", url]
    result = CliRunner().invoke(cli, [command, *given.get(command, [url])])
    assert result.exit_code != 0
    assert "s3cr3t" not in result.output + str(result.exception)


def test_the_sentence_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"^mysql databases are not read: export the tables"):
        Location.of(URLS[2])
    with pytest.raises(InputError, match="by its path"):
        Location.of("sqlite:///shop.db")
    assert Location.of("s3://bucket/a@b").uri == "s3://bucket/a@b"
