"""Seeded lakes of any size whose sets behave like those of the JOSIE thesis's Tables 3.1 and 3.2.

    python benchmarks/lakes.py FOLDER --cells 10000000 [--kind web-table] [--format parquet]

Open data is large because tables are versions, extracts and copies of each other, so whole blocks
of values occur together in the same columns. The generator makes it so: a *family* is one original
table and its copies (Zipfian in number); a copy keeps a range of the original's rows and a window
of its columns. The values of a family's column come from a domain of its own, from a reference
domain shared with other families (calendar days, places, product codes ...), or from a small
window of common words; and some cells of text columns hold a common word drawn by Zipf's law.
Equal posting lists arise by themselves.

|                           | Open Data  | here: 10 M, 30 M, 100 M cells | Web Tables  | here: 3 M |
| ------------------------- | ---------- | ----------------------------- | ----------- | --------- |
| sets                      | 745 k      | 4.4 k, 11.7 k, 36.7 k         | 163,511 k   | 261 k     |
| largest set               | 22,075,531 | 656,538, 805,792, 999,974     | 17,030      | 14,306    |
| average set               | 1,540      | 1,121, 1,497, 1,587           | 10          | 9.6       |
| unique tokens             | 562 M      | 2.7 M, 8.7 M, 26.9 M          | 185 M       | 0.29 M    |
| tokens per pair           | 0.49       | 0.54, 0.49, 0.46              | 0.11        | 0.11      |
| tokens sharing their list | 98 %       | 99.1 %, 98.7 %, 98.3 %        | 83 %        | 85 %      |
| distinct lists per token  | 0.016      | 0.011, 0.015, 0.019           | 0.25        | 0.27      |
| distinct lists per set    | 12         | 7, 11, 14                     | 0.28        | 0.29      |

The thesis dropped numeric columns; so does this: integers here are ids, there are no measures.
Tables have 1 to 15 columns. On the Open-Data-like lake 38 % of the cells stand in columns drawn
without repetition (21 % of the columns remain fully unique, common words make the others repeat),
51 % in columns where 64 rows hold 4 to 32 values, the first ones oftenest, and 11 % in category
columns of 2 to 60 words; 1 % are null, and there is one distinct pair for every 1.7 to 2 cells.
(A lake of 1,519 real CSV files measured for comparison: 17 % unique columns, one pair for every
5 cells, values 10.6 bytes long; so this lake has more to index in each cell than a real one.)

The web tables are small files: 16 thousand of them for every million cells.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cell_text import WIDTH, Int64, TextKind, spell
from lake_plan import CHUNK, DAYS, SHAPES, Batch, Plan

Kind = Literal["open-data", "web-table"]
Format = Literal["csv", "parquet"]


@dataclass(frozen=True, slots=True)
class LakeStatistics:
    """What the sets of a lake look like; `pairs` are distinct (column, value), `groups` distinct
    posting lists, `shared` the share of tokens whose posting list another token has too."""

    tables: int
    rows: int
    cells: int
    nulls: int
    sets: int
    max_size: int
    avg_size: float
    tokens: int
    pairs: int
    groups: int
    shared: float
    max_frequency: int
    unique_columns: float
    mean_length: float

    def ratios(self) -> dict[str, float]:
        """The ratios that Tables 3.1 and 3.2 give for the real lakes."""
        return {
            "average set size": self.avg_size,
            "tokens per pair": self.tokens / self.pairs,
            "tokens sharing their list": self.shared,
            "distinct lists per token": self.groups / self.tokens,
            "distinct lists per set": self.groups / self.sets,
        }


@dataclass(frozen=True, slots=True)
class GeneratedLake:
    """A lake on disk and what is known of it."""

    folder: Path
    kind: Kind
    format: Format
    seed: int
    bytes: int
    seconds: float
    statistics: LakeStatistics

    def files(self) -> list[Path]:
        """The lake's files in a stable order."""
        return sorted(self.folder.rglob(f"*.{self.format}"))


