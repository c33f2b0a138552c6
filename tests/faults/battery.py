"""The long battery of faults, `make faults`: prints its figures and records them.

    python tests/faults/battery.py [--builds 1000] [--damaged 2000] [--forged 500] [--minutes 30]

Everything is counted as lost (a version that was committed is gone), partial (a mixture of two
versions), wrong (an answer that is not the right one, or an error without a sentence) or a death
(of a process that was not killed on purpose). Exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FINDINGS = ("lost", "partial", "wrong", "death")


def compile_injector(folder: Path) -> Path:
    library = folder / "injector.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "injector.c")]
    subprocess.run([*command, "-ldl"], check=True)
    return library


def run_part(script: str, *arguments: object, preload: Path | None = None) -> dict[str, Any]:
    """Run one of the scripts in a process of its own; returns what it printed."""
    path = os.pathsep.join([str(ROOT / "src"), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    if preload is not None:
        environment["LD_PRELOAD"] = str(preload)
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    sys.stderr.write(f"{script}: {json.dumps(found)}\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=1000)
    parser.add_argument("--damaged", type=int, default=2000)
    parser.add_argument("--forged", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakejoin-faults-") as name:
        home = Path(name)
        (home / "server").mkdir()
        seed = chosen.seed
        parts = {
            "builds": run_part(
                "build_faults.py",
                home / "builds",
                seed,
                chosen.builds,
                preload=compile_injector(home),
            ),
            "index": run_part(
                "index_faults.py", home / "indexes", seed, chosen.damaged, chosen.forged
            ),
            "server": run_part("server_faults.py", home / "server", seed, 60 * chosen.minutes),
        }
    problems = [problem for part in parts.values() for problem in part.pop("problems")]
    kinds = Counter(problem.partition(":")[0] for problem in problems)
    figures = {"options": vars(chosen), **parts, **{kind: kinds[kind] for kind in FINDINGS}}
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from harness import record

    record("faults", figures)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n" + "\n".join(problems) + "\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
