"""What `vectors.py` prints: times by contender, tau and T, the gain split in two, and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness import mega
from search_report import table

BASE = (0.06, 0.6)  # the paper's defaults
OURS, MATRIX, GRID = "lakejoin", "matrix product", "PEXESO (grid)"
FAISS, FAISS_TUNED = "FAISS distinct", "FAISS distinct, BLAS"
FAISS_ALL, FAISS_ALL_TUNED = "FAISS all", "FAISS all, BLAS"
ROTATED = "cKDTree, rotated"
OURS_ALL = "lakejoin, not deduplicated"
SLOWEST = 1.2  # times the matrix product, at any tau
Rows = Sequence[dict[str, Any]]


def row_of(found: dict[str, Any], name: str, tau: float, share: float) -> dict[str, Any] | None:
    """A contender's figures at a setting."""
    for row in found["rows"]:
        if (row["name"], row["tau"], row["share"]) == (name, tau, share):
            return dict(row)
    return None


def names(found: dict[str, Any]) -> list[str]:
    """The contenders, in the order that they ran in."""
    return list(dict.fromkeys(row["name"] for row in found["rows"]))


def facts_line(found: dict[str, Any]) -> str:
    """What the lake is like."""
    facts = found["facts"]
    return (
        f"{facts['lake']}: {facts['vectors']:,} vectors in {facts['columns']:,} columns, "
        f"{facts['distinct']:,} distinct, {facts['dimension']} dimensions; {facts['queries']} "
        f"queries of {facts['query_values']:g} values"
    )


def base_table(found: dict[str, Any]) -> str:
    """Every contender at the base setting of the lake."""
    tau, share = found["base"]
    made = {row["name"]: row for row in found["built"]}
    head = ["", "ms a query", "x ours", "queries", "distances", "built in s", "memory"]
    body = []
    for name in names(found):
        row = row_of(found, name, tau, share)
        if row is None:
            continue
        distances = "-" if row["distances"] is None else int(row["distances"])
        built = made[name]
        body.append(
            [
                name,
                row["median_ms"],
                row["ratio"],
                row["queries"],
                distances,
                built["seconds"],
                mega(built["bytes"]),
            ]
        )
    return table([head, *body])


def tau_table(found: dict[str, Any]) -> str:
    """Median milliseconds by tau, at the base T."""
    share = found["base"][1]
    taus = sorted({row["tau"] for row in found["rows"] if row["share"] == share})
    body = []
    for name in names(found):
        rows = [row_of(found, name, tau, share) for tau in taus]
        if sum(row is not None for row in rows) > 1:
            body.append([name, *("-" if row is None else row["median_ms"] for row in rows)])
    ours = [row_of(found, OURS, tau, share) for tau in taus]
    body.append(["columns found, mean", *("-" if r is None else r["found"] for r in ours)])
    return table([["tau", *(f"{tau:.0%}" for tau in taus)], *body])


def share_table(found: dict[str, Any], name: str) -> str:
    """The paper's table VII for one contender: median milliseconds by T and tau."""
    rows = [row for row in found["rows"] if row["name"] == name]
    shares = sorted({row["share"] for row in rows})
    taus = sorted({row["tau"] for row in rows if row["share"] != found["base"][1]})
    cells = {(row["tau"], row["share"]): row["median_ms"] for row in rows}
    body = [[f"T {share:.0%}", *(cells.get((tau, share), "-") for tau in taus)] for share in shares]
    return table([["", *(f"tau {tau:.0%}" for tau in taus)], *body])


def growth_table(sizes: Sequence[dict[str, Any]]) -> str:
    """Median milliseconds at the base setting by the size of the lake."""
    every = list(dict.fromkeys(name for found in sizes for name in names(found)))
    body = []
    for name in every:
        rows = [row_of(found, name, *found["base"]) for found in sizes]
        body.append([name, *("-" if row is None else row["median_ms"] for row in rows)])
    head = [f"{found['facts']['vectors']:,}" for found in sizes]
    return table([["vectors", *head], *body])


