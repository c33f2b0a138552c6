"""The options of a build: what can change in an existing index, its optional features and its
encoder."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from lakejoin.encoders import Encoder, open_encoder
from lakejoin.encoders.factory import ENCODER_NAMES, EncoderChoice, find_named_encoder
from lakejoin.encoders.protocol import describe_difference, is_cheap
from lakejoin.errors import InputError, MissingDependency
from lakejoin.model import ReadLimits, TextEncoder, ValueRules
from lakejoin.quoting import lakejoin_command
from lakejoin.sources.table_rules import TableRules
from lakejoin.store.index_records import MeaningOptions, SegmentRecord, SuperKeyOptions
from lakejoin.store.manifest import FEATURES, IndexOptions, Manifest
from lakejoin.store.meaning_vectors import MeaningComponent
from lakejoin.store.point_sets import PointsComponent
from lakejoin.store.segment import Component, default_components, missing_components
from lakejoin.store.sketches import SketchOptions

SMALL_LAKE = 512 << 20  # bytes of files up to which a new index gets all parts by default
ENGINES = ("local", "spark")  # what can run the tasks of a build
_COMPONENT = {"meaning": MeaningComponent.name, "distance": PointsComponent.name}


@dataclass(frozen=True, slots=True)
class ChosenFeatures:
    """An index's options with its parts decided; `encoder` if it had to be opened for that.

    `notes` are sentences about default decisions.
    """

    options: IndexOptions
    encoder: Encoder | None = None
    notes: tuple[str, ...] = ()
    index: str = ""

    def open_encoder(self) -> Encoder:
        """Open the encoder of the index, which must not have changed."""
        if self.encoder is not None:
            return self.encoder
        assert self.options.meaning is not None
        return reopen_encoder(self.options.meaning, self.index)


def choose_features(
    before: IndexOptions, requested: BuildOptions, new: bool, size: int, index: str = ""
) -> ChosenFeatures:
    """Decide the parts: as requested or as before; for a `new` index by the size of the lake.

    Messages name the `index` in the commands that they print.
    """
    return replace(_choose(before, requested, new, size, index), index=index)


def _choose(
    before: IndexOptions, requested: BuildOptions, new: bool, size: int, index: str
) -> ChosenFeatures:
    if requested.parts == ():
        return ChosenFeatures(replace(before, parts=(), meaning=None))
    named = {*(before.parts or ()), *(requested.parts or ())}
    if requested.encoder is not None or requested.keep_vectors is not None:
        named.add("meaning")
    if new and before.parts is None and requested.parts is None:
        return _by_size(before, requested, named, size, index)
    if before.parts is None and not named:
        return ChosenFeatures(before)
    return _with(before, requested, named)


def _by_size(
    before: IndexOptions, asked: BuildOptions, named: set[str], size: int, index: str
) -> ChosenFeatures:
    """All parts for a small lake, as far as their packages are installed."""
    if size > SMALL_LAKE:
        missing = [part for part in FEATURES if part not in named]
        command = lakejoin_command(f"index --with {' --with '.join(missing)}", index)
        note = (
            f"search by {' and '.join(missing)} is left out, since the files exceed "
            f"{SMALL_LAKE >> 20} MB; add it with: {command}"
        )
        return replace(_with(before, asked, named), notes=(note,))
    if "meaning" in named:  # requested, so a missing encoder is an error
        return _with(before, asked, set(FEATURES))
    try:
        return _with(before, asked, set(FEATURES))
    except MissingDependency as problem:
        command = lakejoin_command("index --with meaning", index)
        note = f"{problem}; then add search by meaning with: {command}"
        return replace(_with(before, asked, {"distance"}), notes=(note,))


def _with(before: IndexOptions, asked: BuildOptions, named: set[str]) -> ChosenFeatures:
    parts = tuple(part for part in FEATURES if part in named)
    if "meaning" not in parts:
        return ChosenFeatures(replace(before, parts=parts, meaning=None))
    current = before.meaning
    if current is not None and asked.encoder is None:
        keep = current.keep if asked.keep_vectors is None else asked.keep_vectors
        return ChosenFeatures(replace(before, parts=parts, meaning=replace(current, keep=keep)))
    encoder = open_encoder(asked.encoder)
    keep = not is_cheap(encoder)
    if current is not None and current.identity == encoder.identity:
        keep = current.keep
    if asked.keep_vectors is not None:
        keep = asked.keep_vectors
    meaning = MeaningOptions(_name(asked.encoder), encoder.identity, keep)
    return ChosenFeatures(replace(before, parts=parts, meaning=meaning), encoder)


def _name(given: EncoderChoice) -> str | None:
    """The name by which another process can open an encoder; None if it cannot."""
    if given is None:
        return "default"
    if not isinstance(given, str | Path):
        return None
    return given if given in ENCODER_NAMES else str(Path(given).resolve())


def reopen_encoder(meaning: MeaningOptions, index: str = "") -> Encoder:
    """Open the encoder of an index for new texts; raises if it has changed."""
    if meaning.encoder is None:
        name = meaning.identity.partition(" {")[0]
        raise InputError(
            f"the vectors of this index were computed by {name}, which was passed in Python: "
            "refresh it with lakejoin.index(..., encoder=...), compute other vectors with "
            "--encoder, or remove them with --with none"
        )
    try:
        encoder = open_encoder(find_named_encoder(meaning.encoder))
    except MissingDependency as problem:
        remove = lakejoin_command("index --with none", index)
        way_out = f"or remove the vectors from this index with: {remove}"
        raise MissingDependency(f"{problem}, {way_out}") from None
    if encoder.identity != meaning.identity:
        recompute = lakejoin_command(f"index --encoder {shlex.quote(meaning.encoder)}", index)
        raise InputError(
            f"the encoder {meaning.encoder} has changed since the vectors of this index were "
            f"computed ({describe_difference(meaning.identity, encoder.identity)}): install the "
            f"old one, or recompute all vectors with: {recompute}"
        )
    return encoder


def index_components(
    options: IndexOptions, encoder: Callable[[], TextEncoder]
) -> tuple[Component, ...]:
    """The components of an index with these options; `encoder` opens its encoder."""
    chosen: list[Component] = list(default_components(options.permutations, options.super_keys))
    meaning = options.meaning
    if meaning is not None:
        chosen.append(MeaningComponent(encoder, meaning.identity, meaning.keep, meaning.encoder))
    if "distance" in (options.parts or ()):
        chosen.append(PointsComponent())
    return tuple(chosen)


def segment_memory(options: IndexOptions, memory: int) -> int:
    """How large segments may grow (see `SegmentBuilder.memory`) for a worker with this memory.

    Computing vectors needs twice the memory, so segments with vectors are half as large.
    """
    return memory // 2 if options.meaning is not None else memory


def drop_unused_components(record: SegmentRecord, options: IndexOptions) -> SegmentRecord:
    """A segment record without the components of parts that the index does not have."""
    gone = {_COMPONENT[part] for part in FEATURES if part not in (options.parts or ())}
    if not gone & set(record.components):
        return record
    return replace(record, components={n: c for n, c in record.components.items() if n not in gone})


def lack_vectors(records: Iterable[SegmentRecord], wanted: Iterable[Component]) -> bool:
    """Whether vectors must be computed for some of these segments."""
    meaning = [component for component in wanted if component.name == MeaningComponent.name]
    return any(missing_components(record, meaning) for record in records)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. An option left at None stays as the index was built with; changing it needs a
    rebuild (`full`), except that super keys, parts and vectors are rebuilt from the index itself.

    `engine` runs the tasks: "local" processes or "spark"; by default what suits the work.
    `permutations` is the number of entries of a signature (128; a power of two from 16 to 256):
    twice as many take twice the space and halve the variance of containment estimates.
    `super_key_bits` is the number of bits per row that the search for composite keys checks first
    (128; 256 or 512). `parts` are optional features to add: "meaning", "distance"; the empty tuple
    removes both, and a new index of a small lake gets both. `encoder` computes the vectors of
    "meaning": a name, a path or a function, as for `lakejoin.encoders.open_encoder`;
    `keep_vectors` stores full vectors, which is the default for models and functions.
    `memory` limits what one worker may use to finish a segment; a file more than twice as large as
    `chunk_bytes` is parsed in chunks of about that size; `wait` is the number of seconds to wait
    for another builder; `strict` fails, and changes nothing, if a file gives no table.
    `allow_removal` removes tables even if the lake is empty, has lost more than half of its tables,
    or cannot be listed everywhere. `follow_links` reads what links in the lake lead to even if it
    is outside the lake. The index does not remember it: whoever may write there could set it.
    `exclude` are globs of files that are not read; the empty tuple reads all again. `table_rules`
    say which files are one table, in place of the `lakejoin.toml` of the lake. `as_of` reads Delta
    and Iceberg tables as they were at that moment; the next refresh without it reads the newest.
    `tables` are globs of tables in the catalog of the Spark session, such as `sales.*`.

    >>> BuildOptions(parts=("colour",))
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: unknown part 'colour'; use meaning, distance
    """

    full: bool = False
    strict: bool = False
    allow_removal: bool = False
    follow_links: bool = False
    fold: bool | None = None
    all_columns: bool | None = None
    permutations: int | None = None
    super_key_bits: int | None = None
    parts: tuple[str, ...] | None = None
    encoder: EncoderChoice = None
    keep_vectors: bool | None = None
    exclude: tuple[str, ...] | None = None
    table_rules: TableRules | None = None
    as_of: datetime | None = None
    tables: tuple[str, ...] = ()
    wait: float = 0.0
    memory: int = 1600 << 20
    chunk_bytes: int = 96 << 20
    limits: ReadLimits = field(default_factory=ReadLimits)
    engine: str | None = None

    def __post_init__(self) -> None:
        if self.permutations is not None:
            SketchOptions(self.permutations)  # raises early if it is invalid
        self.super_keys(SuperKeyOptions())
        if self.engine is not None and self.engine not in ENGINES:
            raise InputError(f"unknown engine {self.engine!r}; use {' or '.join(ENGINES)}")
        for part in self.parts or ():
            if part not in FEATURES:
                raise InputError(f"unknown part {part!r}; use {', '.join(FEATURES)}")
        if self.parts == () and (self.encoder is not None or self.keep_vectors is not None):
            raise InputError("an encoder and --with none contradict each other: leave one out")

    def super_keys(self, before: SuperKeyOptions) -> SuperKeyOptions:
        """The super keys of an index that had `before`."""
        return before if self.super_key_bits is None else SuperKeyOptions(bits=self.super_key_bits)


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
        before.exclude if options.exclude is None else options.exclude,
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
    return (
        "--values " + ("folded" if options.rules.fold else "exact"),
        "--all-columns" if options.all_columns else "--key-columns",
        f"--permutations {options.permutations}",
    )
