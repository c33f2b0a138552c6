"""What row filters let through: values that a row seems to hold and does not.

For each table with at least two searched columns and ten rows, up to 200 draws of a row, a searched
column, and the value that another row has in that column; draws whose value the first row has
anywhere do not count. A filter is as good as the share of these that it rejects: they are the
partial matches that a search on several columns runs into. All tables count the same, large or not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from lakejoin.model import Array

KINDS = ("xash", "bloom", "fitted", "lhbf", "hash")
SIZES = (128, 256, 512)
WIDTHS = ((2, 5), (6, 12), (13, 26), (27, 1 << 30))
_DRAWS = 200


def let_through(index: str) -> dict[str, list[float]]:
    """By kind and size the share that gets through: of all tables, then by `WIDTHS`."""
    from lakejoin.locations import Location
    from lakejoin.store.snapshot import Snapshot

    segments = Snapshot(Location.of(index)).segments
    drawn = [(s, list(_draws(s, np.random.default_rng(i)))) for i, s in enumerate(segments)]
    found = {}
    for bits in SIZES:
        for kind in KINDS:
            shares = np.concatenate([_shares(s, draws, kind, bits) for s, draws in drawn])
            width = shares[:, 0]
            groups = [np.ones(len(width), bool), *((width >= a) & (width <= b) for a, b in WIDTHS)]
            found[f"{kind} {bits}"] = [float(shares[g, 1].mean()) for g in groups]
    return found


def _draws(segment: Any, random: np.random.Generator) -> Iterator[tuple[int, int, Array, Any]]:
    """(table, searched columns, rows, values that these rows do not have)."""
    from lakejoin.store.rows import NULL

    for number, table in enumerate(segment.catalog.tables.to_pylist()):
        own = range(table["first"], table["first"] + table["width"])
        columns = [c for c in own if segment.indexed[c]]
        rows = table["rows"]
        if len(columns) < 2 or rows < 10:
            continue
        codes = np.stack([segment.rows.codes(c, rows) for c in columns])
        row = random.integers(0, rows, _DRAWS)
        chosen = random.integers(0, len(columns), _DRAWS)
        value = codes[chosen, random.integers(0, rows, _DRAWS)]
        counts = (value != NULL) & ~(codes[:, row] == value).any(axis=0)
        if counts.any():
            texts = segment.dictionary.texts.take(value[counts])
            yield number, len(columns), row[counts], texts


def _shares(segment: Any, draws: list[tuple[int, int, Array, Any]], kind: str, bits: int) -> Array:
    """(searched columns, share of the draws that the filter lets through) by table."""
    from lakejoin.locations import Location
    from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
    from lakejoin.store.index_records import SuperKeyOptions
    from lakejoin.store.super_keys import SuperKeyComponent, SuperKeys
    from published.row_filters import ALL_FILTERS

    with tempfile.TemporaryDirectory() as folder:
        place = Location.of(folder) / "superkeys.lj"
        with ArrayFileWriter(place) as out:
            component = SuperKeyComponent(SuperKeyOptions(bits=bits), ALL_FILTERS[kind])
            component.build(segment, out)
        kept = SuperKeys(ArrayFile(place, out.record), ALL_FILTERS[kind])
        shares = []
        for table, columns, rows, texts in draws:
            missing = kept.of_texts(texts, table) & ~kept.of_table(table)[rows]
            shares.append((columns, 1 - missing.any(axis=1).mean()))
    return np.array(shares).reshape(-1, 2)


def show_quality(found: dict[str, list[float]]) -> None:
    """Prints the shares."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title="values that rows seem to hold and do not, by searched columns of the table"
    )
    widths = [f"{a} to {b}" if b < 1 << 30 else f"from {a}" for a, b in WIDTHS]
    for heading in ("", "all tables", *widths):
        table.add_column(heading, justify="right" if heading else "left")
    for name, shares in found.items():
        table.add_row(name, *(f"{100 * share:.3f} %" for share in shares))
    Console().print(table)
