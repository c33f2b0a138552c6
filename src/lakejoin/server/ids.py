"""Ids of tables (`lake:NAME`, `upload:ID`, `result:ID`) and hashes as ids."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lakejoin.server.problems import Problem

TableKind = Literal["lake", "upload", "result"]

_MADE = re.compile(r"[a-z2-7]{26}(-\d{1,4})?")
_MAX_NAME = 4_000


@dataclass(frozen=True, slots=True)
class TableId:
    """A table of the lake by name, or an upload or result by an id hashed from its content.

    >>> str(TableId.of("lake:a/b.csv#c")), TableId.of("lake:a/b.csv#c").name
    ('lake:a/b.csv#c', 'a/b.csv#c')
    """

    kind: TableKind
    name: str

    @classmethod
    def of(cls, text: str) -> TableId:
        """Parse an id; a text without a kind is the name of a table of the lake."""
        kind, _, name = text.partition(":")
        if kind not in get_args(TableKind):
            kind, name = "lake", text
        if not name or len(name) > _MAX_NAME or (kind != "lake" and not _MADE.fullmatch(name)):
            raise Problem(
                "input", f"{text[:100]!r} is not a table id: use lake:NAME, upload:ID or result:ID"
            )
        return cls(kind, name)  # type: ignore[arg-type]  # checked above

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def hash_id(*parts: Any) -> str:
    """Hash plain values to an id; equal values give equal ids.

    >>> hash_id("join", {"b": 1, "a": None}) == hash_id("join", {"a": None, "b": 1})
    True
    >>> len(hash_id())
    26
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return _hash_bytes(text.encode())


def _hash_bytes(data: bytes) -> str:
    """Hash bytes to an id."""
    return base64.b32encode(hashlib.sha256(data).digest()).decode().lower()[:26]
