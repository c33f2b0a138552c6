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
    "index": "lakejoin.app.build_commands:index_command",
    "compact": "lakejoin.app.build_commands:compact_command",
    "info": "lakejoin.app.lake_commands:info_command",
    "tables": "lakejoin.app.lake_commands:tables_command",
    "columns": "lakejoin.app.lake_commands:columns_command",
    "show": "lakejoin.app.lake_commands:show_command",
    "skipped": "lakejoin.app.lake_commands:skipped_command",
    "check": "lakejoin.app.lake_commands:check_command",
    "search": "lakejoin.app.search_commands:search_command",
    "join": "lakejoin.app.join_commands:join_command",
    "predicate": "lakejoin.app.predicate_commands:predicate_command",
    "predicates": "lakejoin.app.predicate_commands:predicates_command",
    "union": "lakejoin.app.union_commands:union_command",
    "graph": "lakejoin.app.graph_commands:graph_command",
    "paths": "lakejoin.app.path_commands:paths_command",
    "enrich": "lakejoin.app.enrich_command:enrich_command",
    "serve": "lakejoin.app.serve_command:serve_command",
    "mcp": "lakejoin.app.mcp_command:mcp_command",
    "demo": "lakejoin.app.demo:demo_command",
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
