"""An installed wheel needs no compiler: no numba, no home, and nothing that it may write to."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from http_server.served import serving
from test_packaging import ROOT, make_wheel

# Whatever imports one of these fails, also in a worker of Spark.
WITHOUT_COMPILER = """
import sys
from importlib.abc import MetaPathFinder

class WithoutCompiler(MetaPathFinder):
    def find_spec(self, fullname, *_):
        if fullname.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"{fullname} is not installed", name=fullname)

sys.meta_path.insert(0, WithoutCompiler())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of an unpacked wheel that is only read."""
    folder = tmp_path_factory.mktemp("wheel")
    path = make_wheel(ROOT, folder)
    if path.stem.endswith("none-any"):
        pytest.skip("there is no C compiler here, so the wheel has no compiled kernels")
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(folder / "site")
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(WITHOUT_COMPILER)
    made = [found for found in (folder / "site").rglob("*") if not found.is_symlink()]
    for found in made:
        found.chmod(found.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    search_path = os.pathsep.join(map(str, (hidden, folder / "site")))
    yield {**kept, "PYTHONPATH": search_path, "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nowhere"}
    for found in made:
        found.chmod(found.stat().st_mode | stat.S_IWUSR)


@pytest.fixture(scope="module")
def lake(installed: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a lake that the wheel has indexed in local processes, with every part."""
    home = tmp_path_factory.mktemp("home")
    (home / "lake").mkdir()
    ends = ("ham", "ton", "by", "ford", "dale")
    towns = [f"{a}{b}" for a in ("north", "south", "old", "new", "upper", "kings") for b in ends]
    rows = [f"{town},land {n % 7},{50 + n / 10:.4f},{n / 7:.4f}" for n, town in enumerate(towns)]
    (home / "lake" / "towns.csv").write_text("\n".join(["town,land,lat,lon", *rows, ""]))
    codes = [f"{town.title()} (T-{n})" for n, town in enumerate(towns)]
    (home / "lake" / "codes.csv").write_text("\n".join(["name", *codes, ""]))
    mine = [f"{town},land {n % 7},{50 + n / 10:.4f},{n / 7:.4f},{n}" for n, town in
            enumerate(towns[:20])]  # fmt: skip
    (home / "mine.csv").write_text("\n".join(["town,land,lat,lon,visits", *mine, ""]))
    done = run(installed, home, "index", "lake", "--with", "meaning", "--with", "distance")
    assert done.returncode == 0, done.stderr
    return home


def run(env: dict[str, str], home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lakejoin", *arguments]
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "command",
    [
        "search mine.csv",
        "overlap mine.csv --on town",
        "containment mine.csv --on town",
        "composite mine.csv --on town --on land",
        "similar mine.csv --on town",
        "nearby mine.csv --on lat --on lon --within 1km",
        "union mine.csv",
        "paths mine.csv towns.csv",
        "graph",
        "join mine.csv lake/towns.csv",
        "join mine.csv lake/codes.csv",
        "predicates mine.csv lake/towns.csv",
        "relations lake",
        "check",
        "compact",
        "doctor",
        "index lake --index on-spark --engine spark",
    ],
)
def test_every_command_works(installed: dict[str, str], lake: Path, command: str) -> None:
    done = run(installed, lake, *command.split(), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert "numba" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other platforms have no glibc")
def test_the_tag_names_the_oldest_glibc_that_will_do(installed: dict[str, str]) -> None:
    folder = Path(installed["PYTHONPATH"].split(os.pathsep)[1]).parent
    tag = next(folder.glob("*.whl")).stem.rpartition("-")[2]
    named = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", tag)
    assert named is not None, tag
    library = (folder / "site" / "lakejoin" / "kernels" / "library.abi3.so").read_bytes()
    called = {tuple(map(int, one.split(b"."))) for one in re.findall(rb"GLIBC_([\d.]+)", library)}
    assert tuple(map(int, named.groups())) == max((2, 17), max(called)[:2])


def test_the_package_is_that_of_the_wheel(installed: dict[str, str], lake: Path) -> None:
    script = "import lakejoin, lakejoin.kernels.library as l; print(lakejoin.__file__, l.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=lake, env=installed, capture_output=True, text=True
    )
    site = installed["PYTHONPATH"].split(os.pathsep)[1]
    assert all(path.startswith(site) for path in done.stdout.split()), done


def test_the_server_answers(
    installed: dict[str, str], lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in installed.items():
        monkeypatch.setenv(name, value)
    with serving(lake / ".lakejoin", tmp_path / "store") as served:
        answer = served.post("search", {"table": "lake:towns.csv"})
        assert answer["final"]
        joined = served.post("join", {"left": "lake:towns.csv", "right": "lake:codes.csv"})
        assert joined["rows"]


def test_an_agent_is_answered(installed: dict[str, str], lake: Path) -> None:
    import anyio
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "lakejoin", "mcp"], env=installed, cwd=lake
    )

    async def ask() -> str:
        async with Client(server) as client:
            result = await client.call_tool("search", {"table": "mine.csv"})
            assert not result.is_error, result
            return str(result.content[0].text)

    assert "towns.csv" in anyio.run(ask)
