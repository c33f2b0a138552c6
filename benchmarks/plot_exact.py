"""Plots of `search_exact.py`: time against the size of the query, as in the thesis's figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from lakejoin.model import Array

mpl.use("svg")
import matplotlib.pyplot as plt

from search_timing import Timings
from set_queries import BANDS, INTERVALS, band_name

STYLE = {
    "auto": ("lakejoin (auto)", "#1b6ca8", "o-"),
    "merge": ("MergeList", "#666666", "^-"),
    "probe": ("ProbeSet", "#c9820a", "v-"),
    "josie": ("JOSIE", "#a83232", "D-"),
    "DuckDB": ("DuckDB", "#3f9b3f", "x:"),
    "DuckDB tuned": ("DuckDB, tuned", "#8fbc4f", "+:"),
}


def plot(timings: Timings, kind: str, title: str, ks: Sequence[int], out: Path) -> None:
    """One row of plots for each k, one column for each band; mean CPU time of an interval."""
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "lakejoin", "font.size": 9})
    bands = BANDS[kind]
    figure, axes = plt.subplots(
        len(ks), len(bands), figsize=(3.4 * len(bands), 2.4 * len(ks)), squeeze=False
    )
    for row, k in enumerate(ks):
        for band, edges in enumerate(bands):
            axis = axes[row][band]
            for name, (label, colour, style) in STYLE.items():
                if (name, k) in timings.cpu:
                    size, mean = _by_interval(timings, name, k, band, edges)
                    axis.plot(size, mean, style, color=colour, label=label, markersize=3, lw=1)
            axis.set_yscale("log")
            axis.grid(alpha=0.3, lw=0.5)
            axis.set_title(f"{band_name(edges)} values, k = {k}", fontsize=9)
            if band == 0:
                axis.set_ylabel("CPU ms a query")
            if row == len(ks) - 1:
                axis.set_xlabel("distinct values of the query")
    handles, labels = axes[list(ks).index(10) if 10 in ks else 0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=10)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


def _by_interval(
    timings: Timings, name: str, k: int, band: int, edges: tuple[int, int]
) -> tuple[Array, Array]:
    here = timings.in_band(band)
    taken = 1e3 * timings.of(name, k, band)
    size = np.array([timings.queries[i].shared for i in here])
    limits = np.linspace(*edges, INTERVALS + 1)
    interval = np.digitize(size, limits[1:-1])
    run = ~np.isnan(taken)
    used = [i for i in range(INTERVALS) if (run & (interval == i)).any()]
    return (
        np.array([size[run & (interval == i)].mean() for i in used]),
        np.array([taken[run & (interval == i)].mean() for i in used]),
    )
