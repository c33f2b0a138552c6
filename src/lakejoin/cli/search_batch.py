"""Search with many tables, here or on Spark: list them, show progress, and print each answer or
failure."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from lakejoin.cli.build_commands import show_progress
from lakejoin.cli.engine_output import TypedQuery, print_answers
from lakejoin.cli.options import RESULTS_PER_ANSWER, SearchRun, parse_settings
from lakejoin.cli.terminal import console, count_files
from lakejoin.errors import InputError, LakejoinError, UnreadableFile
from lakejoin.lake import Lake
from lakejoin.model import Skipped, SourceFile
from lakejoin.search.answer import Answer, Answers, Failed
from lakejoin.search.options import SearchOptions

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.pipeline.task_progress import Listener
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.spark.task_runner import Cluster

    BatchAnswer: TypeAlias = "Answer | Answers | FusedAnswer | WorkerAnswer"


_DOCUMENTS = {
    *("readme", "license", "licence", "copying", "notice", "authors", "changelog", "makefile"),
}
_SKIPPED_SHOWN = 5
# A file with one of these extensions is meant to be a table: if it cannot be read, it is broken.
_TABLE_EXTENSIONS = {
    *(".csv", ".tsv", ".tab", ".psv", ".ssv", ".dat", ".data", ".json", ".jsonl", ".ndjson"),
    *(".geojson", ".parquet", ".arrow", ".feather", ".orc", ".avro", ".xls", ".xlsx", ".xlsm"),
    *(".xlsb", ".ods", ".sqlite", ".sqlite3", ".db"),
}


def run_batch(lake: Lake, run: SearchRun, options: SearchOptions) -> None:
    """Search with every table that --batch names, here or on a cluster; a failure does not affect
    the others.

    Files that are not meant to be tables are skipped and listed. If any search failed, raises once
    everything is printed.
    """
    batch, on, as_json = str(run.batch), run.on or None, run.as_json
    limit = run.k or RESULTS_PER_ANSWER
    queries = BatchQueries(batch)
    screen = console()
    searched = 0
    with contextlib.ExitStack() as stack:
        answers: Iterator[Any]
        if run.master is None and not run.conf:
            show = stack.enter_context(_progress(len(queries)))
            answers = lake.search_many(queries, on, lake.search_with, options=options)
        else:
            from lakejoin.spark.task_runner import Cluster

            show = _show_nothing
            cluster = Cluster(None, run.master, parse_settings(run.conf))
            listener = stack.enter_context(show_progress(quiet=False, answers=True))
            answers = _search_on_spark(lake, cluster, queries, on, options, listener)
        for answer in answers:
            name = queries.answered()
            show(queries.begun)
            if isinstance(answer, Failed):
                queries.problems.append((name, answer.error))
                continue
            searched += 1
            if as_json:
                for document in _answers(answer):
                    _print_json_line(document.to_dict())
            else:
                _print(screen, answer, TypedQuery(name, run.index, len(lake)), limit)
    _print_skipped_files(queries.skipped)
    for name, problem in queries.problems:
        if as_json:
            _print_json_line({"query": _failed_query(name, on), "error": str(problem)})
        else:
            click.echo(f"failed: {problem}", err=True)
    failed = len(queries.problems)
    if failed:
        raise InputError(f"{failed:,} of {searched + failed:,} searches failed; the rest succeeded")
    if not searched:
        raise InputError(f"no tables found in {batch}")


def _show_nothing(done: int) -> None:
    """No progress: on Spark, which shows its own, and where there is no terminal."""


def _answers(answer: BatchAnswer) -> Sequence[Answer | FusedAnswer | WorkerAnswer]:
    return answer if isinstance(answer, Answers) else [answer]


def _print(screen: Console, answer: BatchAnswer, typed: TypedQuery, limit: int) -> None:
    if isinstance(answer, Answer | Answers):
        print_answers(screen, [answer] if isinstance(answer, Answer) else answer, typed, limit)
        return
    if isinstance(answer, WorkerAnswer):
        click.echo(f"{answer!r}\n")
        return
    from lakejoin.cli.fused_output import print_brief_fused_answer

    print_brief_fused_answer(screen, answer, typed, limit)


def _failed_query(table: str, on: Sequence[str] | None) -> dict[str, Any]:
    """What is known of the query of a failed search."""
    columns = list(on or [])
    column = columns[0] if len(columns) == 1 else None
    return {"table": table, "column": column, "columns": columns}


class BatchQueries:
    """The tables of a folder, a glob or a file, or those listed in `@FILE`.

    Files are opened as the iteration proceeds: a container yields each of its parts, a file that is
    not meant to be a table goes to `skipped`, and one that cannot be read to `problems`. `begun` of
    the `len(queries)` files have been opened.
    """

    def __init__(self, batch: str) -> None:
        from lakejoin.sources.lake_tables import list_single_files

        self.problems: list[tuple[str, LakejoinError]] = []
        self.skipped: list[str] = []
        self.begun = 0
        self._batch = batch
        self._waiting: deque[str] = deque()
        unlisted: list[Skipped] = []
        self._listed = _names_in(Path(batch[1:])) if batch.startswith("@") else None
        self._files = (
            []
            if self._listed is not None
            else list_single_files([batch], unlisted, follow_links=True)
        )
        self.problems += [(file.name, InputError(str(file))) for file in unlisted]

    def __len__(self) -> int:
        return len(self._files if self._listed is None else self._listed)

    def __iter__(self) -> Iterator[str]:
        for source in self._files if self._listed is None else self._listed:
            self.begun += 1
            for name in [source] if isinstance(source, str) else self._tables(source):
                self._waiting.append(name)
                yield name

    def answered(self) -> str:
        """The table of the next answer; answers come in the order of the queries."""
        return self._waiting.popleft()

    def _tables(self, source: SourceFile) -> Iterator[str]:
        from lakejoin.formats.file_reader import open_tables, wrap_reader_errors

        path = _shown_path(self._batch, source.uri)
        if _is_document(source.name):
            self.skipped.append(source.name)
            return
        try:
            with wrap_reader_errors(path):
                for table in open_tables(source):
                    if isinstance(table, Skipped):
                        self._not_opened(table.name, table, InputError(str(table)))
                    else:
                        part = table.name.partition("#")[2]
                        yield f"{path}#{part}" if part else path
        except UnreadableFile as problem:
            self._not_opened(path, Skipped(problem.path, problem.reason), problem)
        except LakejoinError as problem:
            self.problems.append((path, problem))

    def _not_opened(self, path: str, skipped: Skipped, problem: LakejoinError) -> None:
        if _is_stray(skipped):
            self.skipped.append(skipped.name)
        else:
            self.problems.append((path, problem))


def _is_document(name: str) -> bool:
    """Whether a file documents a folder of tables; its commas could make it look like a table.

    >>> _is_document("sub/README.txt"), _is_document("readme.csv"), _is_document("Licence")
    (True, False, True)
    """
    path = Path(name.lower())
    return path.stem in _DOCUMENTS and path.suffix in ("", ".txt")


def _is_stray(skipped: Skipped) -> bool:
    """Whether a file was never meant to be a table: a README, a script, an image.

    >>> _is_stray(Skipped("a/LICENSE", "not a table")), _is_stray(Skipped("a.csv", "not a table"))
    (True, False)
    """
    last = skipped.name.rpartition("#")[2].lower()
    return skipped.reason == "not a table" and not _TABLE_EXTENSIONS & set(Path(last).suffixes)


def _print_skipped_files(names: Sequence[str]) -> None:
    if not names:
        return
    what = "1 file that is not a table" if len(names) == 1 else f"{len(names):,} non-table files"
    more = f" and {len(names) - _SKIPPED_SHOWN:,} more" if len(names) > _SKIPPED_SHOWN else ""
    click.echo(f"skipped {what}: {', '.join(names[:_SKIPPED_SHOWN])}{more}", err=True)


def _shown_path(batch: str, uri: str) -> str:
    """A path as the person would write it: relative if the folder was named by a relative path."""
    local = Path(uri).is_absolute() and not Path(batch).expanduser().is_absolute()
    return os.path.relpath(uri) if local and "://" not in batch else uri


def _names_in(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"cannot read the list {path}: {problem}") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"the list {path} is empty: write one table per line")
    return names


def _print_json_line(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, default=str) + "\n")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error, if it is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield _show_nothing
        return
    # Redirect standard output through the bar only if it is on the same screen, never a file.
    with count_files(screen, "searching with", redirect_stdout=sys.stdout.isatty()) as show:
        yield lambda done: show(done, total)


@dataclass(frozen=True, eq=False, repr=False)
class WorkerAnswer:
    """A fused answer that a worker sent: as JSON, and as text."""

    document: dict[str, Any]
    text: str

    def to_dict(self) -> dict[str, Any]:
        return self.document

    def __repr__(self) -> str:
        return self.text


def _search_on_spark(
    lake: Lake,
    cluster: Cluster,
    queries: Iterable[str],
    on: Sequence[str] | None,
    options: SearchOptions,
    listener: Listener,
) -> Iterator[Answer | Answers | Failed | WorkerAnswer]:
    """What `lake.search_many` does, on a cluster."""
    from lakejoin.pipeline.search_batches import check_batch_options
    from lakejoin.spark.batch_search import search_batch

    check_batch_options(lake.snapshot, options)
    requests = ((name, on, options) for name in queries)
    with cluster.open(listener) as spark:
        for done in search_batch(spark, lake.snapshot, requests, None, listener):
            if done.error is not None:
                yield Failed("", on, done.error)  # `BatchQueries` knows the name
            else:
                yield WorkerAnswer(*done.fused) if done.fused else Answers(done.answers)
