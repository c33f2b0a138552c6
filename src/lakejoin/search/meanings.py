"""The vectors of an index, opened for searching: with its own encoder, and no other."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.encoders import Encoder
    from lakejoin.search.vectors.engine import VectorSearch
    from lakejoin.store.meaning import MeaningOptions
    from lakejoin.store.snapshot import Snapshot

_ADD = "lakejoin index --with meaning"


class Meanings:
    """The vectors of one snapshot; what is opened is kept, and threads may share it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._own: Encoder | None = None
        self._engine: VectorSearch | None = None

    @property
    def _made(self) -> MeaningOptions:
        from lakejoin.store.meaning import MeaningComponent

        made = self._snapshot.manifest.options.meaning
        name, version = MeaningComponent.name, MeaningComponent.version
        found = [segment.record.components.get(name) for segment in self._snapshot.segments]
        if made is None or any(one is None or one.version < version for one in found):
            raise InputError(f"this index holds no vectors to search by meaning: {_ADD} adds them")
        return made

    def encoder(self, given: Any = None) -> Encoder:
        """The encoder that was given, which must be the index's; its own where none was."""
        made = self._made
        if given is not None:
            from lakejoin.encoders import open_encoder

            return _checked(open_encoder(given), made, _named(given))
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
        raise InputError(_another(made, encoder, made.encoder) + "install that one, " + _anew(made))
    return encoder


def _checked(encoder: Encoder, made: MeaningOptions, name: str) -> Encoder:
    if encoder.identity == made.identity:
        return encoder
    own = made.encoder or _short(made.identity)
    raise InputError(
        _another(made, encoder, name)
        + f"leave the encoder out to search with the index's own ({own}), "
        + _anew(made, name)
    )


def _another(made: MeaningOptions, encoder: Encoder, name: str) -> str:
    from lakejoin.encoders.protocol import difference

    told = difference(made.identity, encoder.identity)
    return f"the encoder {name} is not the one that made the vectors of this index ({told}): "


def _anew(made: MeaningOptions, name: str | None = None) -> str:
    return f"or make all vectors anew with: {_ADD} --encoder {name or made.encoder}"


def _named(given: Any) -> str:
    """How a person would name an encoder that was given."""
    if isinstance(given, str | os.PathLike):
        return os.fspath(given)
    return str(getattr(given, "name", None) or getattr(given, "__qualname__", None) or given)


def _short(identity: str) -> str:
    """Name and version without the settings."""
    return identity.partition(" {")[0]
