"""How many values a second become bits of super keys, and how fast are rows filtered, on one core?

    python benchmarks/kernel_superkeys.py [--index INDEX] [--cells 10] [--repeats 7] [--quality]

Values: every distinct value of an index's searched columns (its largest segment), or of a generated
Open-Data-like lake. Each kind and size of filter hashes them all; for `xash`, counting characters
(once per segment) is reported separately. Peers: the Bloom filter of the paper's comparison, as its
Python code does it (one seeded hash per function; here XXH3), and XASH character by character in
Python, both on some of the values.

Rows: super keys of rows of five values, more than any cache holds, each tested against a key of two
values, for a query of a thousand values in the initial column. Bytes are those of the super keys,
the numbers of values and the marks. The streaming bandwidth is that of compiled code that OR-s an
array of the same size, in the same run. Peer: the same in numpy, part by part.

With `--index` and `--quality`: how many values rows seem to hold that they do not, on its tables.
Figures are CPU seconds on one thread.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from harness import alternate, median_run, record
from lakejoin.model import Array
from lakes import generate

HERE = Path(__file__).parent
SIZES = (128, 256, 512)
COLUMNS = 5  # searched columns that Bloom filters are made for, and values of a filtered row
_ROWS = 64 << 20  # bytes of super keys that are filtered
_PYTHON = 20_000  # values that Python hashes
_LIMIT = 256  # combinations of a value that are tested one by one

Run = Callable[[], Any]


def values_of(index: str | None, cells: float, data: Path) -> tuple[Array, Array, str]:
    """(offsets, bytes) of distinct values, and where they come from."""
    if index is None:
        from kernel_group import pairs_of

        lake = generate(data / f"open-data-{cells:g}", int(cells * 1e6), "open-data")
        texts = pairs_of(lake.folder)[0].unique()
        _, offsets, text = texts.buffers()
        used = np.frombuffer(offsets, dtype=np.int64)[: len(texts) + 1]
        return np.array(used), np.frombuffer(text, dtype=np.uint8), "generated open-data-like lake"
    from lakejoin.locations import Location
    from lakejoin.store.snapshot import Snapshot
    from lakejoin.store.super_keys import searched_texts

    segment = max(Snapshot(Location.of(index)).segments, key=lambda s: s.record.values)
    parts = [(offsets, data) for _, offsets, data in searched_texts(segment)]
    offsets = np.concatenate([part[:-1] for part, _ in parts] + [parts[-1][0][-1:]])
    return offsets - offsets[0], np.array(parts[0][1][offsets[0] : offsets[-1]]), "an index"


def filters(offsets: Array, data: Array) -> dict[str, Any]:
    """All kinds and sizes, with parameters for these values."""
    from lakejoin.store.super_keys import BloomFilter, best_hash_count
    from published.row_filters import (
        MOST_HASHES,
        SimHashFilter,
        XashFeatures,
        XashFilter,
        ones_needed,
        xash_numbers,
    )
    from published.xash import CLASS_CHARACTERS, CLASSES, count_classes

    counts = np.zeros(CLASSES, dtype=np.int64)
    count_classes(offsets, data, counts)
    order = sorted(range(CLASSES), key=lambda c: (counts[c], CLASS_CHARACTERS[c]))
    rank_of = np.empty(CLASSES, dtype=np.uint8)
    rank_of[order] = np.arange(CLASSES)
    made: dict[str, Any] = {}
    for bits in SIZES:
        numbers = xash_numbers(bits, ones_needed(bits, len(offsets) - 1), XashFeatures())
        made[f"xash {bits}"] = XashFilter(bits, rank_of, numbers)
        average, own = best_hash_count(bits, COLUMNS, MOST_HASHES), best_hash_count(bits, COLUMNS)
        for kind, hashes in (("bloom", average), ("fitted", own), ("lhbf", 2), ("hash", 1)):
            made[f"{kind} {bits}"] = BloomFilter(bits, np.array([hashes], dtype=np.uint8))
        made[f"simhash {bits}"] = SimHashFilter(bits)
    return made


def hashing(offsets: Array, data: Array, repeats: int) -> dict[str, float]:
    """Million values a second, by kind and size."""
    from published.xash import CLASSES, count_classes

    count = len(offsets) - 1
    runs: dict[str, Run] = {}
    for name, row_filter in filters(offsets, data).items():
        some = min(count, 100_000) if name.startswith("simhash") else count
        out = np.empty((some, row_filter.words), dtype=np.uint64)
        runs[name] = _timed(row_filter.hash_texts, offsets[: some + 1], data, 0, out, values=some)
    counts = np.zeros(CLASSES, dtype=np.int64)
    runs["counting characters"] = _timed(count_classes, offsets, data, counts, values=count)
    texts = [data[offsets[i] : offsets[i + 1]].tobytes() for i in range(min(count, _PYTHON))]
    runs["Python, XXH3: bloom 128"] = _timed(_python_bloom, texts, values=len(texts))
    decoded = [t.decode() for t in texts]
    runs["Python: xash 128"] = _timed(_python_xash, decoded, values=len(texts))
    for run in runs.values():
        run()  # compiles
    done = {name: median_run(found) for name, found in alternate(runs, repeats).items()}
    return {name: r["values"] / r["seconds"] / 1e6 for name, r in done.items()}


def _timed(work: Callable[..., Any], *arguments: Any, **figures: float) -> Run:
    def once() -> dict[str, Any]:
        begin = time.process_time()
        work(*arguments)
        return {"seconds": time.process_time() - begin, **figures}

    return once


def _python_bloom(texts: list[bytes]) -> list[int]:
    """As in the paper's comparison: one seeded hash a function."""
    from xxhash import xxh3_64_intdigest

    hashes = round(128 / COLUMNS * math.log(2))
    keys = []
    for text in texts:
        key = 0
        for seed in range(hashes):
            key |= 1 << xxh3_64_intdigest(text, seed) % 128
        keys.append(key)
    return keys


