"""Examples in docstrings run in the folder of `tests/example_lake.py`."""

from example_lake import example_folder, examples

__all__ = ["example_folder", "examples"]
