"""Samples two Spark tables so that the samples contain enough rows that join.

The smaller table is taken whole, up to a limit, since rows without a match in the other sample are
useless; from the other one, as many rows as `SampleOptions` requires.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lakejoin.errors import InputError
from lakejoin.joins.learned.sampling import SampleOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WHOLE = 200_000  # rows up to which a table is taken whole
_FEWEST = 10_000  # rows of the other one, if it has as many
_MOST = 1_000_000

# Column types collected on the driver; timestamps as Spark's text.
_SIMPLE = ("string", "tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date")
_MADE_TEXT = ("timestamp", "timestamp_ntz")


def sample_sizes(left: int, right: int, options: SampleOptions | None = None) -> tuple[int, int]:
    """The sample sizes for tables with `left` and `right` rows.

    >>> sample_sizes(5_000, 300), sample_sizes(100_000_000, 300), sample_sizes(100_000_000, 150_000)
    ((5000, 300), (1000000, 300), (1000000, 150000))
    >>> sample_sizes(1_000_000, 50_000_000, SampleOptions(participation=0.1))
    (200000, 50000)
    """
    if left < right:
        second, first = sample_sizes(right, left, options)
        return first, second
    options = options or SampleOptions()
    small = min(right, WHOLE)
    # A pair that joins is sampled with the product of the two rates. At least the share
    # `participation` of the smaller table's rows join, so this many pairs are expected.
    joining = options.participation * right * (small / right if right else 0)
    rate = options.expected / joining if joining else 1.0
    return min(left, max(_FEWEST, min(_MOST, math.ceil(rate * left)))), small


def draw_sample(frame: DataFrame, rows: int, wanted: int, seed: int) -> pa.Table:
    """Sample about `wanted` rows as Arrow, with the columns that can be compared."""
    from pyspark.sql import functions as F  # noqa: N812 (the usual name)

    columns = []
    for name, kind in frame.dtypes:
        column = F.col(quote_name(name))
        if kind in _SIMPLE or kind.startswith("decimal") or kind.startswith("varchar"):
            columns.append(column)
        elif kind in _MADE_TEXT:
            columns.append(column.cast("string").alias(name))
    if not columns:
        raise InputError("a table needs a column of text, numbers or dates to be joined")
    taken = frame.select(*columns)
    if wanted < rows:
        taken = taken.sample(withReplacement=False, fraction=wanted / rows, seed=seed)
    return taken.toArrow()


def quote_name(name: str) -> str:
    """Quote a column name for Spark."""
    return "`" + name.replace("`", "``") + "`"
