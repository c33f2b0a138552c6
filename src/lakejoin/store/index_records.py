"""What the manifest records: segments, their components, other files, and options of components.

Nothing here needs a library, so that `lakejoin info` reads a manifest without loading any.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lakejoin.errors import InputError

PERMUTATIONS = 128  # entries of a signature
KEY_SIZES = (128, 256, 512)  # bits of a super key
ROW_FILTER = "fitted"  # the kind of row filter that fills super keys


@dataclass(frozen=True, slots=True)
class ComponentRecord:
    """A component's file in the manifest; `made_with` are the options it was built with."""

    version: int
    file: str
    bytes: int
    checksum: str
    made_with: str = ""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A segment in the manifest; `dead` are the numbers of its removed tables."""

    id: str
    tables: int
    columns: int
    rows: int
    cells: int
    values: int
    pairs: int
    components: dict[str, ComponentRecord]
    dead: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.components.values())


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file beside the manifest."""

    name: str
    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class MeaningOptions:
    """How the vectors of an index are computed.

    `encoder` is the name or path of the encoder; None for one passed as an object, such as a
    function. `identity` identifies it, and `keep` says whether full vectors are stored.
    """

    encoder: str | None
    identity: str
    keep: bool = False


@dataclass(frozen=True, slots=True)
class SuperKeyOptions:
    """How many bits a row has: 128, 256 or 512. `kind` is the name of the row filter.

    >>> SuperKeyOptions(bits=100)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: super keys have 128, 256 or 512 bits, not 100
    """

    kind: str = field(default=ROW_FILTER, init=False)
    bits: int = 128

    def __post_init__(self) -> None:
        if self.bits not in KEY_SIZES:
            raise InputError(f"super keys have 128, 256 or 512 bits, not {self.bits}")
