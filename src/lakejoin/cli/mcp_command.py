"""The command `mcp`: serve the lake to AI agents."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

import click

from lakejoin import api
from lakejoin.cli.options import index_option
from lakejoin.cli.terminal import print_json


@click.command("mcp")
@index_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the configuration for an agent instead of serving.",
)
def mcp_command(index: str | None, as_json: bool) -> None:
    """Serve the lake to AI agents: Model Context Protocol tools over standard input and output.

    Agents start this command themselves and have to be told how. Most read a file like this, which
    --json prints with the right paths:

    \b
      {"mcpServers": {"lakejoin": {
        "command": "lakejoin", "args": ["mcp", "--index", "/path/to/index"]}}}

    \b
    Tools, with answers of at most 4,000 characters:
      search    find tables that join with a table, and what they would add
      describe  describe a table, or the lake
      preview   show some rows of a table
      join      find out how two tables join; writes only to a new file that the agent names

    Tables are files that this command can read, or tables of the lake. New versions of the index
    are picked up automatically. It needs neither Spark nor Java, but pip install 'lakejoin[mcp]'.

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
    from lakejoin.mcp.serving import serve_agents

    if sys.stdin.isatty():
        hint = "waiting for an agent, which normally starts this command itself; see lakejoin mcp "
        click.echo(f"{hint}--help. Press Ctrl-C to stop", err=True)
    serve_agents(index)


def _configuration(location: str) -> dict[str, Any]:
    index = os.path.realpath(location) if "://" not in location else location
    server = {"command": shutil.which("lakejoin") or "lakejoin", "args": ["mcp", "--index", index]}
    return {"mcpServers": {"lakejoin": server}}
