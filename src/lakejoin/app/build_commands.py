"""Commands that build: index and compact. They run on Spark."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from lakejoin import api
from lakejoin.app.cluster import cluster_options, settings_of
from lakejoin.app.lake_commands import index_option, json_option
from lakejoin.app.printing import console, counted, print_json, seconds, size
from lakejoin.errors import InputError
from lakejoin.opened import index_place
from lakejoin.store.sketches import PERMUTATIONS

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.spark.build import BuildReport
    from lakejoin.spark.options import BuildOptions
    from lakejoin.spark.tasks import Listener, Progress

Command = Callable[..., Any]

_SHOWN = 12


@click.command("index")
@click.argument("lake", nargs=-1)
@index_option
@cluster_options
@click.option("--full", is_flag=True, help="Read everything again and replace the index.")
@click.option("--strict", is_flag=True, help="Fail, and change nothing, if a file is skipped.")
@click.option(
    "--values",
    type=click.Choice(["folded", "exact"]),
    help="folded: case, blanks and number formats do not matter (the default); exact: they do.",
)
@click.option(
    "--all-columns/--key-columns",
    default=None,
    help="Search decimals and booleans too (they make accidental joins), or not (the default).",
)
@click.option(
    "--permutations",
    type=int,
    metavar="N",
    help="How long the signatures are that `search --by containment` looks up: a power of two from "
    "16 to 256. Twice as long takes twice the room (256: about 2 kB a column) and finds columns "
    "twice as large beside a small one. An index keeps its own; --full changes it.  [default: "
    f"{PERMUTATIONS} for a new index]",
)
@click.option(
    "--super-keys",
    type=click.Choice(["128", "256", "512"]),
    help="How many bits of every row a search on two columns or more looks at before it reads the "
    "row. More bits let fewer wrong rows through and take more room (128: 16 bytes a row); never "
    "is a right row lost. Changed without reading the lake again.  [default: the index's own; 128 "
    "for a new one]",
)
@click.option(
    "--with",
    "parts",
    multiple=True,
    type=click.Choice(["meaning", "distance", "none"]),
    help="Add what a search by meaning needs (a vector of every distinct text, about 80 bytes), or "
    "a search by distance (numbers and coordinates); may be given twice. none: take both out. "
    "Added to any index without reading the lake again, and kept by every refresh.  [default: the "
    "index's own; both for a new index of at most 512 MB of files]",
)
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="What makes the vectors: default, small or characters, or the path of word vectors "
    "(fastText, GloVe, word2vec) or of a model (sentence-transformers, ONNX). Another one than "
    "the index has makes all vectors anew.  [default: the index's own; default for a new one]",
)
@click.option(
    "--keep-vectors/--drop-vectors",
    default=None,
    help="Keep full vectors beside their short forms, or compute them again from the texts when a "
    "search needs them. Kept ones take 4 bytes a number (default: 1 kB a text).  [default: the "
    "index's own; kept only where the encoder is a model]",
)
@click.option(
    "--wait",
    default=0.0,
    metavar="SECONDS",
    help="How long to wait if another process is building this index.  [default: not at all]",
)
@json_option
def index_command(
    lake: tuple[str, ...],
    index: str | None,
    master: str | None,
    conf: tuple[str, ...],
    full: bool,
    strict: bool,
    values: str | None,
    all_columns: bool | None,
    permutations: int | None,
    super_keys: str | None,
    parts: tuple[str, ...],
    encoder: str | None,
    keep_vectors: bool | None,
    wait: float,
    as_json: bool,
) -> None:
    """Builds or refreshes the index of LAKE: files, folders, globs or URIs.

    Run again, it reads only what is new or changed and drops what has gone; without LAKE, for the
    lake that the index was made from. A file that cannot be read is skipped and said so; see
    `lakejoin skipped`.

    \b
    Examples:
      lakejoin index data/
      lakejoin index 'exports/**/*.csv' warehouse/ --index warehouse.index
      lakejoin index s3://bucket/lake --master spark://host:7077
      lakejoin index                     refresh what is there
      lakejoin index --full --permutations 256
      lakejoin index --with meaning      add vectors of all texts to what is there
      lakejoin index --encoder glove.6B.100d.txt

    \b
    JSON keys: version, new, changed, gone, unchanged, segments, totals{tables, columns, rows,
    cells, values, values_exact, bytes}, skipped[] with name, reason, detail, seconds{list,
    encoder, start, tasks, commit, costs, total, read, build}, notes[]
    """
    from lakejoin.spark.options import BuildOptions

    options = BuildOptions(
        full=full,
        strict=strict,
        fold=None if values is None else values == "folded",
        all_columns=all_columns,
        permutations=permutations,
        super_key_bits=None if super_keys is None else int(super_keys),
        parts=_parts(parts),
        encoder=encoder,
        keep_vectors=keep_vectors,
        wait=wait,
    )
    report = run_build(lake, index, master, settings_of(conf), options, quiet=as_json)
    if as_json:
        print_json(asdict(report))
    else:
        _print_report(report)


def _parts(named: tuple[str, ...]) -> tuple[str, ...] | None:
    if "none" not in named:
        return named or None
    if len(set(named)) > 1:
        raise InputError("--with none takes both parts out: give it alone")
    return ()


def run_build(
    lake: Sequence[str],
    index: str | None,
    master: str | None,
    conf: Mapping[str, str],
    options: BuildOptions,
    quiet: bool,
) -> BuildReport:
    """Builds an index and shows on standard error how far it is, unless `quiet`."""
    with shown_progress(quiet) as listener:
        return api.index(lake, index, master=master, conf=conf, options=options, listener=listener)


@click.command("compact")
@index_option
@cluster_options
@click.option("--wait", default=0.0, metavar="SECONDS", help="As for index.")
@json_option
def compact_command(
    index: str | None, master: str | None, conf: tuple[str, ...], wait: float, as_json: bool
) -> None:
    """Merges small segments and drops the tables that have gone.

    Many refreshes leave many small segments; fewer, larger ones are searched faster. The lake's
    files are not read.

    \b
    JSON keys: version, merged, made, segments, bytes_before, bytes_after
    """
    from lakejoin.spark.build import Cluster
    from lakejoin.spark.compact import compact_index

    with shown_progress(quiet=as_json) as listener:
        report = compact_index(
            index_place(index), Cluster(None, master, settings_of(conf)), listener, wait
        )
    if as_json:
        print_json(asdict(report))
    elif report.merged == 0:
        click.echo("nothing to compact")
    else:
        click.echo(
            f"merged {counted(report.merged, 'segment')} into {report.made}; {report.segments} in "
            "all, "
            f"{size(report.bytes_before)} became {size(report.bytes_after)}"
        )


@contextlib.contextmanager
def shown_progress(quiet: bool, answers: bool = False) -> Iterator[Listener]:
    """Shows how far the build is: live on a terminal, a line a stage elsewhere. Where `answers` are
    printed meanwhile, only a standard output that shares the screen goes through the bar."""
    with _own_screen() as screen:
        if quiet or not screen.is_terminal:
            yield _Lines(screen, quiet)
            return
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        with Bar(
            TextColumn("{task.description:<22}"),
            BarColumn(),
            TextColumn("{task.fields[what]}"),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            redirect_stdout=sys.stdout.isatty() or not answers,
        ) as bar:
            task = bar.add_task("", total=None, what="")

            def show(progress: Progress) -> None:
                bar.update(
                    task,
                    description=progress.stage,
                    total=progress.total or None,
                    completed=progress.files,
                    what=_what(progress),
                )

            yield show


@contextlib.contextmanager
def _own_screen() -> Iterator[Console]:
    """Standard error for ourselves alone: what the JVM and its workers say goes to nowhere.

    They inherit the descriptor, so it is the descriptor that is turned away; LAKEJOIN_DEBUG=1
    leaves it as it is.
    """
    if os.environ.get("LAKEJOIN_DEBUG"):
        yield console(stderr=True)
        return
    sys.stderr.flush()
    ours = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        with os.fdopen(os.dup(ours), "w") as file:
            yield console(file=file)
    finally:
        os.dup2(ours, 2)
        os.close(ours)


class _Lines:
    """Tells each new stage in a line: for logs."""

    def __init__(self, screen: Console, quiet: bool) -> None:
        self._screen = screen
        self._quiet = quiet
        self._stage = ""

    def __call__(self, progress: Progress) -> None:
        if progress.stage != self._stage and not self._quiet:
            self._stage = progress.stage
            files = progress.total and progress.unit == "files"
            count = f" ({counted(progress.total, 'file')})" if files else ""
            self._screen.print(f"{progress.stage}{count} …")
            self._screen.file.flush()


def _what(progress: Progress) -> str:
    if not progress.total:
        return ""
    parts = [f"{progress.files:,} of {progress.total:,} {progress.unit}"]
    if progress.seconds > 0 and progress.cells:
        parts.append(f"{progress.cells / progress.seconds:,.0f} cells/s")
    if progress.skipped:
        parts.append(f"{progress.skipped:,} skipped")
    return ", ".join(parts)


def _print_report(report: BuildReport) -> None:
    totals = report.totals
    if not (report.new or report.changed or report.gone):
        click.echo(f"up to date: {counted(report.unchanged, 'file')} unchanged")
    else:
        parts = [(report.new, "new"), (report.changed, "changed"), (report.gone, "gone")]
        said = [f"{count:,} {word}" for count, word in parts if count]
        click.echo(f"files: {', '.join(said)}, {report.unchanged:,} unchanged")
    about = "" if totals.values_exact else "about "
    click.echo(
        f"index: {counted(totals.tables, 'table')}, {counted(totals.columns, 'column')}, "
        f"{counted(totals.rows, 'row')}, {counted(totals.cells, 'cell')}, "
        f"{about}{counted(totals.values, 'distinct value')}, {size(totals.bytes)} "
        f"in {counted(report.segments, 'segment')}"
    )
    took = report.seconds
    speed = ""
    if took.get("tasks") and report.new:
        speed = f" ({seconds(took.get('start', 0))} to start Spark)"
    click.echo(f"time:  {seconds(took['total'])}{speed}")
    for note in report.notes:
        click.echo(f"note:  {note}")
    _print_skipped(report)


def _print_skipped(report: BuildReport) -> None:
    if not report.skipped:
        return
    reasons = Counter(s.reason for s in report.skipped)
    said = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    click.echo(f"skipped: {said}")
    for skipped in report.skipped[:_SHOWN]:
        click.echo(f"  {skipped}")
    if len(report.skipped) > _SHOWN:
        click.echo(f"  … and {len(report.skipped) - _SHOWN:,} more: lakejoin skipped")
