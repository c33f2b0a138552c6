"""The plots of `nary.py`, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt

COLOURS = {
    "lakejoin": "#1b6ca8",
    "SCR": "#8c8c8c",
    "no filter": "#7fb2d9",
    "SCR, cardinality": "#bbbbbb",
    "MCR": "#c9820a",
    "MATE": "#a83232",
    "DuckDB": "#3f9b3f",
    "xash": "#1b6ca8",
    "bloom": "#c8553d",
    "fitted": "#2a9d5c",
    "lhbf": "#c9820a",
    "hash": "#8c8c8c",
    "simhash": "#bbbbbb",
}


def _figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "lakejoin", "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, columns, figsize=(width, height), squeeze=False)
    return figure, axes[0]


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    print(f"wrote {path}")


def _bars(axis: Any, groups: Sequence[str], series: dict[str, Sequence[float]]) -> None:
    width = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        places = np.arange(len(groups)) - 0.4 + width * (n + 0.5)
        axis.bar(places, values, width, label=name, color=COLOURS.get(name))
    axis.set_xticks(np.arange(len(groups)), groups, fontsize=8)
    axis.grid(axis="y", alpha=0.3, which="both")
    axis.set_axisbelow(True)


def plot_times(lakes: dict[str, Sequence[dict[str, Any]]], out: Path) -> None:
    """The paper's figure 4: median CPU time of each contender by group of queries."""
    figure, axes = _figure(4.2 * len(lakes), 3.2, len(lakes))
    for axis, (title, rows) in zip(axes, lakes.items(), strict=True):
        names = list(rows[0]["median_ms"])
        series = {name: [row["median_ms"][name] for row in rows] for name in names}
        _bars(axis, [row["group"] for row in rows], series)
        axis.set(yscale="log", title=title, ylabel="CPU ms a query, median")
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    _save(figure, out)


def plot_precision(lakes: dict[str, Sequence[dict[str, Any]]], bounds: bool, out: Path) -> None:
    """The paper's table 3: the mean precision of each filter by the bits of a super key."""
    figure, axes = _figure(3.6 * len(lakes), 3.0, len(lakes))
    for axis, (title, rows) in zip(axes, lakes.items(), strict=True):
        here = [row for row in rows if row["bounds"] is bounds]
        sizes = sorted({row["bits"] for row in here})
        for name in dict.fromkeys(row["filter"] for row in here):
            line = [
                np.mean([r["precision"] for r in here if r["filter"] == name and r["bits"] == bits])
                for bits in sizes
            ]
            axis.plot(range(len(sizes)), line, "o-", label=name, color=COLOURS.get(name))
        axis.set_xticks(range(len(sizes)), [str(bits) for bits in sizes])
        axis.set(ylim=(0, 1.02), title=title, xlabel="bits of a super key", ylabel="precision")
        axis.grid(alpha=0.3)
    axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    _save(figure, out)


def plot_parts(lakes: dict[str, Sequence[dict[str, Any]]], out: Path) -> None:
    """The paper's figure 5: precision with XASH's parts switched on one by one."""
    figure, axes = _figure(4.0 * len(lakes), 3.0, len(lakes))
    for axis, (title, rows) in zip(axes, lakes.items(), strict=True):
        names = list(dict.fromkeys(row["filter"] for row in rows))
        values = [np.mean([r["precision"] for r in rows if r["filter"] == n]) for n in names]
        axis.barh(range(len(names)), values, color=COLOURS["xash"])
        axis.set_yticks(range(len(names)), names, fontsize=8)
        axis.invert_yaxis()
        axis.set(xlim=(0, 1), title=title, xlabel="precision, 128 bits")
        axis.grid(axis="x", alpha=0.3)
    _save(figure, out)


def plot_key_sizes(found: dict[str, Any], out: Path) -> None:
    """The paper's figure 6: time and precision by the number of key columns."""
    figure, axes = _figure(10, 3.2, 2)
    sizes = found["sizes"]
    for name, line in found["ms"].items():
        axes[0].plot(sizes, line, "o-", label=name, color=COLOURS.get(name))
    axes[0].set(yscale="log", xlabel="key columns", title="CPU ms")
    for name, line in found["precision"].items():
        kind, bits = name.split()
        style = "o-" if bits == "128" else "x--"
        axes[1].plot(sizes, line, style, label=name, color=COLOURS.get(kind), markersize=3)
    axes[1].set(ylim=(0, 1.02), xlabel="key columns", title="precision of the row filter")
    for axis in axes:
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    _save(figure, out)


def plot_initial(lakes: dict[str, dict[str, float]], out: Path) -> None:
    """Section 7.5.4: how many cells the initial column fetches, by how it is chosen."""
    figure, axes = _figure(3.6 * len(lakes), 2.8, len(lakes))
    for axis, (title, means) in zip(axes, lakes.items(), strict=True):
        thousands = [mean / 1e3 for mean in means.values()]
        axis.barh(range(len(means)), thousands, color=COLOURS["lakejoin"])
        axis.set_yticks(range(len(means)), list(means), fontsize=8)
        axis.invert_yaxis()
        axis.set(title=title, xlabel="thousand cells fetched a query, mean")
        axis.grid(axis="x", alpha=0.3)
    _save(figure, out)
