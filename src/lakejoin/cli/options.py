"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from lakejoin.errors import InputError

Command = Callable[..., Any]

CODE_TARGETS = ("sql", "standard-sql", "pandas", "polars", "pyspark")


def index_option(command: Command) -> Command:
    """`--index DIR`."""
    return click.option(
        "--index",
        metavar="DIR",
        help="The index to use.  [default: $LAKEJOIN_INDEX or ./.lakejoin]",
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        command
    )


def cluster_options(command: Command) -> Command:
    """`--master` and `--conf`."""
    for option in (
        click.option(
            "--conf",
            multiple=True,
            metavar="KEY=VALUE",
            help="A Spark setting; repeatable.",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="Where Spark runs: local[4], spark://host:7077, yarn, k8s://…, sc://host "
            "(Spark Connect).  [default: all cores of this machine]",
        ),
    ):
        command = option(command)
    return command


def parse_settings(conf: Sequence[str]) -> dict[str, str]:
    """The values of `--conf` by key.

    >>> parse_settings(["spark.executor.cores=2"])
    {'spark.executor.cores': '2'}
    """
    settings = {}
    for setting in conf:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise InputError(f"--conf takes KEY=VALUE, not {setting!r}")
        settings[key] = value
    return settings
