"""Components: named flat arrays, each answering one kind of question, one file a segment.

The catalog, the dictionary and the rows are what a segment *is*; everything else is a component
that is built from them, by the builder for a new segment and by `lakejoin index` for a segment that
was built before the component existed, without reading the lake's files again. To add one, write a
class with `name`, `version`, `made_with` and `build`, and put it into `components`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.pieces import PiecesComponent
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.sketches import PERMUTATIONS, SketchComponent, SketchOptions
from lakejoin.store.superkeys import SuperKeyComponent, SuperKeyOptions

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


class Component(Protocol):
    """Builds one file of arrays from a segment's catalog, dictionary and rows."""

    @property
    def name(self) -> str:
        """The file's name begins with it."""

    @property
    def version(self) -> int:
        """Raised when the arrays change: older files are then built anew."""

    @property
    def made_with(self) -> str:
        """The options that may change without a new version: other ones are then built anew."""

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Writes the arrays."""


_SUPER_KEYS = SuperKeyOptions()


def components(
    permutations: int = PERMUTATIONS, super_keys: SuperKeyOptions = _SUPER_KEYS
) -> tuple[Component, ...]:
    """All components: signatures of so many entries, and such super keys."""
    return (
        PostingsComponent(),
        SketchComponent(SketchOptions(permutations)),
        SuperKeyComponent(super_keys),
        PiecesComponent(),
    )


COMPONENTS = components()
