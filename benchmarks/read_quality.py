"""How well are messy files read? Our reader beside others, on public collections with known truth.

    python benchmarks/read_quality.py [--data FOLDER] [--peers csv.Sniffer,clevercsv,duckdb]

The data (`messy_csv`) is not part of the project: `--data`, or `$LAKEJOIN_TEST_DATA`, or the folder
`shared/data` beside the project. The Pollock score is computed by the script that lies with the
data. Peers that are not installed are left out. A dated line goes to `results/read_quality.jsonl`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import record
from lakejoin.errors import UnreadableFile
from lakejoin.formats.file_reader import Table, read

Rows = list[list[str]]
Reader = Callable[[str], Rows]

_DELIMITERS = {"comma": ",", "tab": "\t", "space": " ", "semicolon": ";", "vslash": "|"}
_ENCODINGS = {"utf8": ("utf-8", "utf-8-sig"), "ansi": ("cp1252", "latin-1")}


def ours(path: str) -> Rows:
    """Names and rows as `lakejoin.read` gives them; a file without content gives none."""
    try:
        table = read(path)
    except UnreadableFile as problem:
        if problem.reason == "empty file":
            return []
        raise
    assert isinstance(table, Table)
    columns = [column.to_pylist() for column in table.to_arrow().columns]
    rows = [["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]
    return [list(table.column_names), *rows]


# -- Pollock ----------------------------------------------------------------------------------


class Pollock:
    """The score of the Pollock benchmark (at most 10 a file), from the script beside the data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "pollock"
        source = (folder / "score_pollock.py").read_text("utf-8")
        # Only the definitions: the rest of the script runs its own comparison.
        definitions = source[: source.index("signal.signal(")]
        scope: dict[str, Any] = {"__file__": str(folder / "score_pollock.py")}
        exec(compile(definitions, "score_pollock.py", "exec"), scope)
        self.score: Callable[[Rows, Rows], float] = scope["score"]
        self.peers: dict[str, Reader] = scope["R"]
        self.weights: dict[str, float] = json.loads(
            (self.folder / "pollock_weights.json").read_text("utf-8")
        )

    def run(self, part: str, reader: Reader, step: int = 1) -> dict[str, Any]:
        """The mean score of a reader over every `step`-th file of one part, and what went wrong."""
        total = weighted = weights = 0.0
        failed = single = 0
        files = sorted((self.folder / part / "csv").iterdir())[::step]
        start = time.perf_counter()
        for path in files:
            clean = _clean_rows(self.folder / part / "clean" / path.name)
            try:
                got = reader(str(path))
                score = 1 + self.score(clean, got)
            except Exception:  # noqa: BLE001 (a peer may raise anything; that is what is counted)
                got, score = [], 0.0
                failed += 1
            single += bool(got) and len(got[0]) == 1 and bool(clean) and len(clean[0]) > 1
            weight = self.weights.get(path.name, 1.0) if part == "polluted_files" else 1.0
            total += score
            weighted += weight * score
            weights += weight
        return {
            "files": len(files),
            "simple": round(total / len(files), 3),
            "weighted": round(weighted / weights, 3),
            "failed": failed,
            "read_as_one_column": single,
            "seconds": round(time.perf_counter() - start, 1),
        }


def _clean_rows(path: Path) -> Rows:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return list(csv.reader(io.StringIO(text, newline="")))


# -- dialects and small collections -----------------------------------------------------------


def w3c_dialects(folder: Path) -> dict[str, Any]:
    """How many of the W3C files get the delimiter and the encoding that their list names."""
    lines = (folder / "w3c-csvw-dialects.txt").read_text("utf-8").splitlines()[2:]
    rows = [line.split("|") for line in lines if line.count("|") >= 5]
    delimiters = encodings = files = 0
    for name, encoding, delimiter, *_ in rows:
        path = folder / "w3c-csvw" / name
        if not path.exists():
            continue
        files += 1
        table = read(path)
        dialect = table.dialect if isinstance(table, Table) else None
        if dialect is not None:
            delimiters += dialect.delimiter[0] == _DELIMITERS[delimiter]
            encodings += dialect.encoding in _ENCODINGS[encoding]
    return {"files": files, "delimiter_right": delimiters, "encoding_right": encodings}


def small_collections(folder: Path) -> dict[str, Any]:
    """Files of csv-spectrum and csv-test-data that are read exactly as their JSON says."""
    result = {}
    for name, sub in (("csv-spectrum", "csvs"), ("csv-test-data", "csv")):
        right, wrong = 0, []
        for truth in sorted((folder / name / "json").glob("*.json")):
            expected = _expected(json.loads(truth.read_text("utf-8")))
            got = ours(str(folder / name / sub / f"{truth.stem}.csv"))
            if expected is None or got == expected or got[1:] == expected:
                right += 1
            else:
                wrong.append(truth.stem)
        result[name] = {"files": right + len(wrong), "right": right, "wrong": wrong}
    return result


def _expected(truth: Any) -> Rows | None:
    if isinstance(truth, dict):
        truth = [truth]
    if not truth:
        return []
    if isinstance(truth[0], dict):
        return [list(truth[0]), *(list(row.values()) for row in truth)]
    return [[str(cell) for cell in row] for row in truth]


def data_folder(given: str | None) -> Path:
    """Where the collections are; a sentence and an end where they are not."""
    root = given or os.environ.get("LAKEJOIN_TEST_DATA")
    base = Path(root) if root else Path(__file__).parents[2] / "shared" / "data"
    folder = base if base.name == "messy_csv" else base / "messy_csv"
    if not folder.is_dir():
        sys.exit(f"there is no {folder}; give its place with --data")
    return folder


def main() -> None:
    """Runs everything and prints one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--peers", default="csv.Sniffer,clevercsv,duckdb_default")
    options = parser.parse_args()
    folder = data_folder(options.data)
    pollock = Pollock(folder)
    readers: dict[str, Reader] = {"lakejoin": ours}
    for peer in filter(None, options.peers.split(",")):
        readers[peer] = pollock.peers[peer]
    figures: dict[str, Any] = {"pollock": {}}
    titles = " ".join(f"{title:>8s}" for title in ("simple", "weighted", "failed", "1 column"))
    print(f"{'reader':16s} {'files':16s} {titles}")
    for name, reader in readers.items():
        figures["pollock"][name] = {}
        for part in ("polluted_files", "survey_sample"):
            found = pollock.run(part, reader)
            figures["pollock"][name][part] = found
            print(
                f"{name:16s} {part:16s} {found['simple']:8.3f} {found['weighted']:8.3f} "
                f"{found['failed']:8d} {found['read_as_one_column']:8d}",
                flush=True,
            )
    figures["w3c"] = w3c_dialects(folder)
    figures.update(small_collections(folder))
    for name in ("w3c", "csv-spectrum", "csv-test-data"):
        print(name, figures[name])
    print("recorded in", record("read_quality", figures))


if __name__ == "__main__":
    main()
