"""The commands `serve` (web page and REST API) and `mcp` (tools for AI agents)."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import shutil
import socket
import sys
import threading
import webbrowser
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from lakejoin.cli.options import index_option
from lakejoin.cli.terminal import print_json
from lakejoin.errors import InputError, MissingDependency
from lakejoin.text_format import counted

if TYPE_CHECKING:
    from lakejoin.server.settings import Settings


_PORT = 8765
_PORTS_TRIED = 20  # if no port was named
_BACKLOG = 128


@click.command("serve")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The port; 0 for any free one.  [default: {_PORT}, or the next free one]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on; any but a loopback address needs a token.",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--token",
    metavar="TEXT",
    envvar="LAKEJOIN_TOKEN",
    help="The token that callers must send.  [default: $LAKEJOIN_TOKEN, or generated]",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another host name that reaches this server; repeatable.",
)
@click.option(
    "--store",
    metavar="DIR",
    help="The folder for uploads and results.  [default: in the user's cache]",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="The number of processes that search and join."
)
@click.option(
    "--cache",
    "cache_gb",
    type=click.FloatRange(0.01),
    default=4.0,
    show_default=True,
    metavar="GB",
    help="Space for cached results.",
)
@click.option(
    "--uploads",
    "uploads_gb",
    type=click.FloatRange(0.01),
    default=2.0,
    show_default=True,
    metavar="GB",
    help="Space for uploaded tables.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1.0),
    default=120.0,
    show_default=True,
    help="The time limit for a search or a join.",
)
@index_option
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
def serve_command(
    port: int | None,
    host: str,
    browse: bool,
    token: str | None,
    hosts: tuple[str, ...],
    store: str | None,
    workers: int | None,
    cache_gb: float,
    uploads_gb: float,
    seconds: float,
    index: str | None,
    as_json: bool,
) -> None:
    """Serve the lake as a web page and a REST API.

    Upload a table, find tables that join with it, join them, rework the result with SQL, share and
    download it. The API is described at /api/v1/openapi.json; lakejoin.connect(URL) uses it from
    Python. The server listens on this machine only, unless --host says otherwise.

    \b
    Examples:
      lakejoin serve --open
      lakejoin serve --index /data/lake.index --port 8080
      lakejoin serve --host 0.0.0.0 --allow-host lake.example.org
    """
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise MissingDependency("lakejoin serve needs more packages: pip install 'lakejoin[serve]'")
    from lakejoin import api
    from lakejoin.server.settings import Limits, Settings, default_folder

    lake = api.open(index)
    location = lake.snapshot.location.uri
    folder = Path(store) if store else default_folder(location)
    _check_folder(folder)
    if token is not None and not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):
        raise InputError(
            "a token may contain only letters, digits and the characters . _ ~ + / = -"
        )
    if token is None and not _is_loopback(host):
        token = secrets.token_urlsafe(24)
    limits = Limits(
        cache_bytes=int(cache_gb * 1e9), uploads_bytes=int(uploads_gb * 1e9), seconds=seconds
    )
    listening = _listening_socket(host, port)
    settings = Settings(
        location, folder, host, listening.getsockname()[1], token, hosts, limits=limits
    )
    if workers is not None:
        settings = replace(settings, workers=workers)
    _print_address(settings, len(lake), as_json)
    if browse:
        threading.Timer(1.0, webbrowser.open, [_url(settings)]).start()
    from lakejoin.server.server_process import run_server

    run_server(settings, listening)


def _check_folder(folder: Path) -> None:
    """Fail early if the folder is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f"making-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        why = problem.strerror or problem
        raise InputError(
            f"cannot write to {folder}: {why}; name another folder with --store"
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening_socket(host: str, port: int | None) -> socket.socket:
    """Listen on the named port, or else on the default port or the next free one."""
    ports = [port] if port is not None else [*range(_PORT, _PORT + _PORTS_TRIED), 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in ports:
        # Name TCP explicitly: otherwise asyncio delays small answers by some 40 ms each.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(_BACKLOG)  # early callers wait until everything is loaded
        except OSError as problem:
            listener.close()
            if candidate == ports[-1]:
                why = problem.strerror or problem
                raise InputError(f"cannot listen on {host}:{candidate}: {why}") from None
        else:
            return listener
    raise AssertionError("at least one port is tried")


def _url(settings: Settings) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    secret = f"?token={quote(settings.token, safe='')}" if settings.token else ""
    return f"http://{host}:{settings.port}/{secret}"


def _print_address(settings: Settings, tables: int, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "url": _url(settings),
                "host": settings.host,
                "port": settings.port,
                "token": settings.token,
                "index": settings.index,
                "store": str(settings.folder),
                "workers": settings.workers,
            }
        )
        sys.stdout.flush()
        return
    click.echo(f"serving {counted(tables, 'table')} at {_url(settings)}")
    if settings.token and not _is_loopback(settings.host):
        click.echo("this address contains the token that callers need; the connection is not")
        click.echo("encrypted: use a proxy with TLS on networks that you do not trust")
    click.echo("press Ctrl-C to stop")
    sys.stdout.flush()


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

    Agents start this command themselves, from their configuration. Most read a file like this,
    which --json prints with the right paths:

    \b
      {"mcpServers": {"lakejoin": {
        "command": "lakejoin", "args": ["mcp", "--index", "/path/to/index"]}}}

    \b
    Tools, with answers of at most 4,000 characters:
      search    find tables that join with a table, and what they would add
      describe  describe a table, or the lake
      preview   show some rows of a table
      join      find out how two tables join; writes only to a new file that the agent names

    Tables are files that this command can read, or tables in the lake. New versions of the index
    are picked up automatically. It needs no Spark and no Java, only pip install 'lakejoin[mcp]'.

    \b
    Examples:
      lakejoin mcp --index data.index --json > .mcp.json
      claude mcp add lakejoin -- lakejoin mcp --index /path/to/index
    """
    if as_json:
        from lakejoin import api

        print_json(_configuration(api.open(index).snapshot.location.uri))
        return
    from lakejoin.mcp.tool_server import serve_agents

    if sys.stdin.isatty():
        hint = "waiting for an agent, which normally starts this command itself; see lakejoin mcp "
        click.echo(f"{hint}--help. Press Ctrl-C to stop", err=True)
    serve_agents(index)


def _configuration(location: str) -> dict[str, Any]:
    index = os.path.realpath(location) if "://" not in location else location
    server = {"command": shutil.which("lakejoin") or "lakejoin", "args": ["mcp", "--index", index]}
    return {"mcpServers": {"lakejoin": server}}
