"""Damages and forges an index many times, and asks it questions each time.

    python index_faults.py FOLDER SEED DAMAGED FORGED

A damaged file has wrong checksums: every answer is the right one or a refusal. A forged one has
right checksums around nonsense: an answer may be nonsense then, but nothing crashes, and nothing
fails but with a sentence. Prints one JSON object.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from faults.forgery import copy_index, damage, forge
from faults.questioning import ask
from faults.small_lake import QUESTIONS, build_index, write_lake

_ASKED = 4  # questions for each fault, besides those that read everything


class IndexTrial:
    def __init__(self, home: Path) -> None:
        self.home = home
        build_index(write_lake(home / "lake"), home / "index")
        self.right = {name: str(ask(home / "index")) for name, ask in QUESTIONS.items()}
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []

    def run(self, seed: int, harm: Callable[[Path, np.random.Generator], str]) -> None:
        """Harm a copy of the index once, and ask some questions."""
        rng = np.random.default_rng(seed)
        copy = self.home / "copy"
        copy_index(self.home / "index", copy)
        what = f"{seed}: {harm(copy, rng)}"
        names = rng.choice(list(QUESTIONS), _ASKED, replace=False).tolist()
        found = ask(copy, [(name, QUESTIONS[name]) for name in names])
        for name, (kind, said) in found.items():
            self.outcomes[f"{harm.__name__} {kind}"] += 1
            self._judge(f"{what}: {name}", kind, said, forged=harm is forge)
        shutil.rmtree(copy)

    def _judge(self, what: str, kind: str, said: Any, forged: bool) -> None:
        name = what.rpartition(": ")[2]
        if kind == "answer" and not forged and said != self.right[name]:
            self.problems.append(f"wrong: {what}: {said[:300]}")
        elif kind == "error":
            self.problems.append(f"wrong: {what}: {said[-800:]}")
        elif kind in ("death", "hung"):
            self.problems.append(f"death: {what}: {kind} {said}")


def main() -> None:
    home, seed = Path(sys.argv[1]), int(sys.argv[2])
    trial = IndexTrial(home)
    for harm, count in ((damage, int(sys.argv[3])), (forge, int(sys.argv[4]))):
        for number in range(count):
            trial.run(seed + number, harm)
    found = {"outcomes": trial.outcomes, "problems": trial.problems}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
