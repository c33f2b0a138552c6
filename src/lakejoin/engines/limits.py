"""Checks of the limits that every search takes: how many results, and at least which share."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from lakejoin.errors import InputError


def check_k(k: Any) -> None:
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise InputError(f"k must be a positive integer, not {k!r}")


def check_share(share: Any, name: str) -> None:
    number = isinstance(share, Real) and not isinstance(share, bool)
    if not number or math.isnan(share) or not 0.0 <= share <= 1.0:
        raise InputError(f"{name} must be a number between 0 and 1, not {share!r}")
