"""The peer of the index build: DuckDB reads the same files into one (column, value) table.

    python benchmarks/peer_duckdb.py FOLDER [--threads 2] [--memory 8GB] [--fold]

The table is distinct, sorted by column and value, and persisted in a database file. DuckDB gets its
best chance: it is told the dialect (no sniffing), files with equally many columns are read by one
`read_csv`, the column number is computed from the reader's own `file_index` (no file names travel
with the rows), and all is one statement, so that nothing is stored twice. Formulations tried on
10 million cells, in seconds of CPU on a busy machine (one run, or the two runs given): `UNPIVOT`
into a table, then distinct and sort 17.9, into a temporary table 10.3 and 7.1, with `unnest` 15.0;
distinct for each number of columns, then sort 7.2, with `unnest` 6.8 and 6.4; one statement 6.3
and 6.4, with `unnest` 6.3 and 5.6: the one kept, though the last two hardly differ.

It runs in a process of its own, so that its peak memory can be told; `import duckdb`, listing the
files and reading their first lines are not counted in its time.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class PeerResult:
    """What DuckDB took.

    `seconds` is the whole statement and the checkpoint. `read_seconds` is a second pass that only
    reads the files and counts the cells; `pairs_seconds` is the difference: distinct, sort, write
    (on a busy machine the two passes may not compare; `read_cpu_seconds` then says more).
    """

    seconds: float
    read_seconds: float
    pairs_seconds: float
    cpu_seconds: float
    read_cpu_seconds: float
    peak_bytes: int
    rows: int
    cells: int
    database_bytes: int
    threads: int
    version: str


def measure(
    folder: Path,
    threads: int = 2,
    memory: str = "",
    fold: bool = False,
    database: Path | None = None,
) -> PeerResult:
    """Runs the peer on the CSV and Parquet files below `folder`, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="lakejoin-peer-") as scratch:
        place = database or Path(scratch) / "peer.duckdb"
        command = [sys.executable, __file__, str(folder), "--json", f"--threads={threads}"]
        command += [f"--database={place}"] + ([f"--memory={memory}"] if memory else [])
        done = subprocess.run(
            command + (["--fold"] if fold else []), capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"the DuckDB peer failed: {done.stderr.strip()[-500:]}")
    return PeerResult(**json.loads(done.stdout))


def by_width(folder: Path) -> dict[tuple[str, int], list[str]]:
    """The files below `folder` by format and number of columns."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            found["csv", len(next(csv.reader(file), []))].append(str(path))
    for path in sorted(folder.rglob("*.parquet")):
        import pyarrow.parquet as pq

        found["parquet", len(pq.read_schema(path))].append(str(path))
    return dict(found)


def cells_of(groups: dict[tuple[str, int], list[str]], fold: bool) -> str:
    """SQL for all (column, value) of the files, with repetitions; a column's number is unique."""
    parts = []
    first = 0
    for (format, width), files in groups.items():
        names = [f"c{i}" for i in range(width)]
        if format == "csv":
            columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
            source = (
                f"read_csv({files!r}, auto_detect=false, header=true, delim=',', quote='\"', "
                f"escape='\"', columns={{{columns}}})"
            )
            alias = "t"
        else:
            source, alias = f"read_parquet({files!r})", f"t({', '.join(names)})"
        numbers = ", ".join(f"{first} + file_index::INT * {width} + {i}" for i in range(width))
        values = ", ".join(f"lower(trim({name}))" if fold else name for name in names)
        parts.append(
            f"SELECT unnest([{numbers}])::INT AS col, unnest([{values}]) AS val "
            f"FROM {source} AS {alias}"
        )
        first += len(files) * width
    return f"SELECT col, val FROM ({' UNION ALL '.join(parts)}) WHERE val IS NOT NULL"


def run(options: argparse.Namespace) -> PeerResult:
    """Does the work in this process."""
    import duckdb

    groups = by_width(options.folder)
    if not groups:
        raise SystemExit(f"no CSV or Parquet file below {options.folder}")
    cells_sql = cells_of(groups, options.fold)
    options.database.unlink(missing_ok=True)
    connection: Any = duckdb.connect(str(options.database))
    connection.execute(f"SET threads = {options.threads}")
    if options.memory:
        connection.execute(f"SET memory_limit = '{options.memory}'")
    start, cpu = time.perf_counter(), time.process_time()
    connection.execute(f"CREATE TABLE pairs AS SELECT DISTINCT * FROM ({cells_sql}) ORDER BY ALL")
    connection.execute("CHECKPOINT")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = _peak_bytes()
    rows = connection.execute("SELECT count(*) FROM pairs").fetchone()[0]
    start, read_cpu = time.perf_counter(), time.process_time()
    cells = connection.execute(f"SELECT count(val) FROM ({cells_sql})").fetchone()[0]
    reading, read_cpu = time.perf_counter() - start, time.process_time() - read_cpu
    connection.close()
    return PeerResult(
        seconds=seconds,
        read_seconds=reading,
        pairs_seconds=max(0.0, seconds - reading),
        cpu_seconds=cpu,
        read_cpu_seconds=read_cpu,
        peak_bytes=peak,
        rows=rows,
        cells=cells,
        database_bytes=options.database.stat().st_size,
        threads=options.threads,
        version=duckdb.__version__,
    )


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Measures DuckDB on one folder and prints what it took."""
    parser = argparse.ArgumentParser(description="DuckDB: files to a sorted (column, value) table.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="", help="DuckDB's memory limit, for example 3GB")
    parser.add_argument("--fold", action="store_true", help="also trim and lower-case the values")
    parser.add_argument("--database", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.database:
        result = run(options)
    else:
        with tempfile.TemporaryDirectory(prefix="lakejoin-peer-") as scratch:
            options.database = Path(scratch) / "peer.duckdb"
            result = run(options)
    if options.json:
        print(json.dumps(asdict(result)))
    else:
        for key, value in asdict(result).items():
            print(f"{key:16} {value:,.2f}" if isinstance(value, float) else f"{key:16} {value}")


if __name__ == "__main__":
    main()
