"""Searches with many tables: which they are, how far it is, what came of each."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakejoin.app.answers import Asked, print_all
from lakejoin.app.printing import console, counted
from lakejoin.errors import InputError, LakejoinError

if TYPE_CHECKING:
    from lakejoin.api import Lake


def run_batch(
    lake: Lake,
    batch: str,
    on: str | None,
    options: Mapping[str, Any],
    index: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Searches with every table that `batch` names; one that fails does not lose the others.

    Raises at the end, once all is printed, where some failed.
    """
    from lakejoin.search.answer import Answer, Failed

    tables, problems = tables_of(batch)
    failed = [_json_of_failure(name, on, problem) for name, problem in problems]
    screen = console()
    with _progress(len(tables)) as step:
        for name, found in zip(tables, lake.search_many(tables, on=on, **options), strict=True):
            step()
            if isinstance(found, Failed):
                failed.append(_json_of_failure(name, on, found.error))
                continue
            answers = [found] if isinstance(found, Answer) else found
            if as_json:
                for answer in answers:
                    _print_line(answer.to_dict())
            else:
                print_all(screen, answers, Asked(name, index, len(lake)), limit)
    for failure in failed:
        if as_json:
            _print_line(failure)
        else:
            click.echo(f"not searched: {failure['error']}", err=True)
    if failed:
        raise InputError(
            f"{len(failed):,} of {counted(len(tables) + len(problems), 'table')} could not be "
            "searched with; the others were"
        )


def tables_of(batch: str) -> tuple[list[str], list[tuple[str, LakejoinError]]]:
    """The tables of a folder, a glob or a file, or those named in `@FILE`; and what has none.

    A container gives each of its parts.
    """
    if batch.startswith("@"):
        return _named_in(Path(batch[1:])), []
    from lakejoin.lake.files import list_files
    from lakejoin.lake.read import open_tables
    from lakejoin.model import Skipped

    tables: list[str] = []
    problems: list[tuple[str, LakejoinError]] = []
    unlisted: list[Skipped] = []
    for source in list_files([batch], unlisted):
        path = _as_given(batch, source.uri)
        try:
            for found in open_tables(source):
                if isinstance(found, Skipped):
                    problems.append((found.name, InputError(str(found))))
                else:
                    part = found.name.partition("#")[2]
                    tables.append(f"{path}#{part}" if part else path)
        except LakejoinError as problem:
            problems.append((path, problem))
    problems += [(one.name, InputError(str(one))) for one in unlisted]
    if not tables and not problems:
        raise InputError(f"there is no table in {batch}")
    return tables, problems


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


def _json_of_failure(name: str, on: str | None, problem: LakejoinError) -> dict[str, Any]:
    return {"query": {"table": name, "column": on}, "error": str(problem)}


def _print_line(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, default=str) + "\n")


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """How far it is, on standard error, where that is a terminal."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("searching with"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tables"),
        TimeElapsedColumn(),
    )
    # Only a standard output that shares the screen goes through the bar: never one into a file.
    shared = sys.stdout.isatty()
    with Progress(*columns, console=screen, transient=True, redirect_stdout=shared) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)
