"""Decides the optional parts of an index (meaning, distance) and opens its encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lakejoin.encoders import Encoder, open_encoder
from lakejoin.encoders.factory import ENCODER_NAMES, EncoderChoice
from lakejoin.encoders.protocol import describe_difference, is_cheap
from lakejoin.errors import InputError, MissingDependency
from lakejoin.pipeline.options_more import BuildOptions
from lakejoin.store.components import Component, default_components
from lakejoin.store.manifest import FEATURES, IndexOptions
from lakejoin.store.meaning_vectors import MeaningComponent, MeaningOptions, TextEncoder
from lakejoin.store.point_sets import PointsComponent
from lakejoin.store.segment import SegmentRecord, missing_components

SMALL_LAKE = 512 << 20  # bytes of files up to which a new index gets all parts by default
_COMPONENT = {"meaning": MeaningComponent.name, "distance": PointsComponent.name}


@dataclass(frozen=True, slots=True)
class ChosenFeatures:
    """An index's options with its parts decided; `encoder` if it had to be opened for that.

    `notes` are sentences about default decisions.
    """

    options: IndexOptions
    encoder: Encoder | None = None
    notes: tuple[str, ...] = ()

    def opened(self) -> Encoder:
        """Open the encoder of the index, which must not have changed."""
        if self.encoder is not None:
            return self.encoder
        assert self.options.meaning is not None
        return reopen_encoder(self.options.meaning)


def choose_features(before: IndexOptions, asked: BuildOptions, new: bool, size: int) -> ChosenFeatures:
    """Decide the parts: as requested or as before; for a `new` index by the size of the lake."""
    if asked.parts == ():
        return ChosenFeatures(replace(before, parts=(), meaning=None))
    named = {*(before.parts or ()), *(asked.parts or ())}
    if asked.encoder is not None or asked.keep_vectors is not None:
        named.add("meaning")
    if new and before.parts is None and asked.parts is None:
        return _by_size(before, asked, named, size)
    if before.parts is None and not named:
        return ChosenFeatures(before)
    return _with(before, asked, named)


def _by_size(before: IndexOptions, asked: BuildOptions, named: set[str], size: int) -> ChosenFeatures:
    """All parts for a small lake, as far as their packages are installed."""
    if size > SMALL_LAKE:
        missing = [part for part in FEATURES if part not in named]
        note = (
            f"search by {' and '.join(missing)} is left out, since the files exceed "
            f"{SMALL_LAKE >> 20} MB; add it with: lakejoin index --with {' --with '.join(missing)}"
        )
        return replace(_with(before, asked, named), notes=(note,))
    if "meaning" in named:  # requested, so a missing encoder is an error
        return _with(before, asked, set(FEATURES))
    try:
        return _with(before, asked, set(FEATURES))
    except MissingDependency as problem:
        note = f"{problem}; then add search by meaning with: lakejoin index --with meaning"
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


def reopen_encoder(meaning: MeaningOptions) -> Encoder:
    """Open the encoder of an index for new texts; raises if it has changed."""
    if meaning.encoder is None:
        name = meaning.identity.partition(" {")[0]
        raise InputError(
            f"the vectors of this index were computed by {name}, which was passed in Python: "
            "refresh it with lakejoin.index(..., encoder=...), compute other vectors with "
            "--encoder, or remove them with --with none"
        )
    try:
        encoder = open_encoder(meaning.encoder)
    except MissingDependency as problem:
        way_out = "or remove the vectors from this index with: lakejoin index --with none"
        raise MissingDependency(f"{problem}, {way_out}") from None
    if encoder.identity != meaning.identity:
        raise InputError(
            f"the encoder {meaning.encoder} has changed since the vectors of this index were "
            f"computed ({describe_difference(meaning.identity, encoder.identity)}): install the old one, or "
            f"recompute all vectors with: lakejoin index --encoder {meaning.encoder}"
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
