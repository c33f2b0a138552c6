"""The command line: `lakejoin COMMAND`."""

from __future__ import annotations

import errno
import logging
import os
import sys

import click

from lakejoin import __version__
from lakejoin.errors import LakejoinError

# Where each command lives; a module is imported only when its command runs or shows its help.
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
_UNTOUCHED = "stopped; what was there before is untouched"
# What Ctrl-C is answered with; commands that write leave what was there until they are done.
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
    """Ctrl-C, with what is to be said of it."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are needed."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)  # a terminal shows ^C where the line stood
            said = _STOPPED.get(ctx.invoked_subcommand or "", _UNTOUCHED)
            raise _Stopped(said) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        where = _COMMANDS.get(cmd_name)
        if where is None:
            return None
        module, name = where.split(":")
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakejoin")
def cli() -> None:
    """Finds the tables of a data lake that join with yours, shows why, and joins them.

    \b
    Start here:
      lakejoin demo                      a real lake, made, indexed and shown
      lakejoin index data/               index a folder of CSV, JSON, Parquet, Excel … files
      lakejoin info                      what is in the index
      lakejoin tables '*airport*'        which tables are there
      lakejoin columns TABLE             what a table holds
      lakejoin search mine.csv           which tables join with mine, and what they add
      lakejoin join mine.csv TABLE       joins them
      lakejoin predicate mine.csv TABLE  which columns to equate, for what you want of the result
      lakejoin predicates data/          which tables refer to which
      lakejoin union mine.csv            which tables have rows to append to mine
      lakejoin graph                     all joins of the lake, and what a table reaches by them
      lakejoin enrich mine.csv …         adds columns that help to predict one of mine
      lakejoin paths mine.csv TABLE      how to get from one table to another by joins
      lakejoin mcp                       serves the lake to agents

    The index is ./.lakejoin unless --index or the variable LAKEJOIN_INDEX says otherwise. Every
    command takes --json.
    """


def main() -> None:
    """Runs a command; every failure is one sentence on standard error and a non-zero exit."""
    if not os.environ.get("LAKEJOIN_DEBUG"):
        # Libraries log tracebacks of failures that are told here in a sentence (py4j on Ctrl-C).
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
        _fail("the disk is full: free some room and run it again" if full else str(problem), 1)
    except Exception as problem:
        if os.environ.get("LAKEJOIN_DEBUG"):
            raise
        what = f"{type(problem).__name__}: {problem}".splitlines()[0]
        _fail(f"this should not happen: {what} (LAKEJOIN_DEBUG=1 shows where)", 70)


def _fail(message: str, code: int) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"lakejoin: {message}\n")
    sys.stderr.flush()
    sys.exit(code)
