"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.pipeline.job import StartRunner
    from lakejoin.spark.task_runner import Cluster

Command = Callable[..., Any]

CODE_TARGETS = ("sql", "standard-sql", "pandas", "polars", "pyspark")


index_option = click.option(
    "--index",
    metavar="DIR",
    help="The index to use.  [default: .lakejoin]",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON; docs/json.md lists its keys.",
)
_conf_option = click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    help="A Spark setting; repeatable.",
)
_master_option = click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs: local[4], spark://host:7077, yarn, k8s://…, sc://host.",
)
_engine_option = click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    help="Where to run.  [default: local if small]",
)
_batch_option = click.option(
    "--batch",
    metavar="FOLDER",
    help="Search with all tables of a folder or glob, or those listed in @FILE.",
)


def index_json_options(command: Command) -> Command:
    """`--index DIR` and `--json`."""
    return index_option(json_option(command))


def count_option(
    *names: str, default: int, help: str, least: int = 1, most: int | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option for a number of things, with its default in the help."""
    kind = click.IntRange(least, most)
    return click.option(*names, type=kind, default=default, show_default=True, help=help, **more)


def cluster_options(command: Command) -> Command:
    """`--master` and `--conf`."""
    return _master_option(_conf_option(command))


def engine_options(command: Command) -> Command:
    """`--engine`, `--master` and `--conf`, which are passed to the command as `run`."""

    @wraps(command)
    def run_command(
        engine: str | None, master: str | None, conf: tuple[str, ...], **arguments: Any
    ) -> None:
        command(run=EngineRun(engine, master, parse_settings(conf)), **arguments)

    return _engine_option(cluster_options(run_command))


@dataclass(frozen=True, slots=True)
class EngineRun:
    """Where a command runs its tasks: the named engine, or a Spark master with its settings."""

    engine: str | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that the caller has described, if any."""
        from lakejoin.spark.task_runner import Cluster

        named = self.master is not None or self.conf
        return Cluster(None, self.master, self.conf) if named else None

    def to_arguments(self) -> list[str]:
        """The same options for another command."""
        named = {"--engine": self.engine, "--master": self.master}
        settings = [
            word for key, value in self.conf.items() for word in ("--conf", f"{key}={value}")
        ]
        return [word for pair in named.items() if pair[1] for word in pair if word] + settings

    @property
    def start(self) -> StartRunner:
        """How to start what runs the tasks."""
        from lakejoin.spark.engine_choice import choose_engine

        return choose_engine(self.engine, self.cluster)


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


RESULTS_PER_ANSWER = 3  # shown if there are several answers


@dataclass(frozen=True, slots=True)
class SearchRun:
    """What all search commands take: the query, and how the answer is shown."""

    table: str | None
    on: tuple[str, ...]
    k: int | None
    explain: int | None
    batch: str | None
    master: str | None
    conf: tuple[str, ...]
    index: str | None
    as_json: bool

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if (self.table is None) == (self.batch is None):
            raise InputError("name one TABLE, or --batch FOLDER")
        if self.batch is None and (self.master is not None or self.conf):
            raise InputError(
                "--master and --conf need --batch: Spark is only used to search with many tables"
            )
        if self.explain is not None and self.batch is not None:
            raise InputError("--explain shows one result of one search: name one TABLE")


def query_options(on_help: str, k_help: str) -> Callable[[Command], Command]:
    """`TABLE`, `--on` and `-k`."""

    def decorate(command: Command) -> Command:
        command = click.option("-k", type=click.IntRange(min=1), metavar="N", help=k_help)(command)
        command = click.option("--on", multiple=True, metavar="COLUMN", help=on_help)(command)
        return click.argument("table", required=False)(command)

    return decorate


def run_options(explain_help: str) -> Callable[[Command], Command]:
    """The other options of `SearchRun`, which is passed to the command as `run`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run_command(**arguments: Any) -> None:
            run = SearchRun(**{name: arguments.pop(name) for name in SearchRun.__slots__})
            command(run, **arguments)

        wrapped = _batch_option(cluster_options(index_json_options(run_command)))
        return click.option(
            "--explain",
            type=click.IntRange(min=0),
            is_flag=False,
            flag_value=0,
            metavar="N",
            help=explain_help,
        )(wrapped)

    return decorate
