"""The plots of `search_containment`, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def _figure(width: int, height: int, columns: int, rows: int = 1) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "lakejoin", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    print(f"wrote {path}")


_COLOURS = {
    "lakejoin": "#1b6ca8",
    "lakejoin, thesis's bands": "#2a9d5c",
    "lakejoin, one partition": "#8c8c8c",
    "datasketch": "#c8553d",
}
_DASHES = {1: (1, 1), 8: (2, 2), 16: (None, None), 32: (6, 2)}


def plot_quality(lake: str, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Precision and recall by threshold, a row of plots for each band of query sizes."""
    bands = list(dict.fromkeys(r["band"] for r in rows))
    figure, axes = _figure(10, 3 * len(bands), 2, len(bands))
    for band, pair in zip(bands, axes, strict=True):
        for key, axis in zip(("precision", "recall"), pair, strict=True):
            for name, partitions in dict.fromkeys((r["name"], r["partitions"]) for r in rows):
                here = (name, partitions, band)
                line = [r for r in rows if (r["name"], r["partitions"], r["band"]) == here]
                dash = _DASHES[partitions]
                axis.plot(
                    [r["threshold"] for r in line],
                    [r[key] for r in line],
                    color=_COLOURS[name],
                    linewidth=1.3,
                    dashes=dash if dash[0] else (None, None),
                    label=f"{name}, {partitions}",
                )
            axis.set(ylim=(0, 1.02), xlabel="threshold", title=f"{key}, queries 10 to {band:,}")
            axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=6, ncol=2)
    _save(figure, folder / f"containment-quality-{lake}.svg")


def plot_speed(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Index and query time by the number of columns."""
    figure, (axes,) = _figure(9, 3, 2)
    rows = [r for r in rows if r["threshold"] == 0.5]
    for name in ("ours", "datasketch"):
        colour = _COLOURS["lakejoin" if name == "ours" else name]
        label = "lakejoin" if name == "ours" else name
        x = [r["columns"] for r in rows]
        axes[0].plot(x, [r[name]["index"] for r in rows], "o-", color=colour, label=label)
        axes[1].plot(x, [r[name]["micros"] / 1e3 for r in rows], "o-", color=colour, label=label)
    for axis, title in zip(axes, ("index, CPU s", "query, CPU ms"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="columns", title=f"{title} (t = 0.5)")
        axis.grid(alpha=0.3, which="both")
        axis.legend()
    _save(figure, folder / "containment-speed.svg")


def plot_errors(sizes: Sequence[int], errors: dict[str, list[float]], folder: Path) -> None:
    """The error of each scheme by set size."""
    figure, ((axis,),) = _figure(6, 3, 1)
    for name, line in errors.items():
        if name.endswith("128"):
            axis.plot(sizes, line, "o-", label=name.removesuffix(" 128"))
    axis.axhline(np.sqrt(0.25 / 128), color="#888", linestyle=":", label="128 independent")
    axis.set(xscale="log", xlabel="values in each set", title="error of the Jaccard estimate")
    axis.set(ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)
    _save(figure, folder / "containment-schemes.svg")
