"""Count what is lost while reading."""

from __future__ import annotations

from lakejoin.model import Loss


class Losses:
    """What was lost while reading: a count per reason, with the first occurrence.

    >>> seen = Losses(); seen.add("row too long", 2, "line 7"); seen.add("row too long", 1)
    >>> seen.listed()
    [Loss(reason='row too long', count=3, detail='line 7')]
    """

    def __init__(self) -> None:
        self._seen: dict[str, Loss] = {}

    def add(self, reason: str, count: int = 1, detail: str = "") -> None:
        """Add `count` losses for `reason`; the first detail is kept."""
        if count <= 0:
            return
        known = self._seen.get(reason)
        if known is None:
            self._seen[reason] = Loss(reason, count, detail)
        else:
            self._seen[reason] = Loss(reason, known.count + count, known.detail or detail)

    def listed(self) -> list[Loss]:
        """All losses, in order of first occurrence."""
        return list(self._seen.values())
