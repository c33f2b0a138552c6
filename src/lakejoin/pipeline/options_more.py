"""The options of a build, and which of them can change for an existing index."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakejoin.encoders.factory import EncoderChoice
from lakejoin.errors import InputError
from lakejoin.model import ReadLimits, ValueRules
from lakejoin.store.manifest import FEATURES, IndexOptions, Manifest
from lakejoin.store.sketches import SketchOptions
from lakejoin.store.super_keys import SuperKeyOptions


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. An option left at None stays as the index was built with; changing it needs a
    rebuild (`full`), except that super keys, parts and vectors are rebuilt from the index itself.

    `permutations` is the number of entries of a signature (128; a power of two from 16 to 256):
    twice as many take twice the space and halve the variance of containment estimates.
    `super_key_bits` is the number of bits per row that the search for composite keys checks first
    (128; 256 or 512), and `super_key_kind` how they are computed (one of
    `lakejoin.store.super_keys.KINDS`). `parts` are optional features to add: "meaning", "distance";
    the empty tuple removes both, and a new index of a small lake gets both. `encoder` computes the
    vectors of "meaning": a name, a path or a function, as for `lakejoin.encoders.open_encoder`;
    `keep_vectors` stores full vectors, which is the default for models and functions.
    `memory` limits what one worker may use to finish a segment; a file more than twice as large as
    `piece_bytes` is parsed in chunks of about that size; `wait` is the number of seconds to wait
    for another builder; `strict` fails, and changes nothing, if a file gives no table.

    >>> BuildOptions(parts=("colour",))
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: unknown part 'colour'; use meaning, distance
    """

    full: bool = False
    strict: bool = False
    fold: bool | None = None
    all_columns: bool | None = None
    permutations: int | None = None
    super_key_bits: int | None = None
    super_key_kind: str | None = None
    parts: tuple[str, ...] | None = None
    encoder: EncoderChoice = None
    keep_vectors: bool | None = None
    wait: float = 0.0
    memory: int = 1600 << 20
    piece_bytes: int = 96 << 20
    limits: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        if self.permutations is not None:
            SketchOptions(self.permutations)  # raises early if it is invalid
        self.super_keys(SuperKeyOptions())
        for part in self.parts or ():
            if part not in FEATURES:
                raise InputError(f"unknown part {part!r}; use {', '.join(FEATURES)}")
        if self.parts == () and (self.encoder is not None or self.keep_vectors is not None):
            raise InputError("an encoder and --with none contradict each other: leave one out")

    def super_keys(self, before: SuperKeyOptions) -> SuperKeyOptions:
        """The super keys of an index that had `before`."""
        kind = before.kind if self.super_key_kind is None else self.super_key_kind
        bits = before.bits if self.super_key_bits is None else self.super_key_bits
        return SuperKeyOptions(kind, bits)


def index_options(old: Manifest, options: BuildOptions) -> IndexOptions:
    """The options of the index; changing them needs --full, since old segments keep theirs.

    Super keys can change without it, since they are rebuilt without reading files. So can the
    parts, which are decided once the lake is listed: here they stay as before.
    """
    before = old.options
    after = IndexOptions(
        before.rules if options.fold is None else ValueRules(fold=options.fold),
        before.all_columns if options.all_columns is None else options.all_columns,
        before.permutations if options.permutations is None else options.permutations,
        options.super_keys(before.super_keys),
        before.parts,
        before.meaning,
    )
    pairs = zip(_as_arguments(before), _as_arguments(after), strict=True)
    differs = " and ".join(was for was, now in pairs if was != now)
    if old.version and differs and not options.full:
        raise InputError(
            f"this index was built with {differs}: keep that, or rebuild the index with --full to "
            "change it"
        )
    return after


def _as_arguments(options: IndexOptions) -> tuple[str, ...]:
    """The options of an index as command line arguments."""
    return (
        "--values " + ("folded" if options.rules.fold else "exact"),
        "--all-columns" if options.all_columns else "--key-columns",
        f"--permutations {options.permutations}",
    )