def generate(
    folder: Path, cells: int, kind: Kind, seed: int = 1, format: Format = "csv"
) -> GeneratedLake:
    """Writes a lake of `cells` cells below `folder`, or finds the same one already there.

    The statistics stand beside the folder in `<folder>.json`, so that the lake holds only tables.
    """
    record = folder.parent / f"{folder.name}.json"
    wanted = {"cells": cells, "kind": kind, "seed": seed, "format": format, "version": 2}
    if record.exists():
        found = json.loads(record.read_text())
        if found["wanted"] == wanted:
            lake = found["lake"]
            statistics = LakeStatistics(**lake.pop("statistics"))
            return GeneratedLake(folder, statistics=statistics, **lake)
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} holds something else; remove it or name another folder")
    start = time.perf_counter()
    plan = Plan.draw(SHAPES[kind], cells, seed)
    census = Census(plan)
    size = 0
    for batch in plan.batches():
        matrix, length = census.add(batch)
        write = _write_csv if format == "csv" else _write_parquet
        size += write(folder, batch, matrix, length)
    known: dict[str, Any] = {
        "kind": kind,
        "format": format,
        "seed": seed,
        "bytes": size,
        "seconds": time.perf_counter() - start,
    }
    statistics = census.statistics()
    lake = {**known, "statistics": asdict(statistics)}
    record.write_text(json.dumps({"wanted": wanted, "lake": lake}, indent=1) + "\n")
    return GeneratedLake(folder, statistics=statistics, **known)


