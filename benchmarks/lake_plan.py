"""Which tables does a generated lake have, and what does each of their columns hold?

The plan of a whole lake, drawn before any cell is made: see `lakes` for what it imitates and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cell_text import Int64, TextKind

CHUNK = 64  # rows; extracts are cut at multiples, so that blocks of values stay whole
DAYS = 32_768  # tokens 0 .. DAYS are calendar days
# The same bounds whatever the lake's size, so that lakes of different sizes differ in nothing else.
TABLE_CELLS = 1_250_000
FAMILY_CELLS = 2_000_000
BATCH_CELLS = 1_500_000


@dataclass(frozen=True, slots=True)
class Shape:
    """The laws that one kind of lake follows; each `exponent` is that of a power law's density."""

    rows: tuple[int, int]
    rows_exponent: float
    copies_exponent: float
    most_copies: int
    extracts: float  # share of the copies that keep only a part of the rows and columns
    unique: float  # shares of the columns, besides the key column that every original has
    reference: float
    category: float
    common_cells: float  # share of a text column's cells that hold a common word
    null_cells: float
    vocabulary: float  # common words per cell of the lake


SHAPES: dict[str, Shape] = {
    "open-data": Shape(
        rows=(30, 1_000_000),
        rows_exponent=1.25,
        copies_exponent=1.6,
        most_copies=80,
        extracts=0.75,
        unique=0.15,
        reference=0.5,
        category=0.12,
        common_cells=0.2,
        null_cells=0.03,
        vocabulary=0.025,
    ),
    "web-table": Shape(
        rows=(4, 17_030),
        rows_exponent=2.6,
        copies_exponent=2.1,
        most_copies=2_000,
        extracts=0.2,
        unique=0.3,
        reference=0.05,
        category=0.1,
        common_cells=0.65,
        null_cells=0.03,
        vocabulary=0.04,
    ),
}


@dataclass(frozen=True, slots=True)
class Domains:
    """Where each column of each family takes its values from: one entry a column of a family."""

    first: Int64  # the domain's first token
    size: Int64  # tokens in the domain; the index wraps around
    offset: Int64  # where in the domain the column begins
    per_chunk: Int64  # distinct values in CHUNK rows; CHUNK where the column is unique
    window: Int64  # of a category column: from how many words it draws; else 0
    kind: npt.NDArray[np.uint8]
    flavour: Int64
    mixed: npt.NDArray[np.bool_]  # whether common words and nulls stand between the values


