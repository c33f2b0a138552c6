"""The commands that read an index: info, tables, columns, show, skipped, check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from lakejoin import api
from lakejoin.cli.options import index_json_options
from lakejoin.cli.terminal import print_json, print_table
from lakejoin.errors import DamagedIndex
from lakejoin.inputs import LakeTable
from lakejoin.model import DeclaredKeys
from lakejoin.quoting import lakejoin_command
from lakejoin.text_format import clip, counted, size

_LINE_ENDS = {"\n": "LF line ends", "\r\n": "CRLF line ends", "\r": "CR line ends"}
_NOTES_SHOWN = 8
_MEMBERS_SHOWN = 6
_SENTENCE = 200


@click.command("info")
@index_json_options
def info_command(index: str | None, as_json: bool) -> None:
    """Show what is in the index: tables, columns, rows, values, size."""
    info = api.open(index).info()
    if as_json:
        print_json(info)
        return
    about = "" if info["values_exact"] else "about "
    lines = {
        "lake": ", ".join(info["lakes"]),
        "index": info["index"],
        "tables": f"{info['tables']:,}",
        "columns": f"{info['columns']:,}",
        "rows": f"{info['rows']:,}",
        "cells": f"{info['cells']:,}",
        "distinct values": f"{about}{info['values']:,}",
        "size": f"{size(info['bytes'])} in {counted(info['segments'], 'segment')}",
        "version": f"{info['version']}, built {info['created']}",
        "search by": _search_kinds(info),
    }
    for name, value in lines.items():
        click.echo(f"{name:>16}  {value}")


def _search_kinds(info: dict[str, Any]) -> str:
    """The kinds of search that the index supports, with the encoder of its vectors."""
    parts = list(info["parts"])
    if info["encoder"]:
        encoder = info["encoder"]["given"] or info["encoder"]["identity"].partition(" {")[0]
        kept = ", full vectors stored" if info["encoder"]["kept"] else ""
        parts[parts.index("meaning")] = f"meaning (encoder {encoder}{kept})"
    missing = [f"--with {part}" for part in ("meaning", "distance") if part not in info["parts"]]
    command = lakejoin_command(f"index {' '.join(missing)}", info["index"])
    more = f"; add more with: {command}" if missing else ""
    return ", ".join(["values", *parts]) + more


@click.command("tables")
@click.argument("pattern", required=False)
@index_json_options
def tables_command(pattern: str | None, index: str | None, as_json: bool) -> None:
    """List the tables in the lake; with PATTERN, only those that match.

    PATTERN is a glob such as '*airport*', or a part of the name.
    """
    found = api.open(index).tables(pattern)
    if as_json:
        rows = [
            {"table": t.name, "rows": t.rows, "columns": t.entry.width, "files": _count_files(t)}
            for t in found
        ]
        print_json({"tables": rows})
        return
    if not found:
        click.echo(f"no table matches {pattern!r}" if pattern else "the index has no tables")
        return
    heads = ["table", "rows", "columns"]
    lines = [[t.name, f"{t.rows:,}", t.entry.width] for t in found]
    if any(t.entry.composition is not None for t in found):
        heads.append("made of")
        for line, table in zip(lines, found, strict=True):
            line.append(str(table.entry.composition or "1 file"))
    print_table(heads, lines, right=["rows", "columns"])
    click.echo(f"\n{counted(len(found), 'table')}")


def _count_files(table: LakeTable) -> int:
    composition = table.entry.composition
    return 1 if composition is None else composition.files


@click.command("columns")
@click.argument("table")
@index_json_options
def columns_command(table: str, index: str | None, as_json: bool) -> None:
    """List the columns of TABLE: type, distinct values, nulls, uniqueness, examples.

    Also shows how the file was read: its dialect, what was dropped, and which columns were renamed.
    """
    found = api.open(index).table(table)
    if as_json:
        print_json(found.to_dict())
        return
    _print_reading(found)
    heads = ["column", "type", "distinct", "nulls", "unique", "key", "indexed", "examples"]
    rows = []
    for column in found.columns():
        profile = column.profile
        kind = f"{profile.type} {profile.date_format}".rstrip()
        rows.append(
            [
                column.name,
                kind,
                f"{profile.distinct:,}",
                f"{profile.nulls:,}",
                f"{profile.uniqueness:.0%}",
                f"{profile.key_likeness:.2f}",
                "yes" if column.indexed else "no",
                ", ".join(clip(e, 24) for e in profile.examples[:4]),
            ]
        )
    print_table(heads, rows, right=["distinct", "nulls", "unique", "key"])


def _print_keys(declared: DeclaredKeys) -> None:
    if declared.primary:
        click.echo(f"primary key: {', '.join(declared.primary)}")
    for key in declared.foreign:
        to = f"{key.table} ({', '.join(key.key_columns)})"
        click.echo(f"foreign key: {', '.join(key.columns)} -> {to}")


def _print_reading(table: LakeTable) -> None:
    entry = table.entry
    shape = f"{counted(entry.rows, 'row')}, {counted(entry.width, 'column')}"
    click.echo(f"{entry.name}: {shape}, {entry.format}")
    if entry.composition is not None:
        click.echo(f"made of {entry.composition}")
        _print_members(entry.composition.members)
    if entry.declared is not None:
        _print_keys(entry.declared)
    dialect = entry.dialect
    if dialect is not None:
        parts = [f"delimiter {dialect.delimiter!r}", f"quote {dialect.quote!r}"]
        parts += [f"escape {dialect.escape!r}"] if dialect.escape else []
        parts += [_LINE_ENDS.get(dialect.newline, f"line ends {dialect.newline!r}")]
        parts += [dialect.encoding, "header" if dialect.header else "no header"]
        parts += [f"{dialect.skip_rows} lines before the table"] if dialect.skip_rows else []
        parts += [f"{dialect.skip_footer} lines after the data"] if dialect.skip_footer else []
        click.echo(f"read with {', '.join(parts)} (confidence {dialect.confidence:.2f})")
        if dialect.confidence < 1 and dialect.opinions:
            click.echo(f"detectors: {'; '.join(clip(o, _SENTENCE) for o in dialect.opinions)}")
    for loss in entry.losses:
        click.echo(f"dropped: {loss.reason}, {loss.count:,} times. {loss.detail}".rstrip())
    for note in entry.notes[:_NOTES_SHOWN]:
        click.echo(f"note: {clip(note, _SENTENCE)}")
    if len(entry.notes) > _NOTES_SHOWN:
        more = counted(len(entry.notes) - _NOTES_SHOWN, "more note")
        click.echo(f"… and {more}; --json shows all")
    click.echo()


def _print_members(members: Sequence[str]) -> None:
    if len(members) > _MEMBERS_SHOWN:
        click.echo(f"its files: {', '.join(members[: _MEMBERS_SHOWN - 1])}, … {members[-1]}")
    elif members:
        click.echo(f"its files: {', '.join(members)}")


@click.command("show")
@click.argument("table")
@click.option("-n", "--rows", "limit", default=10, show_default=True, help="How many rows to show.")
@index_json_options
def show_command(table: str, limit: int, index: str | None, as_json: bool) -> None:
    """Show the first rows of TABLE, rebuilt from the index."""
    found = api.open(index).table(table)
    data = found.to_arrow(0, max(0, limit))
    columns = [c.to_pylist() for c in data.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    if as_json:
        body = {"table": found.name, "columns": data.column_names, "rows": rows}
        print_json({**body, "total": found.rows})
        return
    print_table(data.column_names, ([clip(cell) for cell in row] for row in rows), least=12)
    click.echo(f"\n{len(rows):,} of {found.rows:,} rows")


@click.command("skipped")
@index_json_options
def skipped_command(index: str | None, as_json: bool) -> None:
    """List the files, and parts of files, that were skipped, and why."""
    found = api.open(index).skipped()
    if as_json:
        print_json({"skipped": [asdict(s) for s in found]})
        return
    if not found:
        click.echo("nothing was skipped")
        return
    print_table(["file", "reason", "detail"], ([s.name, s.reason, s.detail] for s in found))
    click.echo(f"\n{len(found):,} skipped")


@click.command("check")
@index_json_options
def check_command(index: str | None, as_json: bool) -> None:
    """Verify the checksums and the consistency of every segment.

    If a file is damaged, names its segment and exits with code 3.
    """
    snapshot = api.open(index).snapshot
    checked: dict[str, list[str]] = {}
    problems: dict[str, str] = {}
    for check in snapshot.check():
        if check.segment not in checked and not as_json:
            click.echo(f"checking {check.segment}")
        checked.setdefault(check.segment, []).append(check.what)
        if check.problem:
            problems[check.segment] = check.problem
    if as_json:
        segments = [
            {"segment": name, "checked": files, "problem": problems.get(name)}
            for name, files in checked.items()
        ]
        print_json({"ok": not problems, "segments": segments})
    if problems:
        raise DamagedIndex("; ".join(f"segment {n}: {p}" for n, p in problems.items()))
    if not as_json:
        total = snapshot.manifest.totals.bytes
        click.echo(
            f"no problems found: {counted(len(snapshot.segments), 'segment')}, {size(total)}"
        )