# -- the cells ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Census:
    """Makes the cells of each batch and keeps count: exact statistics without reading back."""

    plan: Plan
    posting: npt.NDArray[np.uint64]  # of each token: the sum of its columns' random numbers
    frequency: npt.NDArray[np.uint32]
    sizes: list[Int64]
    unique_columns: int
    nulls: int
    text_bytes: int
    unfinished: list[Int64]

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.posting = np.zeros(plan.tokens, dtype=np.uint64)
        self.frequency = np.zeros(plan.tokens, dtype=np.uint32)
        self.sizes = []
        self.unique_columns = self.nulls = self.text_bytes = 0
        self.unfinished = []

    def add(self, batch: Batch) -> tuple[npt.NDArray[np.uint8], Int64]:
        """The texts of the batch's cells, row by row, as `spell` gives them."""
        token, kind, flavour = self._cells(batch)
        null = (kind == TextKind.NULL).ravel()
        piece = np.repeat(batch.table, batch.rows)
        column = piece[:, None] * 16 + np.arange(batch.columns)
        keys = np.unique(((column << 32) | token).ravel()[~null])
        self.nulls += int(null.sum())
        self._count(batch, keys)
        matrix, length = spell(kind.ravel(), token.ravel(), flavour.ravel())
        self.text_bytes += int(length.sum())
        return matrix, length

    def _cells(self, batch: Batch) -> tuple[Int64, npt.NDArray[np.uint8], Int64]:
        shape, domains = self.plan.shape, self.plan.domains
        start = np.repeat(np.cumsum(batch.rows) - batch.rows, batch.rows)
        row = (np.arange(len(start)) - start + np.repeat(batch.begin, batch.rows))[:, None]
        column = np.repeat(batch.column, batch.rows)[:, None] + np.arange(batch.columns)
        dice = _mix(column.astype(np.uint64) << np.uint64(32) | row.astype(np.uint64), self.plan)
        u = (dice >> np.uint64(11)) * 2.0**-53

        per_chunk = domains.per_chunk[column]
        # Within a chunk the rows are shuffled, and a repeated column's first values come oftener.
        at = (row * 37 + column) & (CHUNK - 1)
        within = np.where(per_chunk == CHUNK, at, per_chunk * at * at >> 12)
        index = (row // CHUNK) * per_chunk + within
        window = domains.window[column]
        zipf = np.exp(u * np.log(np.maximum(window, 1))).astype(np.int64) - 1
        index = np.where(window > 0, zipf, index)
        token = domains.first[column] + (domains.offset[column] + index) % domains.size[column]
        kind, flavour = domains.kind[column], domains.flavour[column]

        fate = (dice & np.uint64(0xFFFF)) / 65536.0
        mixed = domains.mixed[column]
        common = mixed & (fate < shape.common_cells)
        word = (self.plan.vocabulary * u**3).astype(np.int64)
        token = np.where(common, DAYS + word, token)
        flavour = np.where(common, 0, flavour)
        kind = np.where(common, np.uint8(TextKind.WORDS), kind)
        null = mixed & (fate >= 1 - shape.null_cells)
        return token, np.where(null, np.uint8(TextKind.NULL), kind), flavour

    def _count(self, batch: Batch, keys: Int64) -> None:
        if not all(batch.header) or not all(batch.last):
            # A table in several pieces: wait until its columns are whole, then count them once.
            self.unfinished.append(keys)
            if not batch.last[-1]:
                return
            keys = np.unique(np.concatenate(self.unfinished))
            self.unfinished = []
        token = keys & 0xFFFFFFFF
        column = keys >> 32
        np.add.at(self.posting, token, _mix(column.astype(np.uint64), self.plan))
        np.add.at(self.frequency, token, np.uint32(1))
        found, size = np.unique(column, return_counts=True)
        self.sizes.append(size)
        self.unique_columns += int((size == self.plan.rows[found // 16]).sum())

    def statistics(self) -> LakeStatistics:
        """What was counted."""
        size = np.concatenate(self.sizes)
        used = self.frequency > 0
        _, members = np.unique(self.posting[used], return_counts=True)
        tokens, pairs = int(used.sum()), int(size.sum())
        cells = int((self.plan.rows * self.plan.columns).sum())
        return LakeStatistics(
            tables=len(self.plan.rows),
            rows=int(self.plan.rows.sum()),
            cells=cells,
            nulls=self.nulls,
            sets=len(size),
            max_size=int(size.max()),
            avg_size=pairs / len(size),
            tokens=tokens,
            pairs=pairs,
            groups=len(members),
            shared=float(members[members > 1].sum() / tokens),
            max_frequency=int(self.frequency.max()),
            unique_columns=self.unique_columns / len(size),
            mean_length=self.text_bytes / max(1, cells - self.nulls),
        )


def _mix(key: npt.NDArray[np.uint64], plan: Plan) -> npt.NDArray[np.uint64]:
    """Scatters integers over 64 bits (the finaliser of SplitMix64)."""
    x = key + np.uint64((plan.seed * 0x9E3779B97F4A7C15) & (2**64 - 1))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# -- the files ---------------------------------------------------------------------------------


def _header(columns: int) -> list[str]:
    return [f"column_{c + 1}" for c in range(columns)]


def _write_csv(folder: Path, batch: Batch, matrix: npt.NDArray[np.uint8], length: Int64) -> int:
    separator = np.full(batch.columns, ord(","), dtype=np.uint8)
    separator[-1] = ord("\n")
    lines = len(length) // batch.columns
    matrix[np.arange(len(length)), length] = np.tile(separator, lines)
    body = matrix[np.arange(WIDTH) <= length[:, None]].data
    ends = np.cumsum((length + 1).reshape(lines, -1).sum(axis=1))
    stop = ends[np.cumsum(batch.rows) - 1].tolist()
    header = (",".join(_header(batch.columns)) + "\n").encode()
    written, start = 0, 0
    for name, end, first in zip(batch.names, stop, batch.header, strict=True):
        path = folder / f"{name}.csv"
        if first:
            path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if first else "ab") as file:
            written += file.write(header) if first else 0
            written += file.write(body[start:end])
        start = end
    return written


_open_writers: dict[Path, Any] = {}


def _write_parquet(folder: Path, batch: Batch, matrix: npt.NDArray[np.uint8], length: Int64) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    columns = []
    for c in range(batch.columns):
        size = length[c :: batch.columns]
        data = matrix[c :: batch.columns][np.arange(WIDTH) < size[:, None]]
        offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int32)
        text = pa.StringArray.from_buffers(len(size), pa.py_buffer(offset), pa.py_buffer(data))
        columns.append(pc.if_else(pc.equal(text, ""), None, text))
    table = pa.table(dict(zip(_header(batch.columns), columns, strict=True)))
    written, start = 0, 0
    for name, rows, first, last in zip(
        batch.names, batch.rows.tolist(), batch.header, batch.last, strict=True
    ):
        path = folder / f"{name}.parquet"
        if first:
            path.parent.mkdir(parents=True, exist_ok=True)
            _open_writers[path] = pq.ParquetWriter(path, table.schema)
        _open_writers[path].write_table(table.slice(start, rows))
        if last:
            _open_writers.pop(path).close()
            written += path.stat().st_size
        start += rows
    return written


def main() -> None:
    """Makes one lake and prints what it is like."""
    parser = argparse.ArgumentParser(description="Generate a lake and print its statistics.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", type=int, default=10_000_000)
    parser.add_argument("--kind", choices=list(SHAPES), default="open-data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    options = parser.parse_args()
    lake = generate(options.folder, options.cells, options.kind, options.seed, options.format)
    for key, value in {**asdict(lake.statistics), **lake.statistics.ratios()}.items():
        print(f"{key:28} {value:,.4g}" if isinstance(value, float) else f"{key:28} {value:,}")
    print(f"{'bytes':28} {lake.bytes:,}\n{'seconds':28} {lake.seconds:.1f}")


if __name__ == "__main__":
    main()
