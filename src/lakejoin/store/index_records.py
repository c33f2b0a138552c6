"""What the manifest records: segments, their components, other files, and options of components.

Nothing here needs a library, so that `lakejoin info` reads a manifest without loading any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from lakejoin.errors import InputError

PERMUTATIONS = 128  # entries of a signature
KEY_SIZES = (128, 256, 512)  # bits of a super key
ROW_FILTER = "fitted"  # the kind of row filter that fills super keys


T = TypeVar("T")
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "str | None": (str, type(None)),
}


def read_record(kind: type[T], body: Any, **parsed: Any) -> T:
    """A record from JSON that may be forged: `parsed` fields are ready, and every other must have
    its type. Numbers are not negative, and a name is one in its folder.

    >>> read_record(NamedFile, {"name": "../x", "bytes": 1, "checksum": ""})
    Traceback (most recent call last):
        ...
    ValueError: name of NamedFile is '../x'
    """
    if not isinstance(body, Mapping):
        raise ValueError(f"{kind.__name__} is {body!r}")
    types = {f.name: f.type for f in fields(kind)}  # type: ignore[arg-type]
    for name, value in body.items():
        if name not in parsed:
            known = _TYPES[str(types[name])]
            wrong = not isinstance(value, known) or isinstance(value, bool) != (known == (bool,))
            negative = isinstance(value, int | float) and not value >= 0
            path = name in ("id", "name", "file") and (not value or "/" in value or value == "..")
            if wrong or negative or path:
                raise ValueError(f"{name} of {kind.__name__} is {value!r}")
    return kind(**{**body, **parsed})


def read_numbers(body: Any) -> tuple[int, ...]:
    """A list of numbers, such as those of removed tables, from JSON that may be forged."""
    if not isinstance(body, list) or not all(type(n) is int and n >= 0 for n in body):
        raise ValueError(f"{body!r} is not a list of numbers")
    return tuple(body)


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
