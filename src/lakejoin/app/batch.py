"""Searches with many tables: which they are, how far it is, what came of each."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakejoin.app.answers import Asked, print_all
from lakejoin.app.build_commands import shown_progress
from lakejoin.app.printing import console, counted
from lakejoin.errors import InputError, LakejoinError, UnreadableFile

if TYPE_CHECKING:
    from rich.console import Console

    from lakejoin.app.spark_batch import Told
    from lakejoin.discovery.fused.answer import FusedAnswer
    from lakejoin.model import Skipped, SourceFile
    from lakejoin.opened import Lake
    from lakejoin.search.answer import Answer, Answers

    Found = Answer | Answers | FusedAnswer | Told

_PAPERS = {"readme", "license", "licence", "copying", "notice", "authors", "changelog", "makefile"}
_NAMED = 5  # files that are passed over by name
# What is called so is meant as a table: where it is none, it is broken.
_TABLES = {
    *(".csv", ".tsv", ".tab", ".psv", ".ssv", ".dat", ".data", ".json", ".jsonl", ".ndjson"),
    *(".geojson", ".parquet", ".arrow", ".feather", ".orc", ".avro", ".xls", ".xlsx", ".xlsm"),
    *(".xlsb", ".ods", ".sqlite", ".sqlite3", ".db"),
}


def run_batch(
    lake: Lake,
    batch: str,
    on: Sequence[str] | None,
    options: Mapping[str, Any],
    index: str | None,
    limit: int,
    as_json: bool,
    many: Callable[..., Iterator[Any]] | None = None,
) -> None:
    """Searches with every table that `batch` names; one that fails does not lose the others.

    Files that are no tables by their kind are passed over, and named. Raises at the end, once all
    is printed, where some failed. `many` answers them elsewhere than in this process.
    """
    from lakejoin.search.answer import Failed

    queries = Queries(batch)
    screen = console()
    searched = 0
    with contextlib.ExitStack() as stack:
        if many is None:
            show = stack.enter_context(_progress(len(queries)))
            answers = lake.search_many(queries, on=on, **options)
        else:
            show = _not_at_all
            listener = stack.enter_context(shown_progress(quiet=False, answers=True))
            answers = many(queries, on=on, listener=listener, **options)
        for found in answers:
            name = queries.answered()
            show(queries.begun)
            if isinstance(found, Failed):
                queries.problems.append((name, found.error))
                continue
            searched += 1
            if as_json:
                for answer in _answers(found):
                    _print_line(answer.to_dict())
            else:
                _print(screen, found, Asked(name, index, len(lake)), limit)
    _tell_passed_over(queries.passed_over)
    for name, problem in queries.problems:
        if as_json:
            _print_line({"query": _asked(name, on), "error": str(problem)})
        else:
            click.echo(f"not searched: {problem}", err=True)
    failed = len(queries.problems)
    if failed:
        raise InputError(
            f"{failed:,} of {counted(searched + failed, 'table')} could not be searched with; "
            "the others were"
        )
    if not searched:
        raise InputError(f"there is no table in {batch}")


def _not_at_all(done: int) -> None:
    """Spark tells by itself how far it is."""


def _answers(found: Found) -> Sequence[Answer | FusedAnswer | Told]:
    from lakejoin.search.answer import Answers

    return found if isinstance(found, Answers) else [found]


def _print(screen: Console, found: Found, asked: Asked, limit: int) -> None:
    from lakejoin.search.answer import Answer, Answers

    if isinstance(found, Answer | Answers):
        print_all(screen, [found] if isinstance(found, Answer) else found, asked, limit)
        return
    from lakejoin.app.spark_batch import Told

    if isinstance(found, Told):
        click.echo(f"{found!r}\n")
        return
    from lakejoin.app.fused_answers import print_fused_short

    print_fused_short(screen, found, asked, limit)


def _asked(table: str, on: Sequence[str] | None) -> dict[str, Any]:
    """What was asked, as far as it is known of a search that failed."""
    columns = list(on or [])
    column = columns[0] if len(columns) == 1 else None
    return {"table": table, "column": column, "columns": columns}


class Queries:
    """The tables of a folder, a glob or a file, or those named in `@FILE`.

    A file is opened when its turn comes: a container gives each of its parts, one that is no table
    by its kind goes to `passed_over`, and one that cannot be opened to `problems`. `begun` files of
    `len(queries)` have been.
    """

    def __init__(self, batch: str) -> None:
        from lakejoin.lake.files import list_files

        self.problems: list[tuple[str, LakejoinError]] = []
        self.passed_over: list[str] = []
        self.begun = 0
        self._batch = batch
        self._waiting: deque[str] = deque()
        unlisted: list[Skipped] = []
        self._listed = _named_in(Path(batch[1:])) if batch.startswith("@") else None
        self._files = [] if self._listed is not None else list_files([batch], unlisted)
        self.problems += [(one.name, InputError(str(one))) for one in unlisted]

    def __len__(self) -> int:
        return len(self._files if self._listed is None else self._listed)

    def __iter__(self) -> Iterator[str]:
        for one in self._files if self._listed is None else self._listed:
            self.begun += 1
            for name in [one] if isinstance(one, str) else self._tables(one):
                self._waiting.append(name)
                yield name

    def answered(self) -> str:
        """The table of the next answer: they come in the order of the queries."""
        return self._waiting.popleft()

    def _tables(self, source: SourceFile) -> Iterator[str]:
        from lakejoin.lake.read import open_tables, readable
        from lakejoin.model import Skipped

        path = _as_given(self._batch, source.uri)
        if _is_paper(source.name):
            self.passed_over.append(source.name)
            return
        try:
            with readable(path):
                for found in open_tables(source):
                    if isinstance(found, Skipped):
                        self._not_opened(found.name, found, InputError(str(found)))
                    else:
                        part = found.name.partition("#")[2]
                        yield f"{path}#{part}" if part else path
        except UnreadableFile as problem:
            self._not_opened(path, Skipped(problem.path, problem.reason), problem)
        except LakejoinError as problem:
            self.problems.append((path, problem))

    def _not_opened(self, path: str, skipped: Skipped, problem: LakejoinError) -> None:
        if _is_stray(skipped):
            self.passed_over.append(skipped.name)
        else:
            self.problems.append((path, problem))


def _is_paper(name: str) -> bool:
    """Whether a file is what comes with a folder of tables; its commas could make it look like one.

    >>> _is_paper("sub/README.txt"), _is_paper("readme.csv"), _is_paper("Licence")
    (True, False, True)
    """
    path = Path(name.lower())
    return path.stem in _PAPERS and path.suffix in ("", ".txt")


def _is_stray(skipped: Skipped) -> bool:
    """Whether a file lies among tables and is not meant as one: a README, a script, an image.

    >>> from lakejoin.model import Skipped
    >>> _is_stray(Skipped("a/LICENSE", "not a table")), _is_stray(Skipped("a.csv", "not a table"))
    (True, False)
    """
    last = skipped.name.rpartition("#")[2].lower()
    return skipped.reason == "not a table" and not _TABLES & set(Path(last).suffixes)


def _tell_passed_over(names: Sequence[str]) -> None:
    if not names:
        return
    what = (
        "1 file that is no table" if len(names) == 1 else f"{len(names):,} files that are no tables"
    )
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    click.echo(f"passed over {what}: {', '.join(names[:_NAMED])}{more}", err=True)


def _as_given(batch: str, uri: str) -> str:
    """A path as the person would write it: from here, where the folder was given so."""
    local = Path(uri).is_absolute() and not Path(batch).expanduser().is_absolute()
    return os.path.relpath(uri) if local and "://" not in batch else uri


def _named_in(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(f"cannot read the list {path}: {problem}") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"the list {path} names no table")
    return names


def _print_line(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, default=str) + "\n")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """How far it is, on standard error, where that is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("searching with"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        TimeElapsedColumn(),
    )
    # Only a standard output that shares the screen goes through the bar: never one into a file.
    shared = sys.stdout.isatty()
    with Progress(*columns, console=screen, transient=True, redirect_stdout=shared) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)
