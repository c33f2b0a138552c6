"""A lake, an index of it that is opened here, and a server of it to ask the same."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import lakejoin
from fake_spark import FakeSpark
from lakejoin.client.remote_lake import RemoteLake
from lakejoin.errors import NoServer
from lakejoin.lake import Lake

_START_SECONDS = 120
_CITIES = (
    "Bern,Zürich,Windhoek,Oslo,Bergen,Thun,Basel,Genève,Lausanne,Lugano,Zug,Chur,Davos,Sion,Visp"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Towns, their mayors, and the countries they are in."""
    folder = tmp_path_factory.mktemp("remote")
    lake = folder / "lake"
    (lake / "sub").mkdir(parents=True)
    names = _CITIES.split(",")
    towns = [f"{name},{'NO' if i % 3 else 'CH'},{1000 * i + 7}" for i, name in enumerate(names)]
    mayors = [f"{name},Mayor {i},{1000 * i + 7}" for i, name in enumerate(names[:11])]
    (lake / "towns.csv").write_text("\n".join(["town,country,people", *towns]) + "\n")
    (lake / "sub" / "mayors of.csv").write_text("\n".join(["city,mayor,size", *mayors]) + "\n")
    (lake / "sub" / "codes.tsv").write_text("code\tname\nCH\tSwitzerland\nNO\tNorway\n")
    return folder


@pytest.fixture(scope="session")
def local(folder: Path) -> Lake:
    """The lake, opened here."""
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark(), parts=[])
    return lakejoin.open(folder / "index")


@pytest.fixture(scope="session")
def serving(folder: Path, local: Lake) -> Callable[..., AbstractContextManager[str]]:
    """Starts a server of the same lake on a free port of this machine, with options, and ends it;
    gives its address."""

    @contextmanager
    def serve(*options: str) -> Iterator[str]:
        said = folder / f"said{len(list(folder.glob('said*')))}"
        places = ["--index", str(folder / "index"), "--store", str(folder / "store")]
        command = [sys.executable, "-m", "lakejoin", "serve", "--port", "0", "--workers", "1"]
        with said.open("w") as out:
            server = subprocess.Popen(
                [*command, *places, "--json", *options], stdout=out, stderr=subprocess.STDOUT
            )
        try:
            yield _address(server, said)
        finally:
            server.terminate()
            server.wait(30)

    return serve


@pytest.fixture(scope="session")
def url(serving: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    """A server of the same lake."""
    with serving() as url:
        yield url


@pytest.fixture
def remote(url: str) -> Iterator[RemoteLake]:
    """The lake, asked through the server."""
    with lakejoin.connect(url) as lake:
        yield lake


def _address(server: subprocess.Popen[bytes], said: Path) -> str:
    """What the server printed, once it answers."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        time.sleep(0.1)
        try:
            url = str(json.loads(said.read_text())["url"])
            lakejoin.connect(url).close()
        except (ValueError, NoServer):
            continue
        return url
    raise AssertionError(f"the server did not start: {said.read_text()}")
