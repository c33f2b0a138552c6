"""lakejoin finds the tables of a data lake that join with yours, shows why, and joins them."""

from __future__ import annotations

__version__ = "0.1.0"
