"""How fast are files read on one core? Small files with detection, a big one, its pieces.

    python benchmarks/read_speed.py [--small 300] [--big-mb 100]

CPU seconds of this process, on generated files: 10 KB each with detection, and one big CSV with
quotes, clean and with a stray quote in every thousandth row (which takes our own tokenizer).
Arrow's own `open_csv`, told everything in advance, is the peer. A dated line goes to
`results/read_speed.jsonl`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as pcsv

sys.path.insert(0, str(Path(__file__).parent))

from harness import record
from lakejoin.formats.file_chunks import plan_chunks, resolve_chunks, scan_chunk
from lakejoin.formats.file_reader import open_tables
from lakejoin.formats.table_stream import TableStream
from lakejoin.model import SourceFile
from lakejoin.sources.lake_files import list_files

HEADER = "id,name,town,value,day,note\n"


def split(source: SourceFile, chunk_bytes: int) -> None:
    """Finds the chunks of a file, scanning them one after the other."""
    plan = plan_chunks(source, chunk_bytes)
    assert plan is not None
    resolve_chunks(plan, [scan_chunk(plan, number) for number in range(len(plan.cuts))])


def lines(rng: np.random.Generator, count: int, stray: int = 0) -> str:
    """Rows of ids, names, numbers, dates and quoted text; every `stray`-th has a lone quote."""
    picks = rng.integers(0, 5000, count)
    values = rng.random(count)
    out = []
    for i, (pick, value) in enumerate(zip(picks, values, strict=True)):
        inch = '5" pipe' if stray and i % stray == 0 else f"name {pick} of it"
        day = f"2020-01-{pick % 28 + 1:02d}"
        out.append(f'{i},{inch},town{pick % 97},{value:.6f},{day},"quoted, {pick}"\n')
    return "".join(out)


def consumed(batches: Iterable[pa.RecordBatch]) -> int:
    """Goes through batches; gives the number of rows."""
    return sum(batch.num_rows for batch in batches)


def seconds(action: Any) -> float:
    """CPU seconds of the second run; the first one loads libraries and kernels."""
    action()
    start = time.process_time()
    action()
    return time.process_time() - start


def read_all(files: list[SourceFile]) -> None:
    """Reads every table to its end."""
    for file in files:
        for table in open_tables(file):
            assert isinstance(table, TableStream)
            consumed(table.batches())


def by_arrow(path: Path) -> None:
    """The peer: Arrow's streaming reader, with all that we detect given to it."""
    names = HEADER.strip().split(",")
    consumed(
        pcsv.open_csv(
            path,
            pcsv.ReadOptions(use_threads=False, block_size=16 << 20),
            pcsv.ParseOptions(newlines_in_values=True),
            pcsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    )


def main() -> None:
    """Runs everything and prints one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=300)
    parser.add_argument("--big-mb", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small"
        small.mkdir()
        for number in range(options.small):
            (small / f"{number}.csv").write_text(HEADER + lines(rng, 160))
        big = {"clean": Path(folder) / "clean.csv", "stray quotes": Path(folder) / "stray.csv"}
        for path, stray in zip(big.values(), (0, 1000), strict=True):
            with path.open("w") as file:
                file.write(HEADER)
                while file.tell() < options.big_mb << 20:
                    file.write(lines(rng, 100_000, stray))
        figures: dict[str, Any] = {
            "small_files_per_second": round(
                options.small / seconds(lambda: read_all(list_files([str(small)]))), 1
            )
        }
        for name, path in big.items():
            mega = path.stat().st_size / 1e6
            spent = seconds(lambda path=path: read_all(list_files([str(path)])))
            figures[f"{name}_mb_per_second"] = round(mega / spent, 1)
        clean = big["clean"]
        mega = clean.stat().st_size / 1e6
        figures["arrow_mb_per_second"] = round(mega / seconds(lambda: by_arrow(clean)), 1)
        (source,) = list_files([str(clean)])
        figures["split_scan_mb_per_second"] = round(
            mega / seconds(lambda: split(source, 16 << 20)), 1
        )
    for name, value in figures.items():
        print(f"{name:28s} {value:10.1f}")
    print("recorded in", record("read_speed", figures))


if __name__ == "__main__":
    main()
