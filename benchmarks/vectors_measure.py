"""Takes the time of contenders on one lake, each beside ours, and compares all answers.

CPU time of one thread. A contender is built, warmed up and asked; ours is asked the same queries
again right after it, so that a slow minute hits both. A slow contender gets fewer queries: it stops
when its time for a setting is used up, but not before two, or one that takes very long.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vectors_data import LARGEST, Array, Lake
from vectors_memory import held
from vectors_peers import Answer, Contender

FEWEST_QUERIES = 2
LONG = 5.0  # seconds: after a query that takes longer there is no other
QUICK = 0.3  # seconds: what is quicker is repeated
Setting = tuple[float, float]  # (tau, T as a share of the query's values)


@dataclass(frozen=True)
class Entrant:
    """A contender to be: its name, how it is made, and how much it is asked.

    `largest` is the largest share of the full lake that it runs on. `taus` and `shares` say whether
    other tau and T than the base are asked, `far` whether tau beyond the paper's are.
    """

    name: str
    make: Callable[[], Contender]
    largest: float = 1.0
    taus: bool = False
    far: bool = False
    shares: bool = False


@dataclass
class Race:
    """All figures of one lake; the first that runs is ours, and the others run beside it."""

    lake: Lake
    budget: float  # CPU seconds for a contender and setting
    repeats: int
    ours: Contender | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    built: list[dict[str, Any]] = field(default_factory=list)
    _answers: dict[tuple[int, Setting], Answer] = field(default_factory=dict)

    def run(self, entrant: Entrant, settings: Iterable[Setting]) -> None:
        """Builds a contender, asks it, and forgets it."""
        settings, _ = list(settings), self.lake.lists
        gc.collect()
        start = time.process_time()
        contender = entrant.make()
        seconds = time.process_time() - start
        self.ours = self.ours or contender
        for tau, _ in settings:  # compiles
            contender.search(self.lake.queries[-1][:2], LARGEST * tau, 1)
        size = held(contender, self.lake)
        self.built.append({"name": entrant.name, "seconds": round(seconds, 2), "bytes": size})
        for setting in settings:
            self.rows.append(self._asked(entrant.name, contender, setting))
        print(" ", self.last(entrant.name), flush=True)

    def last(self, name: str) -> str:
        """What a contender's last setting gave, in a line."""
        row = self.rows[-1]
        made = self.built[-1]
        return (
            f"{name:24} built in {made['seconds']:7.1f} s; tau {row['tau']:.0%}: "
            f"{row['median_ms']:10.2f} ms, {row['ratio']:8.2f} x ours, {row['queries']} queries"
        )

    def _asked(self, name: str, contender: Contender, setting: Setting) -> dict[str, Any]:
        times, answers = [], []
        until = time.process_time() + self.budget
        for number, query in enumerate(self.lake.queries):
            enough = number >= FEWEST_QUERIES or (number and times[-1] > LONG)
            if enough and time.process_time() > until:
                break
            seconds, answer = timed(contender, query, setting, self.repeats)
            times.append(seconds)
            answers.append(answer)
            self._compare(name, number, setting, answer)
        ours = times if contender is self.ours else self._ours(len(times), setting)
        computed = [a.distances for a in answers if a.distances is not None]
        return {
            "name": name,
            "tau": setting[0],
            "share": setting[1],
            "queries": len(times),
            "median_ms": rounded(1e3 * np.median(times)),
            "mean_ms": rounded(1e3 * np.mean(times)),
            "slowest_ms": rounded(1e3 * np.max(times)),
            "ours_ms": rounded(1e3 * np.median(ours)),
            "ratio": rounded(np.median(np.array(times) / np.array(ours))),
            "distances": rounded(np.mean(computed)) if computed else None,
            "found": rounded(np.mean([len(a.columns) for a in answers])),
            "none_found": sum(len(a.columns) == 0 for a in answers),
        }

    def _ours(self, queries: int, setting: Setting) -> list[float]:
        """Our times for the first queries, taken now."""
        assert self.ours is not None
        asked = self.lake.queries[:queries]
        return [timed(self.ours, query, setting, self.repeats)[0] for query in asked]

    def _compare(self, name: str, number: int, setting: Setting, answer: Answer) -> None:
        """Ends the run where two contenders differ."""
        first = self._answers.setdefault((number, setting), answer)
        same = np.array_equal(first.columns, answer.columns)
        if min(first.hits.min(initial=0), answer.hits.min(initial=0)) >= 0:
            same = same and np.array_equal(first.hits, answer.hits)
        if not same:
            differing = np.setxor1d(first.columns, answer.columns)
            raise SystemExit(
                f"{name} differs on {self.lake.name}, query {number}, tau {setting[0]:.0%}, "
                f"T {setting[1]:.0%}: columns {differing[:5].tolist()}"
            )


def timed(
    contender: Contender, query: Array, setting: Setting, repeats: int
) -> tuple[float, Answer]:
    """(median CPU seconds, answer); a slow query is asked once."""
    tau, share = setting
    radius, least = LARGEST * tau, max(1, math.ceil(share * len(query) - 1e-9))
    taken: list[float] = []
    while len(taken) < repeats and (not taken or taken[0] < QUICK):
        start = time.process_time()
        answer = contender.search(query, radius, least)
        taken.append(time.process_time() - start)
    return float(np.median(taken)), answer


def rounded(value: Any) -> float:
    """Four digits: more are noise."""
    return float(f"{float(value):.4g}")
