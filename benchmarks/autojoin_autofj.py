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
import resource
import sys
import time
from pathlib import Path
from typing import Any


def joined(keys: list[str], asked: list[str]) -> dict[str, Any]:
    """The pairs (key, asked) by AutoFuzzyJoin as it comes, and how long it took."""
    import pandas as pd
    from autofj import AutoFJ

    left = pd.DataFrame({"id": range(len(keys)), "text": keys})
    right = pd.DataFrame({"id": range(len(asked)), "text": asked})
    begin, cpu = time.perf_counter(), _cpu()
    found: Any = AutoFJ(precision_target=0.9).join(left, right, "id")
    seconds = time.perf_counter() - begin
    pairs = [(int(i), int(j)) for i, j in zip(found["id_l"], found["id_r"], strict=True)]
    return {"pairs": pairs, "seconds": seconds, "cpu": _cpu() - cpu}


def _cpu() -> float:
    """Of this process and of the workers that have ended."""
    own, workers = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime


if __name__ == "__main__":
    sides = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = joined(sides["keys"], sides["asked"])
    versions = {name: importlib.metadata.version(name) for name in ("autofj", "pandas", "numpy")}
    print()
    print(json.dumps({**found, "versions": versions}))
