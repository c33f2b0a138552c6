"""Fuzzy joins of other libraries on the same cases, given the columns that really join.

Each joins a text of the non-key side with at most one text of the key; equal texts count
once and stand for all their rows. rapidfuzz and skrub need a threshold, and have it from the truth:
the best one of every case (nobody could know that one), or the one that is best for a set of
cases on average. AutoFuzzyJoin finds its own; it needs a Python of its own (see
`autojoin_autofj.py`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autojoin_cases import Case
from lakejoin.model import Array

AUTOFJ = Path(__file__).with_name("autojoin_autofj.py")
_CELLS = 20_000_000  # scores held at once


@dataclass(frozen=True, slots=True)
class Quality:
    """How the joined pairs of one case compare with the true ones."""

    name: str
    right: int
    joined: int
    true: int
    seconds: float
    words: str = ""

    @property
    def precision(self) -> float | None:
        return self.right / self.joined if self.joined else None

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 1.0

    @property
    def f(self) -> float:
        return 2 * self.right / (self.joined + self.true) if self.joined + self.true else 1.0


def averages(found: Sequence[Quality]) -> tuple[float, float, float]:
    """Precision, recall and F on average; a case where nothing is joined has no precision."""
    precisions = [q.precision for q in found if q.precision is not None]
    return (
        sum(precisions) / len(precisions) if precisions else 0.0,
        sum(q.recall for q in found) / len(found),
        sum(q.f for q in found) / len(found),
    )


Match = Callable[[list[str], list[str]], tuple[Array, Array]]  # the best key and its score


def token_sort(asked: list[str], keys: list[str]) -> tuple[Array, Array]:
    from rapidfuzz import fuzz

    return _rapidfuzz(asked, keys, fuzz.token_sort_ratio)


def weighted(asked: list[str], keys: list[str]) -> tuple[Array, Array]:
    from rapidfuzz import fuzz

    return _rapidfuzz(asked, keys, fuzz.WRatio)


def _rapidfuzz(asked: list[str], keys: list[str], scorer: Any) -> tuple[Array, Array]:
    """All pairs, on all cores."""
    from rapidfuzz import process, utils

    asked, keys = ([utils.default_process(text) for text in side] for side in (asked, keys))
    best, scores = [], []
    step = max(1, _CELLS // len(keys))
    for i in range(0, len(asked), step):
        block = process.cdist(asked[i : i + step], keys, scorer=scorer, workers=-1)
        best.append(block.argmax(axis=1))
        scores.append(block.max(axis=1))
    return np.concatenate(best), np.concatenate(scores)


def skrub_join(asked: list[str], keys: list[str]) -> tuple[Array, Array]:
    """The nearest key by skrub; the score falls with its rescaled distance, and is 100 at most."""
    import pandas as pd
    import skrub

    def joined(before: str) -> Any:
        left = pd.DataFrame({"asked": [before + text for text in asked]})
        right = pd.DataFrame({"key": [before + text for text in keys], "place": range(len(keys))})
        return skrub.fuzzy_join(left, right, left_on="asked", right_on="key", add_match_info=True)

    try:
        found = joined("")
    except ValueError:  # it takes one side for numbers, and the other is none
        found = joined("= ")
    far = found["skrub_Joiner_rescaled_distance"].to_numpy(float)
    return found["place"].to_numpy(np.int64), 100 * (1 - far)


THRESHOLDED: dict[str, tuple[str, Match]] = {  # by name: what must be installed, what it does
    "rapidfuzz token sort": ("rapidfuzz", token_sort),
    "rapidfuzz WRatio": ("rapidfuzz", weighted),
    "skrub": ("skrub", skrub_join),
}
_GRID = np.arange(-20, 101, dtype=float)  # thresholds that are tried


@dataclass(frozen=True, eq=False)
class Curve:
    """What a peer joins in one case at every threshold."""

    name: str
    right: Array
    joined: Array
    true: int
    seconds: float

    def at(self, place: int) -> Quality:
        words = f"threshold {_GRID[place]:g}"
        right, joined = int(self.right[place]), int(self.joined[place])
        return Quality(self.name, right, joined, self.true, self.seconds, words)

    def f(self) -> Array:
        return 2 * self.right / np.maximum(self.joined + self.true, 1)


def curve(case: Case, match: Match) -> Curve:
    """Every text of the other side with its best key, counted at every threshold."""
    sides = Sides.of(case)
    begin = time.perf_counter()
    best, scores = match(sides.asked, sides.keys)
    seconds = time.perf_counter() - begin
    counted = [sides.count(case, i, int(j)) for i, j in enumerate(best)]
    right, joined = np.array(counted, dtype=np.int64).reshape(-1, 2).T
    enough = scores[None, :] >= _GRID[:, None] - 1e-6
    return Curve(case.name, enough @ right, enough @ joined, len(case.true), seconds)


def own_thresholds(curves: Sequence[Curve]) -> list[Quality]:
    """Each case at its best threshold."""
    return [one.at(int(one.f().argmax())) for one in curves]


def one_threshold(curves: Sequence[Curve]) -> list[Quality]:
    """All cases at the threshold that is best on average."""
    place = int(np.mean([one.f() for one in curves], axis=0).argmax())
    return [one.at(place) for one in curves]


@dataclass(frozen=True, slots=True)
class Sides:
    """The distinct texts of a case: those asked for, and the keys, with the rows of each."""

    asked: list[str]
    keys: list[str]
    asked_ids: list[set[Hashable]]
    key_ids: list[set[Hashable]]
    flipped: bool  # the keys are the left table's

    @classmethod
    def of(cls, case: Case) -> Sides:
        left, right = case.texts()
        mine, theirs = _distinct(left, case.left_ids), _distinct(right, case.right_ids)
        if case.key == "left":
            mine, theirs = theirs, mine
        return cls(
            list(mine), list(theirs), list(mine.values()), list(theirs.values()), case.key == "left"
        )

    def count(self, case: Case, i: int, j: int) -> tuple[int, int]:
        """How many pairs of rows are right, and how many there are, if these texts are joined."""
        pairs = [(a, b) for a in self.asked_ids[i] for b in self.key_ids[j]]
        if self.flipped:
            pairs = [(b, a) for a, b in pairs]
        return sum(pair in case.true for pair in pairs), len(pairs)


def _distinct(texts: list[str], ids: Sequence[Hashable]) -> dict[str, set[Hashable]]:
    rows: dict[str, set[Hashable]] = {}
    for text, row in zip(texts, ids, strict=True):
        if text:
            rows.setdefault(text, set()).add(row)
    return rows


def autofj(case: Case, python: Path, limit: float) -> dict[str, Any]:
    """AutoFuzzyJoin in its own Python: counts, seconds and versions, or why there are none."""
    sides = Sides.of(case)
    with tempfile.TemporaryDirectory() as folder:  # it leaves files where it runs
        path = Path(folder) / "sides.json"
        path.write_text(json.dumps({"keys": sides.keys, "asked": sides.asked}), encoding="utf-8")
        command = [str(python.absolute()), "-W", "ignore", str(AUTOFJ), str(path)]
        said = _child(command, limit, folder)
    if "pairs" not in said:
        return said
    counted = [sides.count(case, i, j) for j, i in said.pop("pairs")]
    right, joined = (sum(counts) for counts in zip(*counted, strict=True)) if counted else (0, 0)
    return {"right": right, "joined": joined, "true": len(case.true), **said}


def _child(command: list[str], limit: float, folder: str) -> dict[str, Any]:
    """The JSON that a command prints last; `cut` where it took too long, or what went wrong."""
    child = subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return {"cut": limit}
    finally:
        if child.poll() is None:  # with its pool of workers
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if child.returncode:
        ended = f"ended with {child.returncode}"
        return {"failed": err.strip().splitlines()[-1][:200] if err.strip() else ended}
    said: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return said
