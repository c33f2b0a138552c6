"""The job that writes a chain as code."""

from __future__ import annotations

from typing import Any

from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk

Told = dict[str, Any]


def code(desk: Desk, job: Told, tell: Tell) -> Told:
    raise NotImplementedError