def split(found: dict[str, Any]) -> list[str]:
    """What deduplication gives and what the index gives, in sentences."""
    tau, share = found["base"]
    said = []
    ours = row_of(found, OURS, tau, share)
    for all_of_them, distinct in ((FAISS_ALL, FAISS), (FAISS_ALL_TUNED, FAISS_TUNED)):
        one, two = (row_of(found, name, tau, share) for name in (all_of_them, distinct))
        if one and two and ours:
            said.append(
                f"{all_of_them} {one['ratio']:.1f} x ours = {one['ratio'] / two['ratio']:.1f} x by "
                f"deduplication ({all_of_them} to {distinct}), {two['ratio']:.1f} x by the index"
            )
    own = row_of(found, OURS_ALL, tau, share)
    if own:
        said.append(f"our own search without deduplication: {own['ratio']:.1f} x")
    return said


def targets(found: dict[str, Any]) -> list[tuple[str, bool]]:
    """Target and measured, side by side; [] where a lake has none."""
    tau, share = found["base"]
    dimension = found["facts"]["dimension"]
    wanted: dict[str, float] = {}
    if found["facts"]["lake"].startswith("SWDC"):
        wanted = {FAISS_ALL: 100, FAISS_ALL_TUNED: 100, GRID: 40, ROTATED: 8}
    elif found["facts"]["lake"].startswith("OPEN"):
        wanted = {FAISS: 4, FAISS_TUNED: 4}
    said = []
    for name, least in wanted.items():
        row = row_of(found, name, tau, share)
        if row:
            text = f"{dimension}-d, {name}: {row['ratio']:.1f} x slower than ours; target {least}"
            said.append((text, row["ratio"] >= least))
    products = [row for row in found["rows"] if row["name"] == MATRIX]
    if products:
        worst = max(products, key=lambda row: 1 / row["ratio"])
        text = (
            f"{dimension}-d, any tau: ours takes at most {1 / worst['ratio']:.2f} x the time of "
            f"the {MATRIX} (tau {worst['tau']:.0%}); target {SLOWEST}"
        )
        said.append((text, 1 / worst["ratio"] <= SLOWEST))
    return said


def markdown(found: Sequence[dict[str, Any]]) -> str:
    """The base setting of all lakes side by side, as a table for the documentation.

    Where a contender did not run on the largest size, its figure is of a smaller one, as is said.
    """
    by_lake: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        by_lake.setdefault(one["facts"]["lake"], []).append(one)
    every = list(dict.fromkeys(name for one in found for name in names(one)))
    heads = [_head(sizes[-1]) for sizes in by_lake.values()]
    lines = [["", *heads], ["---"] * (1 + len(heads))]
    for name in every:
        lines.append([name, *(_cell(sizes, name) for sizes in by_lake.values())])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _head(found: dict[str, Any]) -> str:
    facts, (tau, share) = found["facts"], found["base"]
    return (
        f"{facts['lake']}, {facts['dimension']} dimensions, {facts['distinct']:,} distinct, "
        f"{facts['query_values']:g} values a query; tau {tau:.0%}, T {share:.0%}"
    )


def _cell(sizes: Sequence[dict[str, Any]], name: str) -> str:
    for found in reversed(sizes):
        row = row_of(found, name, *found["base"])
        if row is not None:
            slower = "" if name == OURS else f" ({_short(row['ratio'])} x)"
            where = "" if found is sizes[-1] else f", at {found['size']:g}"
            return _short(row["median_ms"]) + slower + where
    return ""


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show(found: dict[str, Any]) -> None:
    """Prints the figures of one lake."""
    tau, share = found["base"]
    print(f"\n{facts_line(found)}")
    print(f"\n tau {tau:.0%}, T {share:.0%}: median CPU milliseconds, one thread; all agree")
    print(base_table(found))
    for left in found.get("left_out", []):
        print(f"  left out: {left}")
    if found["sweeps"]:
        print(f"\n by tau, T {share:.0%}")
        print(tau_table(found))
        if len({row["share"] for row in found["rows"]}) > 1:
            print(f"\n by T and tau (table VII), {OURS}")
            print(share_table(found, OURS))
        empty = max(row["none_found"] for row in found["rows"] if row["name"] == OURS)
        print(f"  queries without any column, at most: {empty} of {found['facts']['queries']}")
    lines = split(found)
    if lines:
        print("\n where the gain comes from")
        for line in lines:
            print(f"  {line}")
