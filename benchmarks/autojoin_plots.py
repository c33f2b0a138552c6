"""The plot of `autojoin_speed.py`, as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

COLOURS = {"lakejoin": "#1b6ca8", "rapidfuzz": "#c9820a", "autofj": "#a83232"}
LABELS = {"rapidfuzz": "rapidfuzz, all pairs"}


def plot_growth(found: dict[str, Any], folder: Path) -> Path:
    """Seconds against rows; hollow where the peer ran on a part and was scaled up."""
    mpl.rcParams.update({"font.size": 9, "svg.hashsalt": "lakejoin", "svg.fonttype": "none"})
    figure, axis = plt.subplots(figsize=(5.4, 3.4))
    for name, colour in COLOURS.items():
        points = [
            (int(rows), one["seconds"], one.get("scaled", 1) > 1)
            for rows, one in found.get(name, {}).items()
            if "seconds" in one
        ]
        if not points:
            continue
        label, width = LABELS.get(name, name), 2.2 if name == "lakejoin" else 1.1
        rows, seconds = [p[0] for p in points], [p[1] for p in points]
        axis.plot(rows, seconds, "-", lw=width, color=colour, label=label)
        for x, y, scaled in points:
            face = "white" if scaled else colour
            axis.plot([x], [y], "o", ms=4, color=colour, markerfacecolor=face)
    axis.set(xscale="log", yscale="log", xlabel="rows of each table", ylabel="seconds")
    axis.legend(fontsize=7)
    path = folder / "autojoin-growth.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    print(f"wrote {path}")
    return path
