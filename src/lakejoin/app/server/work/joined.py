"""A join that was asked for: its settings, and the join itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakejoin import api
from lakejoin.app.server.child_side import Tell
from lakejoin.app.server.desk import Desk

if TYPE_CHECKING:
    from lakejoin.joins.join import Join


@dataclass(frozen=True, slots=True)
class JoinAsked:
    """How two tables, named by their ids, are to be joined; `columns` of the result are kept."""

    left: str
    right: str
    on: tuple[tuple[str, str], ...] | None = None
    how: str = "inner"
    by: str | None = None
    within: str | float | None = None
    tau: float | None = None
    precision: float = 0.9
    one_to_one: bool = False
    aggregate: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> JoinAsked:
        """As a request has it; what is not known or null is left out.

        >>> asked = {"left": "lake:a", "right": "lake:b", "on": [{"left": "x", "right": "y"}]}
        >>> JoinAsked.of({**asked, "rows": 5, "tau": None}).on
        (('x', 'y'),)
        """
        known = {name: asked[name] for name in cls.__slots__ if asked.get(name) is not None}
        if "on" in known:
            known["on"] = tuple((one["left"], one["right"]) for one in known["on"]) or None
        for name in ("aggregate", "columns"):
            if name in known:
                known[name] = tuple(known[name])
        return cls(**known)

    def settings(self) -> dict[str, Any]:
        """Everything but the tables: what the identity of a result is made of."""
        return {key: value for key, value in asdict(self).items() if key not in ("left", "right")}


def joined(desk: Desk, asked: JoinAsked, tell: Tell | None = None) -> Join:
    """The join of two tables; false if there is none."""
    left, right = desk.tables.open(asked.left), desk.tables.open(asked.right)

    def progress(doing: str) -> None:
        if tell is not None:
            tell("progress", {"doing": doing})

    return api.join(
        left.given(),
        right.given(),
        list(asked.on) if asked.on else None,
        asked.how,
        asked.by,
        one_to_one=asked.one_to_one,
        aggregate=asked.aggregate,
        precision=asked.precision,
        within=asked.within,
        tau=asked.tau,
        progress=progress,
    )
