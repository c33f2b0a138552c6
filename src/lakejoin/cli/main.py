"""The command line `lakejoin COMMAND`: the list of commands, and how failures are reported."""

from __future__ import annotations

import errno
import logging
import os
import sys

import click

from lakejoin import __version__
from lakejoin.errors import LakejoinError

# The location of each command; a module is imported only when its command runs or shows help.
_COMMANDS = {
    "index": "lakejoin.cli.build_commands:index_command",
    "compact": "lakejoin.cli.build_commands:compact_command",
    "info": "lakejoin.cli.lake_commands:info_command",
    "tables": "lakejoin.cli.lake_commands:tables_command",
    "columns": "lakejoin.cli.lake_commands:columns_command",
    "show": "lakejoin.cli.lake_commands:show_command",
    "skipped": "lakejoin.cli.lake_commands:skipped_command",
    "check": "lakejoin.cli.lake_commands:check_command",
    "search": "lakejoin.cli.search_command:search_command",
    "join": "lakejoin.cli.join_command:join_command",
    "predicate": "lakejoin.cli.predicate_commands:predicate_command",
    "predicates": "lakejoin.cli.predicate_commands:predicates_command",
    "union": "lakejoin.cli.union_command:union_command",
    "graph": "lakejoin.cli.graph_commands:graph_command",
    "paths": "lakejoin.cli.graph_commands:paths_command",
    "enrich": "lakejoin.cli.enrich_command:enrich_command",
    "serve": "lakejoin.cli.serve_commands:serve_command",
    "mcp": "lakejoin.cli.serve_commands:mcp_command",
    "demo": "lakejoin.cli.demo_command:demo_command",
}
_UNTOUCHED = "stopped; existing files are untouched"
# Messages for Ctrl-C. Commands that write replace existing files only when they are done.
_STOPPED = {
    **dict.fromkeys(
        ("search", "predicate", "predicates", "paths"),
        "the search was stopped; nothing was changed",
    ),
    **dict.fromkeys(
        ("info", "tables", "columns", "show", "skipped", "check"), "stopped; nothing was changed"
    ),
    **dict.fromkeys(("mcp", "serve"), "the server was stopped"),
}


class _Stopped(Exception):
    """Ctrl-C was pressed; the message to print."""


class _LazyGroup(click.Group):
    """A group that imports its commands when they are needed."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)  # the terminal has printed ^C on this line
            raise _Stopped(_STOPPED.get(ctx.invoked_subcommand or "", _UNTOUCHED)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        location = _COMMANDS.get(cmd_name)
        if location is None:
            return None
        module, name = location.split(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakejoin")
def cli() -> None:
    """Find the tables of a data lake that join with yours, see why, and join them.

    \b
    Start here:
      lakejoin demo                      build, index and explore a lake of real data
      lakejoin index data/               index a folder of CSV, JSON, Parquet, Excel … files
      lakejoin info                      show what is in the index
      lakejoin tables '*airport*'        list tables
      lakejoin columns TABLE             list the columns of a table
      lakejoin search mine.csv           find tables that join with mine.csv, and what they add
      lakejoin join mine.csv TABLE       join two tables
      lakejoin predicate mine.csv TABLE  find which columns to equate
      lakejoin predicates data/          find which tables refer to which
      lakejoin union mine.csv            find tables with rows to append to mine.csv
      lakejoin graph                     count all joins of the lake; see what a table reaches
      lakejoin enrich mine.csv …         add columns that help to predict one of mine.csv
      lakejoin paths mine.csv TABLE      find a chain of joins from one table to another
      lakejoin serve                     serve the lake as a web page and REST API
      lakejoin mcp                       serve the lake to AI agents

    The index is ./.lakejoin, or what $LAKEJOIN_INDEX or --index names. Every command takes --json.
    """


def main() -> None:
    """Run a command; a failure prints one sentence on standard error and exits non-zero."""
    if not os.environ.get("LAKEJOIN_DEBUG"):
        # Libraries log tracebacks of failures that are reported below in one sentence.
        logging.getLogger().addHandler(logging.NullHandler())
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
