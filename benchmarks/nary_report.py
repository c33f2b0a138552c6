"""What `nary.py` records and prints: times by group, the paper's tables 2 and 3, and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nary_measure import Lake, Run
from search_report import table

XASH_TARGETS = {512: 0.90, 128: 0.57}  # mean precision, as the paper's table 3 has it
FASTER = 10  # than SCR and MCR, on the planted lakes


def times(lake: Lake, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Median CPU milliseconds of every group and contender."""
    rows = []
    for group, chosen in lake.groups().items():
        row: dict[str, Any] = {
            "group": group,
            "queries": len(chosen),
            "combinations": _round(np.mean([len(lake.queries[i].key) for i in chosen])),
            "joinability": _round(np.mean([_best(lake, i) for i in chosen])),
            "median_ms": {run.name: _round(1e3 * np.median(run.cpu[chosen])) for run in runs},
            "mean_ms": {run.name: _round(1e3 * np.mean(run.cpu[chosen])) for run in runs},
            "times_slower": {
                run.name: _round(np.median(run.cpu[chosen] / runs[0].cpu[chosen]))
                for run in runs[1:]
            },
            "counted": {run.name: run.sums(chosen) for run in runs if run.counters},
        }
        rows.append(row)
    return rows


def _best(lake: Lake, i: int) -> int:
    scores = lake.scores[i]
    return int(scores[0]) if scores is not None and len(scores) else 0


def filter_rows(lake: Lake, run: Run, kind: str, bits: int, bounds: bool) -> list[dict[str, Any]]:
    """Precision, false positives and time of one row filter, by group."""
    rows = []
    for group, chosen in lake.groups().items():
        precision = run.precision(chosen)
        sums = run.sums(chosen)
        rows.append(
            {
                "group": group,
                "filter": kind,
                "bits": bits,
                "bounds": bounds,
                "precision": _round(precision.mean()),
                "deviation": _round(precision.std()),
                "false_positives": sums["rows_passed"] - sums["rows_true"],
                **{key: sums[key] for key in ("rows_seen", "rows_passed", "rows_true")},
                "median_ms": _round(1e3 * np.median(run.cpu[chosen])),
            }
        )
    return rows


def filters_table(rows: Sequence[dict[str, Any]], bounds: bool, what: str) -> str:
    """The paper's table 3 (`what` precision) or 2 (`median_ms`): groups by filters and sizes."""
    rows = [row for row in rows if row["bounds"] is bounds]
    heads = list(dict.fromkeys((row["filter"], row["bits"]) for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    cells = {(row["group"], row["filter"], row["bits"]): row for row in rows}
    body = []
    for group in groups:
        line: list[Any] = [group]
        for head in heads:
            row = cells[group, *head]
            said = f"{row[what]:.2f}"
            line.append(f"{said}±{row['deviation']:.2f}" if what == "precision" else row[what])
        body.append(line)
    if what == "precision":
        means = [np.mean([cells[group, *head][what] for group in groups]) for head in heads]
        body.append(["mean", *(f"{mean:.2f}" for mean in means)])
    return table([["", *(f"{kind} {bits}" for kind, bits in heads)], *body])


def times_table(rows: Sequence[dict[str, Any]]) -> str:
    """Median CPU milliseconds, and how many times slower the others are."""
    names = list(rows[0]["median_ms"])
    head = ["", "queries", "combinations", "best score", *names]
    body = [
        [row["group"], row["queries"], row["combinations"], row["joinability"]]
        + [row["median_ms"][name] for name in names[:1]]
        + [f"{row['median_ms'][n]:,.1f} ({row['times_slower'][n]:,.1f} x)" for n in names[1:]]
        for row in rows
    ]
    return table([head, *body])


def settle(rows: Sequence[dict[str, Any]], mine: str, other: str) -> dict[str, Any]:
    """In how many settings (group, bits, bounds) one filter lets fewer rows through wrongly."""
    cells = {(r["group"], r["bits"], r["bounds"], r["filter"]): r for r in rows}
    settings = list(dict.fromkeys(key[:3] for key in cells))
    counts = {"fewer": 0, "equal": 0, "more": 0}
    precision: dict[str, list[float]] = {mine: [], other: []}
    for setting in settings:
        one, two = cells.get((*setting, mine)), cells.get((*setting, other))
        if one is None or two is None:
            continue
        a, b = one["false_positives"], two["false_positives"]
        counts["fewer" if a < b else "equal" if a == b else "more"] += 1
        precision[mine].append(one["precision"])
        precision[other].append(two["precision"])
    means = {name: _round(np.mean(values)) for name, values in precision.items() if values}
    return {"filter": mine, "beside": other, **counts, "mean_precision": means}


def targets(found: dict[str, Any], planted: bool) -> list[tuple[str, bool]]:
    """The targets that a lake is measured by, and whether each is met."""
    said: list[tuple[str, bool]] = [("exact: all contenders give the same scores", True)]
    for bits, least in XASH_TARGETS.items():
        for bounds in (False, True):
            means = _means(found.get("filters", []), bits, bounds)
            if means:
                best = max(means, key=lambda kind: means[kind])
                where = "bounds of all columns" if bounds else "algorithm 1"
                text = f"XASH-{bits}: mean precision {means['xash']:.2f} ({where}); target {least}"
                if best != "xash":
                    text += f", or a better filter: {best} {means[best]:.2f}"
                said.append((text, means[best] >= least))
    if planted:
        for name in ("SCR", "MCR"):
            slower = [row["times_slower"][name] for row in found["times"]]
            shown = ", ".join(f"{ratio:.1f}" for ratio in slower)
            text = f"{name}: {shown} times slower by group; target {FASTER}"
            said.append((text, min(slower) >= FASTER))
    return said


def _means(rows: Sequence[dict[str, Any]], bits: int, bounds: bool) -> dict[str, float]:
    """The mean precision of each filter over the groups."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["bits"] == bits and row["bounds"] is bounds:
            found.setdefault(row["filter"], []).append(row["precision"])
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def _round(value: Any) -> float:
    return float(f"{float(value):.4g}")
