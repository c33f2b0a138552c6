"""What `search_exact.py` prints and records: times by band, ratios, what was read, and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from search_timing import Timings
from set_queries import BANDS, band_name

DUCKDB_TARGETS = (2_000, 400, 100)  # by band: how many times slower DuckDB is at least
MERGE_TARGETS = {"open-data": 2.0, "web-table": 8.0}
WORST = 1.2  # of MergeList's time that no query exceeds
TARGET_PAIRS = 140_000_000  # targets are judged from this size on, at k = 10


def times(
    timings: Timings, kind: str, names: Sequence[str], ks: Sequence[int]
) -> list[dict[str, Any]]:
    """Mean and median CPU milliseconds of every (k, band, contender)."""
    rows = []
    for k in ks:
        for band, edges in enumerate(BANDS[kind]):
            here = timings.in_band(band)
            if len(here) == 0:
                continue
            row: dict[str, Any] = {
                "k": k,
                "band": band_name(edges),
                "queries": len(here),
                "mean_size": float(np.mean([timings.queries[i].size for i in here])),
                "mean_ms": {},
                "median_ms": {},
                "wall_ms": {},
                "measured": {},
            }
            for name in names:
                if (name, k) not in timings.cpu:
                    continue
                taken = 1e3 * timings.of(name, k, band)
                run = ~np.isnan(taken)
                if not run.any():
                    continue
                wall = 1e3 * np.median(timings.wall[name, k], axis=0)[here]
                row["mean_ms"][name] = _round(np.nanmean(taken))
                row["median_ms"][name] = _round(np.nanmedian(taken))
                row["wall_ms"][name] = _round(np.nanmean(wall))
                row["measured"][name] = int(run.sum())
            rows.append(row)
    return rows


def against(timings: Timings, kind: str, mine: str, other: str, k: int) -> list[dict[str, Any]]:
    """How many times longer `other` takes, over the queries of each band that both ran."""
    rows = []
    for band, edges in enumerate(BANDS[kind]):
        if len(timings.in_band(band)) == 0 or (other, k) not in timings.cpu:
            continue
        ours, theirs = timings.of(mine, k, band), timings.of(other, k, band)
        both = ~np.isnan(ours) & ~np.isnan(theirs)
        if both.any():
            rows.append(
                {
                    "band": band_name(edges),
                    "of_totals": _round(theirs[both].sum() / ours[both].sum()),
                    "median": _round(np.median(theirs[both] / ours[both])),
                    "least": _round((theirs[both] / ours[both]).min()),
                }
            )
    return rows


def reading(timings: Timings, kind: str, names: Sequence[str], k: int) -> list[dict[str, Any]]:
    """Means of the counters by band and algorithm."""
    rows = []
    for band, edges in enumerate(BANDS[kind]):
        here = timings.in_band(band)
        for name in names:
            notes = [timings.counters[name, k][i] for i in here]
            if not notes or not notes[0]:
                continue
            counts = {
                key: _round(np.mean([note[key] for note in notes]))
                for key, value in notes[0].items()
                if isinstance(value, int)
            }
            chosen: dict[str, int] = {}
            for note in notes:
                for algorithm, times_run in note.get("algorithms", {}).items():
                    chosen[algorithm] = chosen.get(algorithm, 0) + times_run
            rows.append({"band": band_name(edges), "name": name, **counts, "algorithms": chosen})
    return rows


def targets(kind: str, found: dict[str, Any]) -> list[tuple[str, bool]]:
    """The targets that a lake is measured by, and whether each is met."""
    verdicts: list[tuple[str, bool]] = []
    for peer in ("DuckDB", "DuckDB tuned"):
        for row, least in zip(found["against"].get(peer, []), DUCKDB_TARGETS, strict=False):
            slower = f"{row['of_totals']:,.0f} times slower (median {row['median']:,.0f})"
            said = f"{peer}, {row['band']} values: {slower}; target {least:,}"
            verdicts.append((said, row["of_totals"] >= least))
    if kind in MERGE_TARGETS:
        gain = found["merge_gain"]
        slower = f"{gain['of_totals']:.2f} times slower in all (median {gain['median']:.2f})"
        said = f"MergeList: {slower}; target {MERGE_TARGETS[kind]:g}"
        verdicts.append((said, gain["of_totals"] >= MERGE_TARGETS[kind]))
    worst = found["worst"]
    which = f"{worst['ms']:.3f} ms, k = {worst['k']}, {worst['size']:,} values"
    said = f"slowest query beside MergeList: {worst['ratio']:.2f} of its time ({which})"
    verdicts.append((f"{said}; target {WORST}", worst["ratio"] <= WORST))
    return verdicts


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Rows of cells as aligned text; the first row is the head."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    width = [max(len(row[c]) for row in cells) for c in range(len(cells[0]))]
    lines = ["  ".join(cell.rjust(w) for cell, w in zip(row, width, strict=True)) for row in cells]
    return "\n".join("  " + line for line in lines)


def times_table(rows: list[dict[str, Any]], names: Sequence[str]) -> str:
    """The times as text: mean CPU milliseconds."""
    used = [name for name in names if any(name in row["mean_ms"] for row in rows)]
    head = ["k", "values", "queries", *used]
    body = [
        [row["k"], row["band"], row["queries"]] + [row["mean_ms"].get(name, "-") for name in used]
        for row in rows
    ]
    return table([head, *body])


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _round(value: Any) -> float:
    return float(f"{float(value):.4g}")
