"""The commands `index` and `compact`, and the progress they show."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from lakejoin import api
from lakejoin.cli.options import EngineRun, engine_options, index_option, json_option
from lakejoin.cli.terminal import console, print_json
from lakejoin.errors import InputError
from lakejoin.inputs import index_location
from lakejoin.quoting import lakejoin_command
from lakejoin.store.index_records import PERMUTATIONS
from lakejoin.text_format import counted, seconds, size

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.pipeline.build import BuildReport
    from lakejoin.pipeline.options import BuildOptions
    from lakejoin.pipeline.task_progress import Listener, Progress

_SKIPPED_LINES = 12


@click.command("index")
@click.argument("lake", nargs=-1)
@index_option
@engine_options
@click.option("--full", is_flag=True, help="Read all files again and replace the index.")
@click.option("--strict", is_flag=True, help="Fail if any file has to be skipped.")
@click.option("--allow-removal", is_flag=True, help="Remove tables even if most are gone.")
@click.option("--follow-links", is_flag=True, help="Follow links that lead outside the lake.")
@click.option("--as-of", metavar="TIME", help="Read Delta and Iceberg tables as of TIME.")
@click.option("--tables", multiple=True, metavar="GLOB", help="Index tables of the Spark catalog.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out files, for good.")
@click.option(
    "--values",
    type=click.Choice(["folded", "exact"]),
    help="Ignore how values are written, or not.",
)
@click.option(
    "--all-columns/--key-columns",
    default=None,
    help="Index decimals and booleans too, or not.",
)
@click.option(
    "--permutations",
    type=int,
    metavar="N",
    help=f"Length of a signature.  [default: {PERMUTATIONS}]",
)
@click.option(
    "--super-keys",
    type=click.Choice(["128", "256", "512"]),
    help="Bits of a row's super key.  [default: 128]",
)
@click.option(
    "--with",
    "parts",
    multiple=True,
    type=click.Choice(["meaning", "distance", "none"]),
    help="Prepare `similar` (meaning) or `nearby` (distance).  [default: both if small]",
)
@click.option(
    "--encoder",
    metavar="NAME|PATH",
    help="default, small, characters, or a path.",
)
@click.option(
    "--keep-vectors/--drop-vectors",
    default=None,
    help="Store full vectors, or recompute them.",
)
@click.option(
    "--wait",
    default=0.0,
    metavar="SECONDS",
    help="How long to wait for another build to end.",
)
@json_option
def index_command(
    lake: tuple[str, ...],
    index: str | None,
    run: EngineRun,
    full: bool,
    strict: bool,
    allow_removal: bool,
    follow_links: bool,
    as_of: str | None,
    tables: tuple[str, ...],
    exclude: tuple[str, ...],
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
    """Build or refresh the index of LAKE: files, folders, globs or URIs.

    A refresh reads only new and changed files, drops deleted ones, and keeps the options of the
    index. Without LAKE, it refreshes its own lake. docs/cli.md has the details.

    \b
    Examples:
      lakejoin index data/
      lakejoin index s3://bucket/lake --master spark://host:7077
      lakejoin index                     refresh the existing index
      lakejoin index 'postgresql://reader@host/shop?schema=sales'
      lakejoin index --tables 'sales.*'  index tables of the Spark catalog
    """
    from lakejoin.pipeline.options import BuildOptions

    options = BuildOptions(
        full=full,
        strict=strict,
        allow_removal=allow_removal,
        follow_links=follow_links,
        as_of=_moment(as_of),
        exclude=exclude or None,
        tables=tables,
        fold=None if values is None else values == "folded",
        all_columns=all_columns,
        permutations=permutations,
        super_key_bits=None if super_keys is None else int(super_keys),
        parts=_parts(parts),
        encoder=encoder,
        keep_vectors=keep_vectors,
        wait=wait,
    )
    report = run_build(lake, index, run, options, quiet=as_json)
    if as_json:
        print_json(asdict(report))
    else:
        _print_report(report, index_location(index).uri)


def _moment(text: str | None) -> datetime | None:
    """A date or time as ISO writes it, in UTC unless it names another zone."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"--as-of {text!r} is not a time: write 2024-01-31 or 2024-01-31T18:30"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parts(named: tuple[str, ...]) -> tuple[str, ...] | None:
    if "none" not in named:
        return named or None
    if len(set(named)) > 1:
        raise InputError("--with none removes both parts: do not combine it with another --with")
    return ()


def run_build(
    lake: Sequence[str],
    index: str | None,
    run: EngineRun,
    options: BuildOptions,
    quiet: bool,
) -> BuildReport:
    """Build an index and show progress on standard error, unless `quiet`."""
    with show_progress(quiet) as listener:
        return api.index(
            lake, index, run.cluster, options=replace(options, engine=run.engine), listener=listener
        )


