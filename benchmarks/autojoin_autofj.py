"""Joins two columns by AutoFuzzyJoin, for `autojoin_quality.py`; run by a Python that has it.

    python -m venv PEER && PEER/bin/pip install autofj 'pandas<2.2'
    python benchmarks/autojoin_quality.py --peer-python PEER/bin/python

autofj 0.0.6 fails with pandas 2.2 and later, which the rest needs, so it cannot be installed next
to it. The argument is a JSON file with the texts of both sides; prints pairs of places as JSON.
The time is that of the join, without imports.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Any


def joined(keys: list[str], asked: list[str]) -> tuple[list[tuple[int, int]], float]:
    """The pairs (key, asked) by AutoFuzzyJoin as it comes, and how long it took."""
    import pandas as pd
    from autofj import AutoFJ

    left = pd.DataFrame({"id": range(len(keys)), "text": keys})
    right = pd.DataFrame({"id": range(len(asked)), "text": asked})
    begin = time.perf_counter()
    found: Any = AutoFJ(precision_target=0.9).join(left, right, "id")
    seconds = time.perf_counter() - begin
    pairs = zip(found["id_l"], found["id_r"], strict=True)
    return [(int(i), int(j)) for i, j in pairs], seconds


if __name__ == "__main__":
    sides = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    pairs, seconds = joined(sides["keys"], sides["asked"])
    versions = {name: importlib.metadata.version(name) for name in ("autofj", "pandas", "numpy")}
    print()
    print(json.dumps({"pairs": pairs, "seconds": seconds, "versions": versions}))
