"""The command line `lakejoin COMMAND`: the list of commands, and how failures are reported."""

from __future__ import annotations

import errno
import logging
import os
import sys

import click

from lakejoin import __version__
from lakejoin.errors import LakejoinError

# Commands by what one wants: module, function, and a phrase. A module is imported only when its
# command runs or shows help.
_GROUPS = {
    "Index a lake, and look at it": {
        "demo": ("demo_command:demo_command", "build, index and explore a lake of real data"),
        "index": (
            "build_commands:index_command",
            "index a folder of CSV, JSON, Parquet, Excel … files",
        ),
        "compact": ("build_commands:compact_command", "merge small segments of the index"),
        "info": ("lake_commands:info_command", "show what is in the index"),
        "tables": ("lake_commands:tables_command", "list the tables"),
        "columns": ("lake_commands:columns_command", "list the columns of a table"),
        "show": ("lake_commands:show_command", "show the first rows of a table"),
        "skipped": ("lake_commands:skipped_command", "list the files that were skipped, and why"),
        "check": ("lake_commands:check_command", "verify the files of the index"),
    },
    "Find tables": {
        "search": (
            "search_command:search_command",
            "find tables that join with yours, and what they add",
        ),
        "union": ("union_command:union_command", "find tables with rows to append to yours"),
        "paths": ("graph_commands:paths_command", "find chains of joins from one table to another"),
        "graph": (
            "graph_commands:graph_command",
            "count all joins of the lake; see what a table reaches",
        ),
    },
    "Find tables with one engine": {
        "overlap": (
            "engine_commands:overlap_command",
            "columns that share the most values with yours",
        ),
        "containment": (
            "engine_commands:containment_command",
            "columns that contain most of your values",
        ),
        "composite": (
            "engine_commands:composite_command",
            "tables that contain your combinations of values",
        ),
        "similar": (
            "engine_commands:similar_command",
            "text columns of similar meaning or spelling",
        ),
        "nearby": ("engine_commands:nearby_command", "close numbers, coordinates or vectors"),
    },
    "Join": {
        "join": ("join_command:join_command", "join two tables, and find out how"),
        "predicates": (
            "predicate_commands:predicates_command",
            "find which columns of tables to equate",
        ),
        "relations": (
            "predicate_commands:relations_command",
            "find which tables refer to which: foreign keys",
        ),
        "enrich": (
            "enrich_command:enrich_command",
            "add columns that help to predict one of yours",
        ),
    },
    "Serve": {
        "serve": ("serve_commands:serve_command", "serve the lake as a web page and REST API"),
        "mcp": ("serve_commands:mcp_command", "serve the lake to AI agents"),
    },
}
_COMMANDS = {name: row[0] for group in _GROUPS.values() for name, row in group.items()}
_UNTOUCHED = "stopped; existing files are untouched"
# Messages for Ctrl-C. Commands that write replace existing files only when they are done.
_STOPPED = {
    **dict.fromkeys(
        ("search", *_GROUPS["Find tables with one engine"], "predicates", "relations", "paths"),
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for title, group in _GROUPS.items():
            formatter.write(f"{title}:\n")
            for name, (_, phrase) in group.items():
                formatter.write(f"  {name:<12} {phrase}\n")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        location = _COMMANDS.get(cmd_name)
        if location is None:
            return None
        module, name = location.split(":")
        command: click.Command = getattr(import_module(f"lakejoin.cli.{module}"), name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lakejoin")
def cli() -> None:
    """Find the tables of a data lake that join with yours, see why, and join them.

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
