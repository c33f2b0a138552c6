"""Components: named flat arrays, each answering one kind of question, one file a segment.

The catalog, the dictionary and the rows are what a segment *is*; everything else is a component
that is built from them, by the builder for a new segment and by `lakejoin index` for a segment that
was built before the component existed, without reading the lake's files again. To add one, write a
class with `name`, `version` and `build`, and put it into `components`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.sketches import PERMUTATIONS, SketchComponent, SketchOptions

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

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Writes the arrays."""


def components(permutations: int = PERMUTATIONS) -> tuple[Component, ...]:
    """All components, with signatures of so many entries."""
    return (PostingsComponent(), SketchComponent(SketchOptions(permutations)))


COMPONENTS = components()
