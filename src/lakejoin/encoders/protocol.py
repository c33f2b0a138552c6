"""The encoder protocol, encoder identities, and specs by which other processes open encoders."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from lakejoin.model import TextEncoder

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import Array

Texts: TypeAlias = "pa.Array | pa.ChunkedArray | Sequence[str | None]"


@runtime_checkable
class Encoder(TextEncoder, Protocol):
    """Strings in, unit vectors out.

    `encode` returns one float32 row of length 1 per text; an empty, blank or null text is the zero
    vector. The same text has the same bits in every batch, and several threads may encode at once.
    Vectors of two encoders are comparable only if their `identity` is equal.
    """

    @property
    def spec(self) -> EncoderSpec: ...

    def encode(self, texts: Texts) -> Array: ...


@dataclass(frozen=True)
class EncoderSpec:
    """How to open an encoder again; small and picklable, for the workers of a cluster.

    >>> from lakejoin.encoders import open_encoder
    >>> encoder = open_encoder("characters")
    >>> encoder.spec.open().identity == encoder.identity
    True
    """

    make: Callable[..., Encoder]
    arguments: tuple[Any, ...] = ()

    def open(self) -> Encoder:
        return self.make(*self.arguments)


def identity_of(name: str, version: str, settings: Mapping[str, Any]) -> str:
    """A stable text of a name, a version and settings.

    >>> identity_of("words", "1", {"size": 3, "at": [1, 2]})
    'words 1 {"at":[1,2],"size":3}'
    """
    return f"{name} {version} {json.dumps(settings, sort_keys=True, separators=(',', ':'))}"


def is_cheap(encoder: Encoder) -> bool:
    """Whether encoding a text again costs so little that its vector need not be stored.

    An encoder states that by an attribute `cheap`; without it, it counts as slow.

    >>> from lakejoin.encoders import open_encoder
    >>> is_cheap(open_encoder("characters"))
    True
    """
    return bool(getattr(encoder, "cheap", False))


def describe_difference(before_identity: str, now_identity: str) -> str:
    """Describe how two identities differ; settings are compared only if the names are equal.

    >>> describe_difference('words 1 {"size":3,"weights":"a"}', 'words 2 {"size":3,"weights":"b"}')
    'words 1 then, words 2 now; weights "a" then, "b" now'
    >>> describe_difference('words 1 {"size":3,"weights":"a"}', 'letters 1 {"size":3}')
    'words 1 then, letters 1 now'
    """
    (named, before), (renamed, now) = (
        _split_identity(before_identity),
        _split_identity(now_identity),
    )
    changes = [f"{named} then, {renamed} now"] if named != renamed else []
    if named.partition(" ")[0] != renamed.partition(" ")[0]:
        return changes[0]
    for key in sorted({*before, *now}):
        was, became = (json.dumps(settings.get(key), sort_keys=True) for settings in (before, now))
        if was != became:
            changes.append(f"{key} {was} then, {became} now")
    return "; ".join(changes)


def _split_identity(identity: str) -> tuple[str, dict[str, Any]]:
    named, mark, rest = identity.partition(" {")
    try:
        return named, dict(json.loads("{" + rest)) if mark else {}
    except ValueError:  # an encoder of the caller's may have any identity
        return identity, {}


class BaseEncoder:
    """Base of our encoders: identity, and pickling by the spec."""

    cheap = False  # whether encoding a text again costs next to nothing
    name: str
    version: str
    settings: Mapping[str, Any]
    spec: EncoderSpec

    @property
    def identity(self) -> str:
        return identity_of(self.name, self.version, self.settings)

    def __repr__(self) -> str:
        return f"<encoder {self.identity}>"

    def __reduce__(self) -> tuple[Callable[..., Encoder], tuple[Any, ...]]:
        return self.spec.make, self.spec.arguments
