"""Prepares the choice of columns: searches tables, gathers columns, detects copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.enrich.choosing import Chooser
from lakejoin.enrich.copies import same_columns
from lakejoin.enrich.forests import own_numbers
from lakejoin.enrich.gathering import gather
from lakejoin.enrich.linking import Wanted, find_links

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.target import Target
    from lakejoin.opened import Lake

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """The number of sampled rows, the most columns to choose, and the seed."""

    sample: int = 2_000
    columns: int = 20
    seed: int = 0


def prepared(
    lake: Lake, mine: pa.Table, target: Target, wanted: Wanted, limits: Limits, tell: Tell
) -> Chooser:
    """Prepare a chooser for the rows that have a target. `mine` must not contain the target column;
    the target is used only by `same_columns`, to find copies of it in the lake."""
    import pyarrow as pa

    tell("searching for tables that join")
    links = find_links(lake, mine, wanted)
    tell(f"reading the columns of {len(links)} tables")
    known = target.known
    rows, target = mine.take(known), target.take(known)
    gathered = gather(lake.snapshot, rows, links, wanted.on, limits.sample)
    with_target = rows.append_column(target.name, pa.chunked_array([target.texts()]))
    same = same_columns(lake.snapshot, links, with_target, gathered.rows)
    return Chooser(
        gathered,
        own_numbers(rows.take(gathered.rows)),
        same,
        tuple(mine.column_names),
        target.take(gathered.rows),
        limits.columns,
        limits.seed,
        tell,
    )
