"""From a table, a key and a target to all that a choice needs: search, gather, compare."""

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
    """How much is looked at: rows of mine, and columns that are chosen at most; and the seed."""

    sample: int = 2_000
    columns: int = 20
    seed: int = 0


def prepared(
    lake: Lake, mine: pa.Table, target: Target, wanted: Wanted, limits: Limits, tell: Tell
) -> Chooser:
    """A chooser for my rows that have a target. `mine` has no column that is the target; nothing
    but `same_columns` looks at it, and there only to tell which columns of the lake are it."""
    import pyarrow as pa

    tell("searching for tables that join")
    links = find_links(lake, mine, wanted)
    tell(f"reading the columns of {len(links)} tables")
    known = target.known
    rows, target = mine.take(known), target.take(known)
    gathered = gather(lake.snapshot, rows, links, wanted.on, limits.sample)
    cells = target.texts()
    both = rows.append_column(target.name, pa.chunked_array([cells]))
    same = same_columns(lake.snapshot, links, both, gathered.rows)
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
