"""The commands `history` and `rollback`: the versions of an index that are kept."""

from __future__ import annotations

from dataclasses import asdict

import click

from lakejoin import api
from lakejoin.cli.options import index_json_options
from lakejoin.cli.terminal import print_json, print_table
from lakejoin.inputs import index_location
from lakejoin.quoting import lakejoin_command
from lakejoin.text_format import counted, size


@click.command("history")
@index_json_options
def history_command(index: str | None, as_json: bool) -> None:
    """List the versions of the index that are kept, newest first.

    Every build makes a new version. The last 3 before the current one are kept for 7 days, and
    `lakejoin rollback` brings one back.
    """
    versions = api.history(index)
    if as_json:
        print_json({"versions": [asdict(version) for version in versions]})
        return
    print_table(
        ["version", "created", "tables", "rows", "size", ""],
        (
            [v.version, v.created, f"{v.tables:,}", f"{v.rows:,}", size(v.bytes),
             "current" if v.current else ""]
            for v in versions
        ),
        right=["version", "tables", "rows", "size"],
    )  # fmt: skip
    if not any(version.current for version in versions):
        command = lakejoin_command("rollback", index_location(index).uri)
        click.echo(f"\nthe current manifest is damaged; bring the newest back with: {command}")


@click.command("rollback")
@click.argument("version", type=click.IntRange(min=1), required=False)
@index_json_options
def rollback_command(version: int | None, index: str | None, as_json: bool) -> None:
    """Bring an older VERSION of the index back; by default the one before the current.

    It becomes a new version, so this can be undone the same way. The next `lakejoin index` reads
    what has changed in the lake since.
    """
    restored = api.rollback(index, version)
    if as_json:
        print_json(asdict(restored))
        return
    click.echo(
        f"the index is as it was: {counted(restored.tables, 'table')}, "
        f"{counted(restored.rows, 'row')}; this is version {restored.version}"
    )
