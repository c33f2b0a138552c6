"""Runs commands in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner, Result

from lakejoin.cli.main import cli
from lakejoin.errors import InputError, LakejoinError


@dataclass(frozen=True)
class Command:
    """A command of `lakejoin`, and options that are always given; later ones go before them."""

    name: str
    given: tuple[str, ...] = ()

    def run(self, *arguments: str) -> Result:
        """Runs it; only errors that it raises on purpose are carried in the result."""
        result = CliRunner().invoke(cli, [self.name, *self.given, *arguments])
        if result.exception and not isinstance(result.exception, LakejoinError | SystemExit):
            raise result.exception
        return result

    def answer(self, *arguments: str) -> Any:
        """Its JSON."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def refused(self, *arguments: str) -> str:
        """The sentence with which it refuses."""
        result = self.run(*arguments)
        assert isinstance(result.exception, InputError), result.output
        return str(result.exception)


SEARCH = Command("search")
OVERLAP = Command("overlap")
CONTAINMENT = Command("containment")
COMPOSITE = Command("composite")
SIMILAR = Command("similar")
NEARBY = Command("nearby")
JOIN = Command("join")
INDEX = Command("index")
PREDICATES = Command("predicates")
RELATIONS = Command("relations")
