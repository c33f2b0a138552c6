"""Open the vectors of an index for search, with the encoder that made them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.search.needed_part import add_part_command, require_part

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.engines.meaning.engine import VectorSearch
    from lakejoin.store.meaning_vectors import MeaningOptions
    from lakejoin.store.snapshot import Snapshot

_ADD = add_part_command("meaning")


class MeaningIndex:
    """The vectors of one snapshot; encoder and engine are cached and thread-safe."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._own: Encoder | None = None
        self._engine: VectorSearch | None = None

    @property
    def _made(self) -> MeaningOptions:
        require_part(self._snapshot, "meaning")
        made = self._snapshot.manifest.options.meaning
        assert made is not None
        return made

    def encoder(self, given: Any = None) -> Encoder:
        """Open the given encoder, which must be the index's; by default the index's own."""
        made = self._made
        if given is not None:
            from lakejoin.encoders import open_encoder

            return _check_identity(open_encoder(given), made, given)
        with self._lock:
            if self._own is None:
                self._own = _open_own(made)
            return self._own

    def engine(self, encoder: Encoder) -> VectorSearch:
        """The vector engine over this index; `encoder` is the index's."""
        with self._lock:
            if self._engine is None:
                from lakejoin.engines.meaning.engine import VectorSearch
                from lakejoin.engines.meaning.texts import open_text_space

                segments = self._snapshot.segments
                self._engine = VectorSearch([open_text_space(segment, encoder) for segment in segments])
            return self._engine


def _open_own(made: MeaningOptions) -> Encoder:
    from lakejoin.encoders import open_encoder

    if made.encoder is None:
        raise InputError(
            f"the vectors of this index were made by {_name_and_version(made.identity)}, an "
            "encoder passed in Python: pass it again, as lake.search(..., encoder=...), or make "
            f"other vectors with: {_ADD} --encoder default"
        )
    encoder = open_encoder(made.encoder)
    if encoder.identity != made.identity:
        problem = _wrong_encoder(made, encoder, made.encoder)
        raise InputError(f"{problem}: install that version, {_how_to_rebuild(made.encoder)}")
    return encoder


def _check_identity(encoder: Encoder, made: MeaningOptions, given: Any) -> Encoder:
    if encoder.identity == made.identity:
        return encoder
    if made.encoder is None:
        way_out = f"pass {_name_and_version(made.identity)} again"
    else:
        way_out = f"omit the encoder to use the index's own ({made.encoder})"
    problem = _wrong_encoder(made, encoder, _encoder_name(given))
    raise InputError(f"{problem}: {way_out}, {_how_to_rebuild(given)}")


def _wrong_encoder(made: MeaningOptions, encoder: Encoder, name: str) -> str:
    from lakejoin.encoders.protocol import describe_difference

    differences = describe_difference(made.identity, encoder.identity)
    return f"the encoder {name} did not make the vectors of this index ({differences})"


def _how_to_rebuild(given: Any) -> str:
    """How to rebuild the vectors with an encoder: a command, or a call if it is a Python object."""
    named = isinstance(given, str | os.PathLike)
    call = 'lakejoin.index(..., parts=["meaning"], encoder=...)'
    how = f"{_ADD} --encoder {os.fspath(given)}" if named else call
    return f"or rebuild all vectors with: {how}"


def _encoder_name(given: Any) -> str:
    """A readable name for an encoder."""
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    return str(getattr(given, "name", None) or getattr(given, "__qualname__", None) or given)


def _name_and_version(identity: str) -> str:
    """The identity without the settings."""
    return identity.partition(" {")[0]
