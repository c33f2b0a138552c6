"""What an encoder is, what names it, and how another process opens the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Array: TypeAlias = "np.ndarray[Any, Any]"
Texts: TypeAlias = "pa.Array | pa.ChunkedArray | Sequence[str | None]"


@runtime_checkable
class Encoder(Protocol):
    """Strings in, unit vectors out.

    `encode` gives one row of float32 a text, of length 1; a text with nothing in it (empty, blank,
    null) is the zero vector. The same text has the same bits in every batch, and several threads
    may encode at once. `identity` says which encoder it is: vectors of two encoders are comparable
    only where it is equal.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def dimension(self) -> int: ...

    @property
    def identity(self) -> str: ...

    @property
    def spec(self) -> EncoderSpec: ...

    def encode(self, texts: Texts) -> Array: ...


@dataclass(frozen=True)
class EncoderSpec:
    """How to open an encoder again: small, and picklable, for the workers of a cluster.

    >>> from lakejoin.encoders import open_encoder
    >>> encoder = open_encoder("characters")
    >>> encoder.spec.open().identity == encoder.identity
    True
    """

    make: Callable[..., Encoder]
    arguments: tuple[Any, ...] = ()

    def open(self) -> Encoder:
        """The encoder, opened here."""
        return self.make(*self.arguments)


def identity_of(name: str, version: str, settings: Mapping[str, Any]) -> str:
    """One stable line for a name, a version and settings.

    >>> identity_of("words", "1", {"size": 3, "at": [1, 2]})
    'words 1 {"at":[1,2],"size":3}'
    """
    return f"{name} {version} {json.dumps(settings, sort_keys=True, separators=(',', ':'))}"


def is_cheap(encoder: Encoder) -> bool:
    """Whether it costs next to nothing to encode a text again, so that no vector need be kept.

    An encoder says so with an attribute `cheap`; one that says nothing is taken to be slow.

    >>> from lakejoin.encoders import open_encoder
    >>> is_cheap(open_encoder("characters"))
    True
    """
    return bool(getattr(encoder, "cheap", False))


def difference(one: str, other: str) -> str:
    """In what two identities differ, in short; their settings only where the name is the same.

    >>> difference('words 1 {"size":3,"weights":"a"}', 'words 2 {"size":3,"weights":"b"}')
    'words 1 then, words 2 now; weights "a" then, "b" now'
    >>> difference('words 1 {"size":3,"weights":"a"}', 'letters 1 {"size":3}')
    'words 1 then, letters 1 now'
    """
    (named, before), (renamed, now) = _taken_apart(one), _taken_apart(other)
    told = [f"{named} then, {renamed} now"] if named != renamed else []
    if named.partition(" ")[0] != renamed.partition(" ")[0]:
        return told[0]
    for key in sorted({*before, *now}):
        was, became = (json.dumps(found.get(key), sort_keys=True) for found in (before, now))
        if was != became:
            told.append(f"{key} {was} then, {became} now")
    return "; ".join(told)


def _taken_apart(identity: str) -> tuple[str, dict[str, Any]]:
    named, mark, rest = identity.partition(" {")
    try:
        return named, dict(json.loads("{" + rest)) if mark else {}
    except ValueError:  # an encoder of the caller's may be called anything
        return identity, {}


class Identified:
    """What all our encoders share: the identity, and pickling through the spec."""

    cheap = False  # whether encoding a text again costs next to nothing
    name: str
    version: str
    settings: Mapping[str, Any]
    spec: EncoderSpec

    @property
    def identity(self) -> str:
        """Name, version and settings as one stable line."""
        return identity_of(self.name, self.version, self.settings)

    def __repr__(self) -> str:
        return f"<encoder {self.identity}>"

    def __reduce__(self) -> tuple[Callable[..., Encoder], tuple[Any, ...]]:
        return self.spec.make, self.spec.arguments
