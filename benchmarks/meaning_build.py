"""How fast are the vectors of an index made, and how much room do they take?

    python benchmarks/meaning_build.py INDEX [--encoders default,small,characters] [--keep]

INDEX is any index; only its dictionaries and postings are read. For each encoder the vectors of
all its segments are made as `lakejoin index --with meaning` makes them, in one thread, into a
temporary folder: texts read, encoded, brought into the compact form, written with checksums. CPU
seconds, without opening the encoder and compiling; each encoder in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import high_water, mega, python, record, run_watched

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def build(index: Path, name: str, keep: bool) -> dict[str, Any]:
    """Makes the vectors of all segments, in this process, and says what it took."""
    import numpy as np

    from lakejoin.encoders import open_encoder
    from lakejoin.locations import Location
    from lakejoin.store.arrayfile import ArrayFileWriter
    from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
    from lakejoin.store.meaning_vectors import MeaningComponent, codes_with_meaning
    from lakejoin.store.snapshot import Snapshot

    encoder = open_encoder(name)
    CompactVectors.build(
        MatrixSource(encoder.encode([f"{i} Main St" for i in range(200)]))
    )  # compiles
    component = MeaningComponent(lambda: encoder, encoder.identity, keep)
    before = high_water()
    texts = size = 0
    seconds = {"all": 0.0, "encoding": 0.0}
    with tempfile.TemporaryDirectory(prefix="lakejoin-") as folder:
        for segment in Snapshot(Location.of(str(index))).segments:
            begin = time.process_time()
            with ArrayFileWriter(Location.of(folder) / "vectors.lj") as out:
                component.build(segment, out)
            seconds["all"] += time.process_time() - begin
            size += out.record.bytes
            codes = codes_with_meaning(segment)
            texts += len(codes)
            begin = time.process_time()
            for part in np.array_split(codes, len(codes) // 16_384 + 1):
                encoder.encode(segment.dictionary.texts.take(part))
            seconds["encoding"] += time.process_time() - begin
    return {
        "encoder": name,
        "kept": keep,
        "texts": texts,
        "seconds": seconds,
        "texts_a_second": texts / max(seconds["all"], 1e-9),
        "bytes_a_text": size / max(texts, 1),
        "peak": high_water() - before,
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--encoders", default="default,small,characters")
    parser.add_argument("--keep", action="store_true", help="keep full vectors too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(build(options.index, options.child, options.keep)))
        return
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    keep = ["--keep"] if options.keep else []
    for name in options.encoders.split(","):
        script = python(Path(__file__), options.index, "--child", name, *keep)
        figures, _ = run_watched(script)
        record("meaning_build", {"benchmark": "meaning_build", **figures}, options.out)
        print(
            f"{name:>12}: {figures['texts']:,} texts, {figures['texts_a_second']:,.0f} a second "
            f"(encoding {figures['texts'] / figures['seconds']['encoding']:,.0f}), "
            f"{figures['bytes_a_text']:.1f} bytes each, {mega(figures['peak'])} of memory"
        )


if __name__ == "__main__":
    main()
