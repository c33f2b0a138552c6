"""The peer for rows: datasette, which serves the same tables from SQLite.

It has no search for tables that join, and no joins to preview; what it has in common with us is
that a page scrolls through a table. It is asked for the same windows by rowid, which it finds by
its index, without counting rows or suggesting facets.
"""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped, unused-ignore]

import lakejoin
from server_load import Ask

_START_SECONDS = 60


def loaded(index: Path, names: Sequence[str], database: Path) -> dict[str, str]:
    """Writes tables of an index into a database; under what name each is there."""
    lake = lakejoin.open(index)
    called = {name: f"t{place}" for place, name in enumerate(names)}
    if database.exists():
        return called
    with sqlite3.connect(database) as connection:
        for name, plain in called.items():
            rows = lake.table(name).to_arrow()
            width = rows.num_columns
            heads = ", ".join(f'"c{place}"' for place in range(width))
            connection.execute(f"create table {plain} ({heads})")
            cells = zip(*(column.to_pylist() for column in rows.columns), strict=True)
            places = ", ".join("?" * width)
            connection.executemany(f"insert into {plain} values ({places})", cells)
    connection.close()
    return called


@contextmanager
def datasette(python: Path, database: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Serves a database with the datasette that a Python has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), "-m", "datasette", "serve", str(database), "--port", str(port)]
    command += ["--setting", "max_returned_rows", "1000", "--setting", "num_sql_threads", "4"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(_START_SECONDS * 2):
            try:
                httpx.get(f"{url}/-/versions.json")
                break
            except httpx.TransportError:
                time.sleep(0.5)
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


class Rows:
    """Asks datasette for the windows that we are asked for."""

    def __init__(self, database: Path, called: dict[str, str]) -> None:
        self._database = database.stem
        self._called = called

    async def __call__(self, http: httpx.AsyncClient, one: Ask) -> str | None:
        """What was wrong, as `server_load.asked` tells it."""
        begin, end = one.query["begin"], one.query["end"]
        name = self._called[str(one.query["table"]).removeprefix("lake:")]
        query: dict[str, Any] = {"_size": end - begin, "_shape": "arrays", "_nocount": 1}
        query |= {"_nofacet": 1, "_nosuggest": 1, **({"_next": begin} if begin else {})}
        try:
            answer = await http.get(f"/{self._database}/{name}.json", params=query)
        except httpx.HTTPError as problem:
            return type(problem).__name__
        return None if answer.status_code == 200 else str(answer.status_code)
