"""What `predicates_speed.py` prints: the paper's table IV and figure 5, growth, and the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness import mega
from predicates_quality import ALIASES, mean
from search_report import table

Figures = dict[str, Any]

AIM = 5.0  # seconds for all preferences, of a pair at scale 1, on average, without loading
PAPER = {  # table IV, with loading
    "TPC-H, scale 1": {
        "h1": 35.1, "h2": 62.2, "h3": 61.8, "h4": 90.4, "h5": 134.3, "SMaSh": 19.6, "FastFK": 17.1,
    },
    "Employees, whole": {
        "h1": 3.9, "h2": 5.2, "h3": 5.3, "h4": 5.9, "h5": 9.6, "SMaSh": 2.0, "FastFK": 2.0,
    },
}  # fmt: skip
RULES = {  # bounds, closed
    "both rules": (True, True),
    "no bounds": (False, True),
    "no closures": (True, False),
    "neither": (False, False),
}
EACH = (*ALIASES, "all five")
WALL = ", by the clock"


def average(found: Figures, *keys: str) -> float:
    """The mean over the cases of the sum of some figures."""
    return mean(sum(one[key] for key in keys) for one in found.values())


def report_times(times: Figures) -> str:
    """Table IV, loading excluded and included, and what it took pair by pair."""
    head = [*EACH, "FastFK", "SMaSh", "DuckDB", "most memory"]
    excluded = [["seconds, loading excluded", *head]]
    included = [["seconds, loading included", *head]]
    for name, found in times.items():
        mine, others, duck = found["ours"], found["baselines"], found["duckdb"]
        memory = mega(max(one["peak"] for one in mine.values()))
        row = [name, *(f"{average(mine, one):.3f}" for one in EACH)]
        row += [f"{average(others, one):.3f}" for one in ("FastFK", "SMaSh")]
        excluded.append([*row, "", ""])
        row = [name, *(f"{average(mine, one, 'reading', 'coding'):.2f}" for one in EACH)]
        row += [f"{average(others, one, 'loading'):.2f}" for one in ("FastFK", "SMaSh")]
        included.append([*row, f"{average(duck, 'seconds'):.2f}", memory])
    for name, said in PAPER.items():
        included.append([f"paper: {name}", *(f"{said[n]:.1f}" if n in said else "" for n in head)])
    return f"{table(excluded)}\n\n{table(included)}"


def report_pairs(name: str, found: Figures) -> str:
    """What one database took pair by pair."""
    rows = [[name, "rows", "columns", "reading", "coding", *EACH, "looked at", "memory"]]
    for case, one in found["ours"].items():
        columns = " x ".join(str(count) for count in one["columns"])
        row = [case, f"{one['rows']:,}", columns, f"{one['reading']:.2f}", f"{one['coding']:.2f}"]
        row += [f"{one[each]:.3f}" for each in EACH]
        rows.append([*row, str(one["all five, looked at"]), mega(one["peak"])])
    return table(rows)


def report_growth(times: Figures, scales: Sequence[str]) -> str:
    """Seconds for a million rows of both tables, all preferences at once, by scale."""
    rows = [["seconds a million rows", *scales, *(f"{name}, loading" for name in scales)]]
    for case in times[scales[0]]["ours"]:
        row = [case]
        for keys in (("all five",), ("reading", "coding")):
            for name in scales:
                one = times[name]["ours"][case]
                row.append(f"{1e6 * sum(one[key] for key in keys) / one['rows']:.3f}")
        rows.append(row)
    return table(rows)


def report_rules(name: str, found: Figures) -> str:
    """Figure 5: the mean over the pairs, by preference and rules."""
    rows = [[f"{name}: seconds (predicates looked at)", *RULES]]
    for each in EACH:
        row = [each]
        for rule in RULES:
            runs = [one[each][rule] for one in found.values()]
            cut = sum(run.get("cut", False) for run in runs)
            said = f"{mean(run['seconds'] for run in runs):.3f}"
            looked = sum(run.get("looked", 0) for run in runs)
            row.append(f">{said}, {cut} cut" if cut else f"{said} ({looked:,})")
        rows.append(row)
    return table(rows)


def verdict(times: Figures) -> str:
    """What was aimed at, at scale 1."""
    found = times.get("TPC-H, scale 1")
    if found is None:
        return "what is aimed at is of TPC-H at scale 1"
    taken, clock = (average(found["ours"], f"all five{end}") for end in ("", WALL))
    met = "met" if taken <= AIM else "missed"
    said = f"{taken:.2f} s (aim {AIM:g}: {met}), {clock:.2f} s by the clock"
    return f"all five preferences, a pair of TPC-H at scale 1: {said}"
