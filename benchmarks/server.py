"""How long do users of `lakejoin serve` wait, one, some and many at once?

    python benchmarks/server.py INDEX [--soak 300] [--peer-python PYTHON]

Users send requests without a pause, each about other tables, so that nothing is in the cache; then
the same requests again, so that everything is. Searches are fused, previews are of the joins that
searches find. Windows of 200 rows are also requested while eight users search. The server is
started for this, with an empty cache. Seconds depend on what else the machine does, so each figure
comes with the load, and with the CPU time that the server and its children took per request.

`--soak` then sends an hour's worth of mixed requests in that many seconds, and shows whether memory
grows: what the processes hold besides mapped files, as a line fitted to samples once all is warm.

The peer for rows is datasette, if `--peer-python` names a Python that has it; for searches and
previews there is none that serves them.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped, unused-ignore]

from harness import record
from server_asks import Asks
from server_load import Ask, load, served
from server_peer import Rows, datasette, loaded
from server_soak import soak

USERS = (1, 8, 32)
_HEADS = ("users", "requests", "errors", "p50 ms", "p95 ms", "per s", "CPU ms", "load")
_PEER_TABLES = 100
_MANY = 20_000  # requests that are quick: more than can be asked in the time


def main() -> None:
    """Measures, prints, and records."""
    given = _arguments()
    with tempfile.TemporaryDirectory(dir=given.store) as folder:
        figures = measure(given, Path(folder))
    print(show(figures))
    record("server", figures, given.out)


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures by kind of request."""
    figures: dict[str, Any] = {"runs": {}}
    with served(given.index, folder / "store") as (url, process):
        asks = Asks(url)
        figures["tables"] = len(asks.tables)
        _warm(url, asks)
        runs = figures["runs"]
        if given.peer_python:
            runs |= _against_peer(given, folder, url, process, asks)
        runs |= _light(given, url, process, asks)
        runs |= _heavy(given, url, process, asks)
        runs["rows while 8 search"] = [_beside_searches(given, url, process, asks)]
        if given.soak:
            figures["soak"] = soak(url, process, asks, given.soak)
    return figures


Runs = dict[str, list[dict[str, Any]]]


def _light(given: argparse.Namespace, url: str, process: psutil.Process, asks: Asks) -> Runs:
    runs: Runs = {}
    for kind in ("rows", "table", "find"):
        make = getattr(asks, kind)
        runs[kind] = [
            load(url, make(_MANY), users, given.seconds / 3, process).figures()
            for users in given.users
        ]
    return runs


def _heavy(given: argparse.Namespace, url: str, process: psutil.Process, asks: Asks) -> Runs:
    """Each user asks something else; and then all of it again."""
    runs: Runs = {"search": [], "search, cached": [], "preview": [], "preview, cached": []}

    def both(kind: str, some: Sequence[Ask], users: int) -> None:
        waited = load(url, some, users, given.seconds, process)
        runs[kind].append(waited.figures())
        again = some[: len(waited.seconds)]
        runs[f"{kind}, cached"].append(load(url, again, users, given.seconds, process).figures())

    for users in given.users:
        searches = asks.search(max(given.most, users))
        both("search", searches, users)
        previews = asks.preview(searches, max(given.most, users))
        both("preview", previews, users)
    return runs


def _beside_searches(
    given: argparse.Namespace, url: str, process: psutil.Process, asks: Asks
) -> dict[str, Any]:
    """Windows of rows for one who scrolls while eight users search."""
    some = asks.search(max(given.most, 16))
    searching = threading.Thread(target=load, args=[url, some, 8, given.seconds / 2])
    searching.start()
    figures = load(url, asks.rows(_MANY), 1, given.seconds / 2).figures()
    searching.join()
    return {**figures, "cpu_ms_each": None}


def _against_peer(
    given: argparse.Namespace, folder: Path, url: str, process: psutil.Process, asks: Asks
) -> Runs:
    """The same windows of the same tables from us and from datasette, in turns."""
    all_tables = asks.tables
    asks.tables = all_tables[:_PEER_TABLES]
    names = [one["table"] for one in asks.tables]
    database = folder / "lake.db"
    called = loaded(given.index, names, database)
    runs: Runs = {"rows of 100 tables": [], "the same, datasette": []}
    with datasette(given.peer_python, database) as (peer_url, peer):
        windows = asks.rows(_MANY)
        rows = Rows(database, called)
        for users in given.users:
            load(peer_url, windows[:_PEER_TABLES], users, given.seconds / 3, peer, rows)  # warm
            theirs = load(peer_url, windows, users, given.seconds / 3, peer, rows)
            ours = load(url, windows, users, given.seconds / 3, process)
            runs["rows of 100 tables"].append(ours.figures())
            runs["the same, datasette"].append(theirs.figures())
    asks.tables = all_tables
    return runs


def _warm(url: str, asks: Asks) -> None:
    """A server that was just started reads and compiles what it needs first."""
    load(url, asks.search(4), 2, 60)
    load(url, asks.rows(50), 2, 10)


def show(figures: Mapping[str, Any]) -> str:
    """The figures as a table."""
    lines = [f"{'':24}" + "".join(f"{head:>10}" for head in _HEADS)]
    for kind, runs in figures["runs"].items():
        for run in runs:
            cpu = "" if run["cpu_ms_each"] is None else f"{run['cpu_ms_each']:.1f}"
            cells = (
                run["users"],
                run["requests"],
                sum(run["errors"].values()),
                f"{run['p50_ms']:.1f}",
                f"{run['p95_ms']:.1f}",
                f"{run['per_second']:.1f}",
                cpu,
                run["load"],
            )
            lines.append(f"{kind:24}" + "".join(f"{cell!s:>10}" for cell in cells))
    if "soak" in figures:
        lines += _soak_lines(figures["soak"])
    return "\n".join(lines)


def _soak_lines(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"\n{found['requests']:,} mixed requests in {found['seconds']:.0f} s, "
        f"{found['errors']} errors"
    ]
    for who in ("server", "children"):
        one = found[who]
        lines.append(
            f"{who}: {one['first_mb']:.0f} MB in the first third, {one['last_mb']:.0f} MB in the "
            f"last, {one.get('mb_a_minute', 0):+.2f} ± {one.get('error', 0):.2f} MB a minute"
        )
    for kind, run in found["by_kind"].items():
        lines.append(
            f"  {kind:8} {run['requests']:6} requests, p50 {run['p50_ms']:8.1f} ms, "
            f"p95 {run['p95_ms']:8.1f} ms, errors {run['errors'] or 'none'}"
        )
    return lines


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--users", nargs="*", type=int, default=USERS)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each kind of request")
    parser.add_argument("--most", type=int, default=120, help="searches of each number of users")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds")
    parser.add_argument("--peer-python", type=Path, help="a Python that has datasette")
    parser.add_argument("--store", type=Path, help="where temporary files go")
    parser.add_argument("--out", type=Path, help="the file of results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
