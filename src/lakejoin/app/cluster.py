"""Where Spark runs: the options of the commands that start it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from lakejoin.errors import InputError

Command = Callable[..., Any]


def cluster_options(command: Command) -> Command:
    """`--master` and `--conf`."""
    for option in (
        click.option(
            "--conf",
            multiple=True,
            metavar="KEY=VALUE",
            help="A Spark setting; may be given several times.",
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


def settings_of(conf: Sequence[str]) -> dict[str, str]:
    """What `--conf` gave, by name.

    >>> settings_of(["spark.executor.cores=2"])
    {'spark.executor.cores': '2'}
    """
    settings = {}
    for one in conf:
        key, mark, value = one.partition("=")
        if not mark or not key:
            raise InputError(f"--conf takes KEY=VALUE, not {one!r}")
        settings[key] = value
    return settings
