"""What the examples in docstrings stand on: a folder with a small lake, its index, and `mine.csv`.

An example that uses a file or the name `lake` runs in a folder with `data/`, `data.index` and
`mine.csv`; `lake` is the opened index, `spark` builds indexes without a JVM, and `server.url` is a
server of the lake.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lakejoin
from fake_spark import FakeSpark

_FILES = {
    "data/cities.csv": """name,land,lat,lon,people
Bern,Switzerland,46.9480,7.4474,134000
Oslo,Norway,59.9139,10.7522,709000
Ulm,Germany,48.4011,9.9876,126000
Zürich,Switzerland,47.3769,8.5417,430000
Bergen,Norway,60.3913,5.3221,285000
Thun,Switzerland,46.7580,7.6280,43000
Basel,Switzerland,47.5596,7.5886,173000
""",
    "data/sights.csv": """sight,place
Zytglogge,Bern
Minster,Ulm
Castle,Thun
Rhine Falls,Schaffhausen
Bryggen,Bergen
""",
    "data/offices.csv": """office,address
A,12 Main Street
B,9 Oak Avenue
C,31 Elm Road
D,4 Station Square
""",
    "data/more.csv": """name,land
Lyon,France
Nice,France
Bern,Switzerland
""",
    "mine.csv": """city,country,visits
Bern,Switzerland,3
oslo,Norway,1
ULM,Germany,7
Zürich,Switzerland,2
Paris,France,5
""",
}
_USES_LAKE = re.compile(r"\blake\b|\bspark\b|\bserver\b|\.csv|\.index")


class _Folder:
    """The folder, made when the first example needs it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._server: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        from lakejoin.spark.task_runner import Cluster, make_graph
        from lakejoin.store.graph_files import GraphOptions

        if (self.path / "mine.csv").exists():
            return
        for name, text in _FILES.items():
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).write_text(text, encoding="utf-8")
        lakejoin.index(
            self.path / "data",
            self.path / "data.index",
            FakeSpark(),
            parts=["meaning", "distance"],
            encoder="characters",
        )
        make_graph(self.path / "data.index", GraphOptions(least=2), Cluster(FakeSpark()))

    def serve(self) -> str:
        """The address of a server of the lake, which is started once."""
        said = self.path / "server.json"
        if self._server is None:
            command = [sys.executable, "-m", "lakejoin", "serve", "--port", "0", "--workers", "1"]
            places = ["--index", str(self.path / "data.index"), "--store", str(self.path / "store")]
            with said.open("w") as out:
                self._server = subprocess.Popen([*command, *places, "--json"], stdout=out)
        end = time.monotonic() + 120
        while not said.read_text() and self._server.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        return str(json.loads(said.read_text())["url"])

    def close(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(30)


class _Server(SimpleNamespace):
    folder: _Folder

    @property
    def url(self) -> str:
        return self.folder.serve()


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Folder]:
    folder = _Folder(tmp_path_factory.mktemp("examples"))
    yield folder
    folder.close()


@pytest.fixture(autouse=True)
def examples(
    request: pytest.FixtureRequest,
    doctest_namespace: dict[str, Any],
    example_folder: _Folder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Give an example what it uses."""
    doctest_namespace["lakejoin"] = lakejoin
    test = getattr(request.node, "dtest", None)
    source = "".join(example.source for example in test.examples) if test else ""
    if not _USES_LAKE.search(source):
        return
    example_folder.make()
    monkeypatch.chdir(example_folder.path)
    doctest_namespace["lake"] = lakejoin.open("data.index")
    doctest_namespace["spark"] = FakeSpark()
    doctest_namespace["server"] = _Server(folder=example_folder)
