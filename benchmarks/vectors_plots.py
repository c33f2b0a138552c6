"""The plots of `vectors.py`, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from vectors_report import names, row_of

COLOURS = {
    "lakejoin": "#1b6ca8",
    "lakejoin, not deduplicated": "#0b3c5d",
    "lakejoin, on the index": "#0b3c5d",
    "tree": "#7fb2d9",
    "flat": "#2a9d5c",
    "PEXESO (grid)": "#a83232",
    "PEXESO-H": "#d98c8c",
    "PEXESO (groups)": "#c8553d",
    "FAISS all": "#c9820a",
    "FAISS all, BLAS": "#c9820a",
    "FAISS distinct": "#e0b45c",
    "FAISS distinct, BLAS": "#e0b45c",
    "matrix product": "#3f3f3f",
    "cKDTree, rotated": "#8c8c8c",
    "BallTree": "#bbbbbb",
    "pivot table (EPT)": "#8e6bb0",
}
DASHED = ("FAISS all", "FAISS distinct", "PEXESO-H", "lakejoin, not deduplicated")


def _figure(columns: int) -> tuple[Any, Any]:
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "lakejoin", "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, columns, figsize=(4.4 * columns + 1.6, 3.4), squeeze=False)
    return figure, axes[0]


def _save(figure: Any, axes: Any, path: Path) -> None:
    lines = {line.get_label(): line for axis in axes for line in axis.get_lines()}
    axes[-1].legend(
        lines.values(), lines.keys(), fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    print(f"wrote {path}")


def _line(axis: Any, name: str, xs: Sequence[float], ys: Sequence[float]) -> None:
    style = "--" if name in DASHED else "-"
    own = 2.2 if name == "lakejoin" else 1.1
    axis.plot(xs, ys, style, marker="o", ms=3, lw=own, label=name, color=COLOURS.get(name))


def plot_taus(lakes: Sequence[dict[str, Any]], path: Path) -> None:
    """Median time against tau, a panel a lake."""
    figure, axes = _figure(len(lakes))
    for axis, found in zip(axes, lakes, strict=True):
        share = found["base"][1]
        taus = sorted({row["tau"] for row in found["rows"] if row["share"] == share})
        for name in names(found):
            rows = [(tau, row_of(found, name, tau, share)) for tau in taus]
            drawn = [(100 * tau, row["median_ms"]) for tau, row in rows if row is not None]
            _line(axis, name, *zip(*drawn, strict=True))
        facts = found["facts"]
        axis.set(
            yscale="log",
            xlabel="tau, % of the largest distance",
            ylabel=f"CPU ms a query, T {share:.0%}",
            title=f"{facts['lake']}, {facts['dimension']} dimensions",
        )
        axis.grid(alpha=0.3, which="both")
    _save(figure, axes, path)


def plot_growth(sizes: Sequence[dict[str, Any]], path: Path) -> None:
    """Median time against the size of the lake."""
    figure, axes = _figure(1)
    every = list(dict.fromkeys(name for found in sizes for name in names(found)))
    for name in every:
        rows = [(f["facts"]["vectors"], row_of(f, name, *f["base"])) for f in sizes]
        drawn = [(vectors / 1e6, row["median_ms"]) for vectors, row in rows if row is not None]
        if len(drawn) > 1:
            _line(axes[0], name, *zip(*drawn, strict=True))
    tau, share = sizes[0]["base"]
    axes[0].set(
        xscale="log",
        yscale="log",
        xlabel="million vectors",
        ylabel=f"CPU ms a query, tau {tau:.0%}, T {share:.0%}",
        title=f"{sizes[0]['facts']['lake']}: growth",
    )
    million = [found["facts"]["vectors"] / 1e6 for found in sizes]
    axes[0].set_xticks(million, [f"{count:.2g}" for count in million])
    axes[0].minorticks_off()
    axes[0].grid(alpha=0.3, which="both")
    _save(figure, axes, path)
