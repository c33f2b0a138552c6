"""How long does it take to find the codes of a query's values in ten dictionaries?

    python benchmarks/dictionary_lookup.py [--base SRC]

Each dictionary has 400,000 generated values, a third of them shared with another one; queries take
half of their values from one of them. Output is the CPU of one look-up in all ten, the median of
nine, in a new process for each version; `--base` is the `src` folder of another version.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import lakejoin
from harness import record

_DICTIONARIES, _VALUES, _REPEATS = 10, 400_000, 9
_SIZES = (1_000, 10_000, 100_000)
_LOOKUP = """
import json, sys, tempfile, time
from pathlib import Path
from statistics import median
import numpy as np
import pyarrow as pa
from lakejoin.engines.query import Query, locate_codes
from lakejoin.kernels.hashes import hash_strings
from lakejoin.locations import Location
from lakejoin.model import string_buffers
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.dictionary import Dictionary, write_directory, write_texts

count, size, repeats, sizes = json.loads(sys.argv[1])

class Held:
    def __init__(self, dictionary):
        self.dictionary = dictionary

def texts_from(first, step, size):
    return pa.array([f"value {step * (first + i)}" for i in range(size)], pa.large_string())

with tempfile.TemporaryDirectory() as folder:
    segments = []
    for number in range(count):
        texts = texts_from(number * size * 2 // 3, 7, size)
        offsets, data = string_buffers(texts)
        hashes = np.empty(size, np.uint64)
        hash_strings(offsets, data, np.uint64(0), hashes)
        location = Location.of(str(Path(folder) / f"{number}.lj"))
        with ArrayFileWriter(location) as out:
            write_directory(out, 0, hashes)
            write_texts(out, "text", offsets, data, np.arange(size, dtype=np.int64))
        segments.append(Held(Dictionary(ArrayFile(location, out.record))))
    for values in sizes:
        known, unknown = texts_from(size, 7, values // 2), texts_from(0, 11, values // 2)
        tokens = pa.concat_arrays([known, unknown])
        seconds = []
        for _ in range(repeats):
            query = Query("t", "c", tokens, np.ones(values, np.int64), values, tokens)
            begin = time.process_time()
            found = [locate_codes(query, n, segment) for n, segment in enumerate(segments)]
            seconds.append(time.process_time() - begin)
        checksum = int(sum(codes.astype(np.uint64).sum() for codes in found))
        print(json.dumps([values, median(seconds), checksum]), flush=True)
"""


def look_up(source: Path) -> list[tuple[int, float, int]]:
    """For each size of query, the seconds of a version, and a checksum of the codes."""
    arguments = json.dumps([_DICTIONARIES, _VALUES, _REPEATS, _SIZES])
    done = subprocess.run(
        [sys.executable, "-c", _LOOKUP, arguments],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def main() -> None:
    """Measures the versions, prints and records."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path)
    given = parser.parse_args()
    sources = {"now": Path(lakejoin.__file__).parents[1]}
    if given.base is not None:
        sources["base"] = given.base
    results = {name: look_up(source) for name, source in sources.items()}
    for position, size in enumerate(_SIZES):
        figures = {name: rows[position] for name, rows in results.items()}
        assert len({checksum for _, _, checksum in figures.values()}) == 1, "codes differ"
        shown = ", ".join(f"{name} {row[1] * 1000:.1f} ms" for name, row in figures.items())
        print(f"{size:,} values in {_DICTIONARIES} dictionaries: {shown}")
    record("dictionary_lookup", {"seconds": results})


if __name__ == "__main__":
    main()