@dataclass(frozen=True, slots=True)
class Batch:
    """Pieces of tables with the same number of columns, generated together."""

    names: list[str]
    table: Int64  # the number of each piece's table
    begin: Int64  # the first row of each piece within its family
    rows: Int64
    header: list[bool]  # false where the piece continues a table
    last: list[bool]
    column: Int64  # the first family column of each piece
    columns: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole lake before any cell is made: arrays with one entry a table, and the domains."""

    shape: Shape
    seed: int
    domains: Domains
    vocabulary: int
    tokens: int  # upper bound of the token numbers
    name: list[str]
    begin: Int64
    rows: Int64
    column: Int64
    columns: Int64

    @staticmethod
    def draw(shape: Shape, cells: int, seed: int) -> Plan:
        """Draws families until their tables hold `cells` cells."""
        random = np.random.default_rng(seed)
        least, most = shape.rows
        most = max(least + 1, min(most, cells // 10))
        # Quasi-random (golden-ratio-like) steps: any number of families has the same shape.
        count = cells // (least * 2) + 10
        steps = np.arange(1, count + 1)[:, None] * [0.8191725134, 0.6710436067, 0.5497004779]
        u = (steps + random.random(3)) % 1.0
        power = 1 - shape.rows_exponent
        rows = (least**power + u[:, 0] * (most**power - least**power)) ** (1 / power)
        rows = rows.astype(np.int64)
        columns = 1 + (15 * u[:, 1] ** 2).astype(np.int64)
        columns = np.maximum(1, np.minimum(columns, min(TABLE_CELLS, cells // 8) // rows))
        copies = ((1 - u[:, 2]) ** (1 / (1 - shape.copies_exponent))).astype(np.int64)
        room = np.maximum(1, min(FAMILY_CELLS, cells // 2) // (rows * columns))
        copies = np.minimum(np.minimum(copies, shape.most_copies), room)
        enough = int(np.searchsorted(np.cumsum(copies * rows * columns), 2 * cells)) + 1
        rows, columns, copies = rows[:enough], columns[:enough], copies[:enough]

        family = np.repeat(np.arange(len(copies)), copies)
        version = np.arange(len(family)) - np.repeat(np.cumsum(copies) - copies, copies)
        begin, kept, window, width = _extracts(
            shape, random, rows[family], columns[family], version
        )
        total = np.cumsum(kept * width)
        tables = min(int(np.searchsorted(total, cells)) + 1, len(family))
        spare = max(0, int(total[tables - 1]) - cells)
        kept[tables - 1] = max(1, kept[tables - 1] - spare // width[tables - 1])
        family = family[:tables]
        families = int(family[-1]) + 1
        domains, vocabulary, tokens = _domains(
            shape, random, cells, rows[:families], columns[:families]
        )
        first_column = np.cumsum(columns) - columns
        names = [
            f"{f // 500:04d}/{f:06d}-{v}" for f, v in zip(family, version[:tables], strict=True)
        ]
        return Plan(
            shape,
            seed,
            domains,
            vocabulary,
            tokens,
            names,
            begin[:tables],
            kept[:tables],
            first_column[family] + window[:tables],
            width[:tables],
        )

    def batches(self) -> Iterator[Batch]:
        """The tables in pieces of bounded size, those with equally many columns together."""
        for columns in np.unique(self.columns):
            rows_at_once = max(CHUNK, BATCH_CELLS // int(columns) // CHUNK * CHUNK)
            waiting: list[tuple[int, int, int]] = []
            held = 0
            for table in np.flatnonzero(self.columns == columns).tolist():
                whole = int(self.rows[table])
                for start in range(0, whole, rows_at_once):
                    part = min(rows_at_once, whole - start)
                    if held + part > rows_at_once:
                        yield self._batch(waiting, int(columns))
                        waiting, held = [], 0
                    waiting.append((table, start, part))
                    held += part
            yield self._batch(waiting, int(columns))

    def _batch(self, pieces: list[tuple[int, int, int]], columns: int) -> Batch:
        table, start, rows = np.array(pieces, dtype=np.int64).T
        return Batch(
            [self.name[t] for t in table],
            table,
            self.begin[table] + start,
            rows,
            (start == 0).tolist(),
            (start + rows == self.rows[table]).tolist(),
            self.column[table],
            columns,
        )


def _extracts(
    shape: Shape, random: np.random.Generator, rows: Int64, columns: Int64, version: Int64
) -> tuple[Int64, Int64, Int64, Int64]:
    """Of each copy: the first row and number of rows, the first column and number of columns."""
    u = random.random((4, len(rows)))
    partial = (version > 0) & (u[0] < shape.extracts)
    chunks = rows // CHUNK
    cut = partial & (chunks >= 4)
    begin = np.where(cut, (chunks * 0.6 * u[1]).astype(np.int64), 0) * CHUNK
    left = rows - begin
    kept = np.where(cut, np.maximum(1, (left // CHUNK * u[2]).astype(np.int64)) * CHUNK, left)
    width = np.where(partial, columns - (columns * 0.5 * u[3]).astype(np.int64), columns)
    window = ((columns - width + 1) * random.random(len(rows))).astype(np.int64)
    return begin, kept, np.where(width > 1, window, 0), width


def _domains(
    shape: Shape, random: np.random.Generator, cells: int, rows: Int64, columns: Int64
) -> tuple[Domains, int, int]:
    count = int(columns.sum())
    family = np.repeat(np.arange(len(columns)), columns)
    number = np.arange(count) - np.repeat(np.cumsum(columns) - columns, columns)
    u = random.random(count)
    bounds = np.cumsum([shape.unique, shape.reference, shape.category])
    key = number == 0
    unique = key | (u < bounds[0])
    reference = ~key & (u >= bounds[0]) & (u < bounds[1])
    category = ~key & (u >= bounds[1]) & (u < bounds[2])
    per_chunk = np.where(unique, CHUNK, 2 ** random.integers(2, 6, count))
    kind = random.choice(
        np.array([0, 1, 2, 3, 4], dtype=np.uint8), count, p=[0.45, 0.15, 0.2, 0.12, 0.08]
    )

    # Keys look like keys; and a table of one column has no blanks that a reader could split at.
    kind = np.where(key, random.integers(TextKind.CODE, TextKind.STAMP, count), kind)

    vocabulary = max(50, int(cells * shape.vocabulary))
    # Reference domains of falling popularity; the first is the calendar.
    places = 50 + cells // 50_000
    sizes = CHUNK * 2 ** random.integers(0, int(np.log2(4 + cells // 40 // CHUNK)), places)
    which = (places ** random.random(count)).astype(np.int64) - 1
    reference_first = DAYS + vocabulary + np.cumsum(sizes) - sizes
    reference_kind = random.integers(0, 4, places).astype(np.uint8)
    sizes[0], reference_first[0], reference_kind[0] = DAYS, 0, TextKind.DAY

    own = ~reference & ~category
    own_size = np.where(own, -(-rows[family] // CHUNK) * per_chunk, 0)
    begin_own = int(DAYS + vocabulary + sizes[1:].sum() + CHUNK * 256)
    first = np.where(own, begin_own + np.cumsum(own_size) - own_size, DAYS)
    first = np.where(reference, reference_first[which], first)
    size = np.where(own, own_size, np.where(reference, sizes[which], vocabulary))
    window = np.where(category, 2 + (58 * random.random(count) ** 2).astype(np.int64), 0)
    window = np.minimum(window, vocabulary)
    offset = np.where(own, 0, (size // CHUNK * random.random(count) ** 2).astype(np.int64) * CHUNK)
    kind = np.where(reference, reference_kind[which], np.where(category, TextKind.WORDS, kind))
    kind = kind.astype(np.uint8)
    flavour = np.where(own, np.arange(count), np.where(reference, which, 0))
    mixed = ~key & ~category & (kind <= TextKind.NAMED_ID)
    tokens = begin_own + int(own_size.sum())
    domains = Domains(first, size, offset, per_chunk, window, kind, flavour, mixed)
    return domains, vocabulary, tokens
