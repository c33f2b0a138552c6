"""The command line `lakejoin COMMAND`: the list of commands, and how failures are reported."""

from __future__ import annotations

import errno
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import click

from lakejoin import __version__
from lakejoin.errors import LakejoinError
from lakejoin.own_process import prepare_process

# Commands by purpose, each with its one-line help.
_GROUPS = {
    "Index a lake and look around": {
        "demo": "build, index and explore a lake of real data",
        "index": "index a folder of CSV, JSON, Parquet, Excel … files",
        "compact": "merge small segments of the index",
        "info": "show what is in the index",
        "tables": "list the tables",
        "columns": "list the columns of a table",
        "show": "show the first rows of a table",
        "skipped": "list the files that were skipped, and why",
        "check": "verify the files of the index",
        "history": "list the versions of the index that are kept",
        "rollback": "bring an older version of the index back",
        "doctor": "show what is installed, what is missing, and what that costs",
    },
    "Find tables": {
        "search": "find tables that join with yours, and what they add",
        "union": "find tables with rows to append to yours",
        "paths": "find chains of joins from one table to another",
        "graph": "find all joins in the lake; see what joins with a table",
    },
    "Find tables with one engine": {
        "overlap": "columns that share the most values with yours",
        "containment": "columns that contain most of your values",
        "composite": "tables that contain your combinations of values",
        "similar": "text columns with similar meaning or spelling",
        "nearby": "columns with numbers, coordinates or vectors close to yours",
    },
    "Join": {
        "join": "work out how two tables join, and join them",
        "predicates": "find which columns to join on, for the result you want",
        "relations": "find which tables refer to which: foreign keys",
        "enrich": "add columns that help to predict one of yours",
    },
    "Serve": {
        "serve": "serve the lake as a web page and REST API",
        "mcp": "serve the lake to AI agents",
    },
}
_READERS = ("info", "tables", "columns", "show", "skipped", "check")
_VERSIONS = ("history", "rollback")
_SEARCHES = ("search", *_GROUPS["Find tables with one engine"])
# A module is imported only when its command runs or shows help.
_MODULES = {
    **{name: f"{name}_command" for name in ("demo", "doctor", "union", "enrich")},
    **dict.fromkeys(("index", "compact"), "build_commands"),
    **dict.fromkeys(_READERS, "lake_commands"),
    **dict.fromkeys(_VERSIONS, "version_commands"),
    **dict.fromkeys(_SEARCHES, "search_commands"),
    **dict.fromkeys(("paths", "graph"), "graph_commands"),
    **dict.fromkeys(("join", "predicates", "relations"), "join_commands"),
    **dict.fromkeys(("serve", "mcp"), "serve_commands"),
}
# Commands that do without pandas, unless they run on Spark or with an encoder of the user's.
_WITHOUT_PANDAS = (
    *("index", "compact", "graph", "doctor"),
    *_READERS,
    *_VERSIONS,
    *_SEARCHES,
    *("union", "paths", "join", "predicates", "relations", "serve", "mcp"),
)
_PANDAS_OPTIONS = ("--master", "--conf", "--encoder", "--engine=spark", "spark")
_PANDAS_VARIABLES = ("LAKEJOIN_ENCODER", "PYSPARK_GATEWAY_PORT")  # the second is spark-submit's
_UNTOUCHED = "stopped; existing files are untouched"
# Messages for Ctrl-C. Commands that write replace existing files only when they are done.
_STOPPED = {
    **dict.fromkeys(
        (*_SEARCHES, "predicates", "relations", "paths"),
        "the search was stopped; nothing was changed",
    ),
    **dict.fromkeys(_READERS, "stopped; nothing was changed"),
    **dict.fromkeys(("mcp", "serve"), "the server was stopped"),
}


class _Stopped(Exception):
    """Ctrl-C was pressed; the message to print."""


class _LazyGroup(click.Group):
    """A group that imports its commands when they are needed."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            click.echo(err=True)  # the terminal has printed ^C on this line
            usual = _STOPPED.get(ctx.invoked_subcommand or "", _UNTOUCHED)
            raise _Stopped(str(stop) or usual) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in _GROUPS.values() for name in group]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in _GROUPS.items():
            formatter.write(f"{title}:\n")
            for name, phrase in group.items():
                formatter.write(f"  {name:<12} {phrase}\n")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"lakejoin.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakejoin")
def cli() -> None:
    """\b
    Find the tables in a data lake that join with yours, see why, and join them.
    The index is ./.lakejoin, $LAKEJOIN_INDEX or --index. All take --json.
    """


def _needs_pandas(arguments: Sequence[str]) -> bool:
    """Whether a command may need pandas, or run code of the user's that does.

    >>> _needs_pandas(["index", "lake"]), _needs_pandas(["index", "lake", "--master=local"])
    (False, True)
    """
    if not arguments or arguments[0] not in _WITHOUT_PANDAS:
        return True
    if any(variable in os.environ for variable in _PANDAS_VARIABLES):
        return True
    return any(argument.startswith(_PANDAS_OPTIONS) for argument in arguments)


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    """A warning as one sentence, without the place in the code that gives it."""
    return f"lakejoin: {message}\n"


def main() -> None:
    """Run a command; a failure prints one sentence on standard error and exits non-zero."""
    prepare_process(with_pandas=_needs_pandas(sys.argv[1:]))
    if not os.environ.get("LAKEJOIN_DEBUG"):
        # Libraries log tracebacks of failures that are reported below in one sentence.
        logging.getLogger().addHandler(logging.NullHandler())
        warnings.formatwarning = _format_warning
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except (_Stopped, KeyboardInterrupt, click.Abort) as stop:
        _fail(str(stop) or _UNTOUCHED, 130)
    except LakejoinError as problem:
        _fail(str(problem), problem.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as problem:
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
        _fail("the disk is full: free some space and try again" if full else str(problem), 1)
    except Exception as problem:
        if os.environ.get("LAKEJOIN_DEBUG"):
            raise
        what = f"{type(problem).__name__}: {problem}".splitlines()[0]
        _fail(f"internal error: {what} (set LAKEJOIN_DEBUG=1 to see the traceback)", 70)


def _fail(message: str, code: int) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"lakejoin: {message}\n")
    sys.stderr.flush()
    sys.exit(code)
