"""The command that serves the web app and its API: serve."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from lakejoin import api
from lakejoin.app.lake_commands import index_option
from lakejoin.app.printing import counted, print_json
from lakejoin.errors import InputError, MissingPart

if TYPE_CHECKING:
    from lakejoin.app.server.settings import Settings

_PORT = 8765
_TRIED = 20  # ports, where none was named
_WAITING = 128


@click.command("serve")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Where it listens; 0 is any free port.  [default: {_PORT}, or the next that is free]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="On which address. Any other than this machine's own asks for a token.",
)
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--token",
    metavar="TEXT",
    envvar="LAKEJOIN_TOKEN",
    help="What callers must know; also $LAKEJOIN_TOKEN. On other addresses than this machine's "
    "own one is made where none is given.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A further name under which the server may be called. May be given several times.",
)
@click.option(
    "--store",
    metavar="DIR",
    help="Where uploads, results and links are kept.  [default: in the user's cache]",
)
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that search and join.")
@click.option(
    "--cache",
    "cache_gb",
    type=click.FloatRange(0.01),
    default=4.0,
    show_default=True,
    metavar="GB",
    help="How much of results is kept; those not used for longest go first.",
)
@click.option(
    "--uploads",
    "uploads_gb",
    type=click.FloatRange(0.01),
    default=2.0,
    show_default=True,
    metavar="GB",
    help="How much of uploaded tables is kept.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1.0),
    default=120.0,
    show_default=True,
    help="How long a search or a join may take.",
)
@index_option
@click.option("--json", "as_json", is_flag=True, help="Print where it listens as JSON.")
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
    """Serves the lake as a web page, and to programs.

    Bring a table, see which tables of the lake join with it, join them, rework the result with SQL,
    go on from there, share it and take it away. One process; Ctrl-C ends it. The page uses only the
    API, which is described at /api/v1/openapi.json; lakejoin.connect(URL) asks it from Python.

    It listens on this machine only, unless --host says otherwise; then a token is asked for. SQL
    and uploads are run and read in processes of their own, under limits.

    \b
    Examples:
      lakejoin serve --open
      lakejoin serve --index /data/lake.index --port 8080
      lakejoin serve --host 0.0.0.0 --allow-host lake.example.org

    \b
    JSON keys: url, host, port, token, index, store, workers
    """
    from dataclasses import replace

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingPart("serving needs: pip install 'lakejoin[serve]'") from None
    from lakejoin.app.server.settings import Limits, Settings, default_folder

    lake = api.open(index)
    place = lake.snapshot.place.uri
    folder = Path(store) if store else default_folder(place)
    _check_folder(folder)
    if token is not None and not re.fullmatch(r"[A-Za-z0-9._~+/=-]+", token):
        raise InputError("a token is made of letters, digits and the signs . _ ~ + / = -")
    if token is None and not _is_loopback(host):
        token = secrets.token_urlsafe(24)
    limits = Limits(
        cache_bytes=int(cache_gb * 1e9), uploads_bytes=int(uploads_gb * 1e9), seconds=seconds
    )
    listening = _listening(host, port)
    settings = Settings(
        place, folder, host, listening.getsockname()[1], token, hosts, limits=limits
    )
    if workers is not None:
        settings = replace(settings, workers=workers)
    _say(settings, len(lake), as_json)
    if browse:
        threading.Timer(1.0, webbrowser.open, [_url(settings)]).start()
    from lakejoin.app.server.running import run

    run(settings, listening)


def _check_folder(folder: Path) -> None:
    """Says at once if nothing can be kept there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f"making-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        why = problem.strerror or problem
        raise InputError(f"{folder}: {why}; name another folder with --store") from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int | None) -> socket.socket:
    """The port that was named; else the usual one, or the next that is free."""
    wanted = [port] if port is not None else [*range(_PORT, _PORT + _TRIED), 0]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for one in wanted:
        # TCP by name: else asyncio leaves small answers waiting, some 40 ms each.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, one))
            found.listen(_WAITING)  # who comes before all is loaded waits, and is not refused
        except OSError as problem:
            found.close()
            if one == wanted[-1]:
                why = problem.strerror or problem
                raise InputError(f"cannot listen on {host}:{one}: {why}") from None
        else:
            return found
    raise AssertionError("a port was tried")


def _url(settings: Settings) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    secret = f"?token={quote(settings.token, safe='')}" if settings.token else ""
    return f"http://{host}:{settings.port}/{secret}"


def _say(settings: Settings, tables: int, as_json: bool) -> None:
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
        click.echo("whoever opens it needs the token in that address; the connection is not")
        click.echo("encrypted: put it behind a proxy with TLS where others can listen in")
    click.echo("Ctrl-C ends it")
    sys.stdout.flush()
