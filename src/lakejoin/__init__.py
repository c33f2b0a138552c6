"""Find the tables of a data lake that join with yours, see why, and join them.

>>> import lakejoin
>>> lake = lakejoin.open("data.index")  # doctest: +SKIP
>>> lakejoin.join("mine.csv", "theirs.csv").table()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "LakeJoiner",
    "__version__",
    "connect",
    "index",
    "join",
    "open",
    "predicates",
    "read",
    "relations",
]

if TYPE_CHECKING:
    from lakejoin.api import index, join, open, predicates, relations
    from lakejoin.client.remote_lake import connect
    from lakejoin.enrich.transformer import LakeJoiner
    from lakejoin.formats.file_reader import read


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import lakejoin` stays fast."""
    if name in ("index", "join", "open", "predicates", "relations"):
        from lakejoin import api

        return getattr(api, name)
    if name == "connect":
        from lakejoin.client.remote_lake import connect

        return connect
    if name == "read":
        from lakejoin.formats.file_reader import read

        return read
    if name == "LakeJoiner":
        from lakejoin.enrich import joiner

        return joiner()
    raise AttributeError(f"module 'lakejoin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
