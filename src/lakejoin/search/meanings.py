"""The vectors of an index, opened for searching: with its own encoder, and no other."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError
from lakejoin.search.needed_part import adding, check_part

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.search.vectors.engine import VectorSearch
    from lakejoin.store.meaning import MeaningOptions
    from lakejoin.store.snapshot import Snapshot

_ADD = adding("meaning")


class Meanings:
    """The vectors of one snapshot; what is opened is kept, and threads may share it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._own: Encoder | None = None
        self._engine: VectorSearch | None = None

    @property
    def _made(self) -> MeaningOptions:
        check_part(self._snapshot, "meaning")
        made = self._snapshot.manifest.options.meaning
        assert made is not None
        return made

    def encoder(self, given: Any = None) -> Encoder:
        """The encoder that was given, which must be the index's; its own where none was."""
        made = self._made
        if given is not None:
            from lakejoin.encoders import open_encoder

            return _checked(open_encoder(given), made, given)
        with self._lock:
            if self._own is None:
                self._own = _opened(made)
            return self._own

    def engine(self, encoder: Encoder) -> VectorSearch:
        """What finds vectors of this index near others; `encoder` is the index's."""
        with self._lock:
            if self._engine is None:
                from lakejoin.search.vectors.engine import VectorSearch
                from lakejoin.search.vectors.texts import text_space

                segments = self._snapshot.segments
                self._engine = VectorSearch([text_space(one, encoder) for one in segments])
            return self._engine


def _opened(made: MeaningOptions) -> Encoder:
    from lakejoin.encoders import open_encoder

    if made.encoder is None:
        raise InputError(
            f"the vectors of this index were made by {_short(made.identity)}, which was given in "
            f"Python: give it again, as lake.search(..., encoder=...), or make other vectors with: "
            f"{_ADD} --encoder default"
        )
    encoder = open_encoder(made.encoder)
    if encoder.identity != made.identity:
        said = _another(made, encoder, made.encoder)
        raise InputError(f"{said}: install that one, {_anew(made.encoder)}")
    return encoder


def _checked(encoder: Encoder, made: MeaningOptions, given: Any) -> Encoder:
    if encoder.identity == made.identity:
        return encoder
    if made.encoder is None:
        way_out = f"give {_short(made.identity)} again"
    else:
        way_out = f"leave the encoder out to search with the index's own ({made.encoder})"
    raise InputError(f"{_another(made, encoder, _named(given))}: {way_out}, {_anew(given)}")


def _another(made: MeaningOptions, encoder: Encoder, name: str) -> str:
    from lakejoin.encoders.protocol import difference

    told = difference(made.identity, encoder.identity)
    return f"the encoder {name} is not the one that made the vectors of this index ({told})"


def _anew(given: Any) -> str:
    """How to make vectors with an encoder: a command, unless it exists only in Python."""
    named = isinstance(given, str | os.PathLike)
    call = 'lakejoin.index(..., parts=["meaning"], encoder=...)'
    how = f"{_ADD} --encoder {os.fspath(given)}" if named else call
    return f"or make all vectors anew with: {how}"


def _named(given: Any) -> str:
    """How a person would name an encoder that was given."""
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    return str(getattr(given, "name", None) or getattr(given, "__qualname__", None) or given)


def _short(identity: str) -> str:
    """Name and version without the settings."""
    return identity.partition(" {")[0]