def _python_xash(texts: list[str]) -> list[int]:
    """As one would write it: α = 4, the characters in any fixed order."""
    keys = []
    for text in texts:
        length = len(text)
        places: dict[int, list[int]] = {}
        for position, character in enumerate(text, 1):
            places.setdefault(ord(character) % 37, []).append(position)
        key = 1 << length % 17
        for c in sorted(places)[:3]:
            found = places[c]
            x = math.ceil(sum(found) * 3 / (len(found) * length))
            key |= 1 << 17 + (3 * c + x - 1 - length) % 111
        keys.append(key)
    return keys


# -- the row filter ----------------------------------------------------------------------------


@njit(nogil=True)
def _read(words: Array) -> np.uint64:
    """Reads memory as fast as one core can."""
    found = np.uint64(0)
    for i in range(words.shape[0]):
        found |= words[i]
    return found


def filtering(repeats: int) -> dict[str, dict[str, float]]:
    """GB a second of streaming, of the filter and of numpy, by size."""
    return {str(bits): _filtering(bits, repeats) for bits in SIZES}


def _filtering(bits: int, repeats: int) -> dict[str, float]:
    from lakejoin.kernels.superkey_rows import write_hash_bits
    from lakejoin.store.super_keys import best_hash_count

    words = bits // 64
    random = np.random.default_rng(bits)
    hashes = best_hash_count(bits, COLUMNS)

    def keys(count: int, values: int) -> Array:
        made = np.zeros((count, words), dtype=np.uint64)
        one = np.empty_like(made)
        for _ in range(values):
            drawn = random.integers(0, 1 << 63, count, dtype=np.uint64)
            write_hash_bits(drawn, hashes, one)
            made |= one
        return made

    rows = keys(_ROWS // (8 * words), COLUMNS)
    value = random.integers(0, 1000, len(rows)).astype(np.int32)
    passed = np.empty(len(rows), dtype=np.uint8)
    size = rows.nbytes + value.nbytes + passed.nbytes
    single, triple = keys(1000, 2), keys(3000, 2)
    common = np.bitwise_and.reduce(triple.reshape(1000, 3, words), axis=1)
    start = np.arange(1001)
    flat = rows.reshape(-1)
    runs: dict[str, Run] = {
        "streaming": _timed(_read, flat, bytes=flat.nbytes),
        "one combination": _timed(_filter, rows, value, start, single, single, passed, bytes=size),
        "three combinations": _timed(
            _filter, rows, value, 3 * start, triple, common, passed, bytes=size
        ),
        "numpy, one combination": _timed(_numpy, rows, value, single, passed, bytes=size),
    }
    for run in runs.values():
        run()
    _numpy(rows, value, single, passed)
    expected = int(passed.sum())
    if _filter(rows, value, start, single, single, passed) != expected:
        raise SystemExit("the filter and numpy do not agree")
    done = {name: median_run(found) for name, found in alternate(runs, repeats).items()}
    return {name: r["bytes"] / r["seconds"] / 1e9 for name, r in done.items()}


def _filter(
    rows: Array, value: Array, start: Array, keys: Array, common: Array, passed: Array
) -> int:
    from lakejoin.kernels.superkey_rows import filter_rows

    address = rows.ctypes.data
    return int(filter_rows(address, rows.shape[1], value, start, keys, common, passed, _LIMIT))


def _numpy(rows: Array, value: Array, keys: Array, passed: Array) -> None:
    for begin in range(0, len(rows), 1 << 14):  # in parts that stay in the cache: its best form
        part = slice(begin, begin + (1 << 14))
        passed[part] = ((keys[value[part]] & ~rows[part]) == 0).all(axis=1)


# -- the report --------------------------------------------------------------------------------


def main() -> None:
    """Measures all, prints tables and appends a dated line."""
    parser = argparse.ArgumentParser(description="Values to super keys, and the row filter.")
    parser.add_argument("--index", help="take the values of this index")
    parser.add_argument("--cells", type=float, default=10, help="size of the lake, in millions")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quality", action="store_true", help="what gets through, on the index")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    offsets, data, source = values_of(options.index, options.cells, options.data)
    mean = float(np.diff(offsets).mean())
    rates = hashing(offsets, data, options.repeats)
    bandwidth = filtering(options.repeats)
    figures: dict[str, Any] = {
        "values": len(offsets) - 1,
        "from": source,
        "mean_bytes": round(mean, 2),
        "million_per_second": rates,
        "gigabytes_per_second": bandwidth,
    }
    show(f"{len(offsets) - 1:,} values of {source}, {mean:.1f} bytes on average", rates, bandwidth)
    if options.quality:
        if options.index is None:
            raise SystemExit("--quality needs --index")
        from superkey_quality import let_through, show_quality

        figures["let_through"] = let_through(options.index)
        show_quality(figures["let_through"])
    record("kernel_superkeys", {"benchmark": "kernel_superkeys", **figures}, options.out)


def show(title: str, rates: dict[str, float], bandwidth: dict[str, dict[str, float]]) -> None:
    """Prints both tables."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for heading in ("", "M values/s", "against Python"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, rate in rates.items():
        peer = "Python: xash 128" if name.startswith("xash") else "Python, XXH3: bloom 128"
        compared = name.startswith(("xash", "bloom", "fitted"))
        ratio = f"{rate / rates[peer]:,.0f} x" if compared else ""
        table.add_row(name, f"{rate:,.2f}", ratio)
    Console().print(table)
    table = Table(title="the row filter, GB/s of super keys, values and marks; one core")
    headings = ["bits", *next(iter(bandwidth.values())), "of streaming", "numpy's"]
    for heading in headings:
        table.add_column(heading, justify="right")
    for bits, found in bandwidth.items():
        ours = found["one combination"]
        table.add_row(
            bits,
            *(f"{gb:.2f}" for gb in found.values()),
            f"{100 * ours / found['streaming']:.0f} %",
            f"{ours / found['numpy, one combination']:.0f} x",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
