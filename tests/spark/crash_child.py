"""Builds in a process of their own, so that a test can kill it at any moment."""

from __future__ import annotations

import lakejoin
from fake_spark import FakeSpark
from lakejoin.pipeline.build import BuildOptions


def build(lake: str, index: str) -> None:
    """Reads the whole lake again and commits."""
    lakejoin.index(lake, index, spark=FakeSpark(), options=BuildOptions(full=True, memory=20_000))


def warm_up() -> None:
    """Loads the compiled kernels once, in the process that the children are forked from."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lake").mkdir()
        (Path(folder) / "lake" / "a.csv").write_text("a,b\nX,1\ny,2\n")
        build(f"{folder}/lake", f"{folder}/index")


warm_up()
