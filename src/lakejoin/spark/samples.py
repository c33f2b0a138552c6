"""Which rows of two Spark tables are learned from? As many as hold enough pairs that join.

The smaller table is taken whole, up to a limit, since rows whose partners are not in the other
sample say nothing; of the other one, so many rows that `SampleOptions` keeps its promise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.autojoin.sampling import SampleOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WHOLE = 200_000  # rows of a table that is taken whole
_FEWEST = 10_000  # of the other one, where it has so many
_MOST = 1_000_000

# What is brought to the driver; timestamps as the text that Spark makes of them.
_SIMPLE = ("string", "tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date")
_MADE_TEXT = ("timestamp", "timestamp_ntz")


def sizes(left: int, right: int, options: SampleOptions | None = None) -> tuple[int, int]:
    """How many rows of each table, which have `left` and `right` rows.

    >>> sizes(5_000, 300), sizes(100_000_000, 300), sizes(100_000_000, 150_000)
    ((5000, 300), (1000000, 300), (1000000, 150000))
    >>> sizes(1_000_000, 50_000_000, SampleOptions(participation=0.1))
    (200000, 50000)
    """
    if left < right:
        second, first = sizes(right, left, options)
        return first, second
    options = options or SampleOptions()
    small = min(right, WHOLE)
    # Of the pairs that join, at least the share `participation` of the smaller table's rows, both
    # rows are sampled with the product of the two rates: so many are expected.
    joining = options.participation * right * (small / right if right else 0)
    rate = options.expected / joining if joining else 1.0
    return min(left, max(_FEWEST, min(_MOST, math.ceil(rate * left)))), small


def sample(frame: DataFrame, rows: int, wanted: int, seed: int) -> pa.Table:
    """About so many of its rows, as Arrow, with the columns that can be compared."""
    from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

    columns = []
    for name, kind in frame.dtypes:
        column = F.col(quoted(name))
        if kind in _SIMPLE or kind.startswith("decimal") or kind.startswith("varchar"):
            columns.append(column)
        elif kind in _MADE_TEXT:
            columns.append(column.cast("string").alias(name))
    if not columns:
        raise InputError("a table without columns of text, numbers or dates joins nothing")
    taken = frame.select(*columns)
    if wanted < rows:
        taken = taken.sample(withReplacement=False, fraction=wanted / rows, seed=seed)
    return taken.toArrow()


def quoted(name: str) -> str:
    """The name of a column, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"
