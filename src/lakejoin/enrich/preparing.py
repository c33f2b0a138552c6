"""Prepares the choice of columns: searches tables, gathers columns, detects copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.enrich.column_choice import ColumnChooser
from lakejoin.enrich.leakage import find_copied_columns
from lakejoin.enrich.evaluation import table_numbers
from lakejoin.enrich.lake_columns import gather_columns
from lakejoin.enrich.links import LinkRequest, find_links

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.inputs import Target
    from lakejoin.lake import Lake

ReportProgress = Callable[[str], None]


@dataclass(frozen=True)
class EnrichLimits:
    """The number of sampled rows, the most columns to choose, and the seed."""

    sample: int = 2_000
    columns: int = 20
    seed: int = 0


def prepare_chooser(
    lake: Lake, mine: pa.Table, target: Target, wanted: LinkRequest, limits: EnrichLimits, tell: ReportProgress
) -> ColumnChooser:
    """Prepare a chooser for the rows that have a target. `mine` must not contain the target column;
    the target is used only by `find_copied_columns`, to find copies of it in the lake."""
    import pyarrow as pa

    tell("searching for tables that join")
    links = find_links(lake, mine, wanted)
    tell(f"reading the columns of {len(links)} tables")
    known = target.known
    rows, target = mine.take(known), target.take(known)
    gathered = gather_columns(lake.snapshot, rows, links, wanted.on, limits.sample)
    with_target = rows.append_column(target.name, pa.chunked_array([target.texts()]))
    same = find_copied_columns(lake.snapshot, links, with_target, gathered.rows)
    return ColumnChooser(
        gathered,
        table_numbers(rows.take(gathered.rows)),
        same,
        tuple(mine.column_names),
        target.take(gathered.rows),
        limits.columns,
        limits.seed,
        tell,
    )