@click.command("compact")
@index_option
@engine_options
@click.option("--wait", default=0.0, metavar="SECONDS", help="As for `lakejoin index`.")
@json_option
def compact_command(index: str | None, run: EngineRun, wait: float, as_json: bool) -> None:
    """Merge small segments and drop deleted tables.

    Refreshes leave small segments behind; fewer, larger segments are searched faster. The files of
    the lake are not read.
    """
    from lakejoin.pipeline.compaction import compact_index

    with show_progress(quiet=as_json) as listener:
        report = compact_index(index_location(index), run.start, listener, wait)
    if as_json:
        print_json(asdict(report))
    elif report.merged == 0:
        click.echo("nothing to compact")
    else:
        click.echo(
            f"merged {counted(report.merged, 'segment')} into {report.made}; the index now has "
            f"{counted(report.segments, 'segment')}: {size(report.bytes_after)}, was "
            f"{size(report.bytes_before)}"
        )


@contextlib.contextmanager
def show_progress(quiet: bool, answers: bool = False) -> Iterator[Listener]:
    """Show the progress of a build: live on a terminal, otherwise one line per stage. If `answers`
    are printed meanwhile, standard output goes through the bar only if it is on the same screen."""
    with _own_screen() as screen:
        if quiet or not screen.is_terminal:
            yield (lambda progress: None) if quiet else _print_stages(screen)
            return
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        with Bar(
            TextColumn("{task.description:<22}"),
            BarColumn(),
            TextColumn("{task.fields[details]}"),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            redirect_stdout=sys.stdout.isatty() or not answers,
        ) as bar:
            task = bar.add_task("", total=None, details="")

            def show(progress: Progress) -> None:
                bar.update(
                    task,
                    description=progress.stage,
                    total=progress.total or None,
                    completed=progress.done,
                    details=_details(progress),
                )

            yield show


@contextlib.contextmanager
def _own_screen() -> Iterator[Console]:
    """Keep standard error for ourselves: output of the JVM and its workers is discarded.

    They inherit the file descriptor, so the descriptor itself is redirected. LAKEJOIN_DEBUG=1
    leaves it unchanged.
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


def _print_stages(screen: Console) -> Listener:
    """Print one line per stage: for logs."""
    shown = ""

    def show(progress: Progress) -> None:
        nonlocal shown
        if progress.stage != shown:
            shown = progress.stage
            files = progress.total and progress.unit == "files"
            count = f" ({counted(progress.total, 'file')})" if files else ""
            screen.print(f"{progress.stage}{count} …")
            screen.file.flush()

    return show


def _details(progress: Progress) -> str:
    if not progress.total:
        return ""
    parts = [f"{progress.done:,} of {progress.total:,} {progress.unit}"]
    if progress.seconds > 0 and progress.cells:
        parts.append(f"{progress.cells / progress.seconds:,.0f} cells/s")
    if progress.skipped:
        parts.append(f"{progress.skipped:,} skipped")
    return ", ".join(parts)


def _print_report(report: BuildReport, index: str) -> None:
    totals = report.totals
    if not (report.new or report.changed or report.gone):
        click.echo(f"up to date: {counted(report.unchanged, 'file')} unchanged")
    else:
        parts = [(report.new, "new"), (report.changed, "changed"), (report.gone, "deleted")]
        counts = [f"{count:,} {word}" for count, word in parts if count]
        click.echo(f"files: {', '.join(counts)}, {report.unchanged:,} unchanged")
    about = "" if totals.values_exact else "about "
    click.echo(
        f"index: {counted(totals.tables, 'table')}, {counted(totals.columns, 'column')}, "
        f"{counted(totals.rows, 'row')}, {counted(totals.cells, 'cell')}, "
        f"{about}{counted(totals.values, 'distinct value')}, {size(totals.bytes)} "
        f"in {counted(report.segments, 'segment')}"
    )
    took = report.seconds
    speed = ""
    if report.engine == "spark":
        speed = f" ({seconds(took.get('start', 0))} to start Spark)"
    click.echo(f"time:  {seconds(took['total'])}{speed}")
    for note in report.notes:
        click.echo(f"note:  {note}")
    _print_skipped(report, index)


def _print_skipped(report: BuildReport, index: str) -> None:
    if not report.skipped:
        return
    reasons = Counter(s.reason for s in report.skipped)
    counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    click.echo(f"skipped: {counts}")
    for skipped in report.skipped[:_SKIPPED_LINES]:
        click.echo(f"  {skipped}")
    if len(report.skipped) > _SKIPPED_LINES:
        more = len(report.skipped) - _SKIPPED_LINES
        command = lakejoin_command("skipped", index)
        click.echo(f"  … and {more:,} more; list them with: {command}")
