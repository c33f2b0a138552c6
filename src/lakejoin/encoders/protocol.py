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


class Identified:
    """What all our encoders share: the identity, and pickling through the spec."""

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
