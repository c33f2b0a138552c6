"""How an index is to be built, and which of that an index that exists can still take."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakejoin.encoders.opening import Given
from lakejoin.errors import InputError
from lakejoin.model import ReadLimits, ValueRules
from lakejoin.store.manifest import PARTS, IndexOptions, Manifest
from lakejoin.store.sketches import SketchOptions
from lakejoin.store.superkeys import SuperKeyOptions


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. What is left at None is as the index was built with; to change it, an index
    has to be built anew (`full`); but super keys, parts and vectors are then made from what the
    index holds.

    `permutations` is how many entries a signature has (128; a power of two from 16 to 256): twice
    as many take twice the room and halve the variance of a containment estimated from sketches.
    `super_key_bits` is how many bits of a row the search for composite keys looks at first (128;
    256 or 512), and `super_key_kind` how they are made (one of `lakejoin.store.superkeys.KINDS`).
    `parts` are to be added: "meaning", "distance"; the empty tuple takes both away, and a new index
    of a small lake gets both. `encoder` makes the vectors of "meaning": a name, a path or a
    function, as `lakejoin.encoders.open_encoder` takes it; `keep_vectors` keeps them whole, as is
    done anyway with those of models and functions.
    `memory` bounds what one worker may take to finish a segment; a file more than twice as large
    as `piece_bytes` is parsed in pieces of about that size; `wait` is how many seconds to wait for
    another builder; `strict` fails, and changes nothing, where a file gives no table.

    >>> BuildOptions(parts=("colour",))
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: an index has no part 'colour'; there are meaning, distance
    """

    full: bool = False
    strict: bool = False
    fold: bool | None = None
    all_columns: bool | None = None
    permutations: int | None = None
    super_key_bits: int | None = None
    super_key_kind: str | None = None
    parts: tuple[str, ...] | None = None
    encoder: Given = None
    keep_vectors: bool | None = None
    wait: float = 0.0
    memory: int = 1600 << 20
    piece_bytes: int = 96 << 20
    limits: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        if self.permutations is not None:
            SketchOptions(self.permutations)  # tells what is wrong before anything is begun
        self.super_keys(SuperKeyOptions())
        for part in self.parts or ():
            if part not in PARTS:
                raise InputError(f"an index has no part {part!r}; there are {', '.join(PARTS)}")
        if self.parts == () and (self.encoder is not None or self.keep_vectors is not None):
            raise InputError("an encoder makes the part that --with none leaves out: choose one")

    def super_keys(self, before: SuperKeyOptions) -> SuperKeyOptions:
        """What super keys are wanted of an index that has had such ones."""
        kind = before.kind if self.super_key_kind is None else self.super_key_kind
        bits = before.bits if self.super_key_bits is None else self.super_key_bits
        return SuperKeyOptions(kind, bits)


def index_options(old: Manifest, options: BuildOptions) -> IndexOptions:
    """The options of the index; a change of them needs --full, since old segments keep theirs.

    Super keys may change without it: all segments get new ones, since these need no file read. So
    may the parts, which are decided once the lake is listed: here they are as before.
    """
    before = old.options
    wanted = IndexOptions(
        before.rules if options.fold is None else ValueRules(fold=options.fold),
        before.all_columns if options.all_columns is None else options.all_columns,
        before.permutations if options.permutations is None else options.permutations,
        options.super_keys(before.super_keys),
        before.parts,
        before.meaning,
    )
    pairs = zip(_spelled(before), _spelled(wanted), strict=True)
    differs = " and ".join(was for was, now in pairs if was != now)
    if old.version and differs and not options.full:
        raise InputError(
            f"this index was built with {differs}: leave that out or as it was, or rebuild the "
            "index with --full to change it"
        )
    return wanted


def _spelled(options: IndexOptions) -> tuple[str, ...]:
    """The options of an index as the command takes them."""
    return (
        "--values " + ("folded" if options.rules.fold else "exact"),
        "--all-columns" if options.all_columns else "--key-columns",
        f"--permutations {options.permutations}",
    )
