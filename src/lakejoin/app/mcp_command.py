"""The command that serves agents: mcp."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import click

from lakejoin import api
from lakejoin.app.lake_commands import index_option
from lakejoin.app.printing import print_json


@click.command("mcp")
@index_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print what goes into an agent's configuration, and serve nothing.",
)
def mcp_command(index: str | None, as_json: bool) -> None:
    """Serves the lake to agents, as Model Context Protocol tools over standard input and output.

    An agent starts this command itself. Tell it how, once: most take a file of this kind, which
    --json prints with the paths of this machine filled in:

    \b
      {"mcpServers": {"lakejoin": {
        "command": "lakejoin", "args": ["mcp", "--index", "/path/to/index"]}}}

    \b
    Tools, whose answers have at most 4,000 characters:
      search    which tables join with this one, and what would they add?
      describe  what is in a table, or in the lake?
      preview   some rows of a table
      join      how do two tables join? Writes only into a new file that it is told to write

    Tables are files that this command can read, or tables of the lake. There is no Spark and no
    JVM in it. A new version of the index is taken up by itself. Needs: pip install 'lakejoin[mcp]'.

    \b
    Examples:
      lakejoin mcp --index data.index --json > .mcp.json
      claude mcp add lakejoin -- lakejoin mcp --index /path/to/index

    \b
    JSON keys: mcpServers{lakejoin{command, args}}
    """
    if as_json:
        print_json(_configuration(api.open(index).snapshot.place.uri))
        return
    from lakejoin.app.agents.serving import serve

    if sys.stdin.isatty():
        said = "serving; an agent starts this command itself (lakejoin mcp --help); Ctrl-C ends it"
        click.echo(said, err=True)
    serve(index)


def _configuration(place: str) -> dict[str, Any]:
    index = os.path.realpath(place) if "://" not in place else place
    started = {"command": shutil.which("lakejoin") or "lakejoin", "args": ["mcp", "--index", index]}
    return {"mcpServers": {"lakejoin": started}}
