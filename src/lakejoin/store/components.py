"""Components: named flat arrays for one kind of search, one file per segment.

The catalog, the dictionary and the rows make up a segment; every other component is built from
them: by the segment builder for a new segment, and by `lakejoin index` for a segment older than the
component, without reading the lake's files again. To add one, write a class with `name`, `version`,
`made_with` and `build`, and add it to `default_components`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.rare_tokens import RareTokensComponent
from lakejoin.store.postings import PostingsComponent
from lakejoin.store.sketches import PERMUTATIONS, SketchComponent, SketchOptions
from lakejoin.store.super_keys import SuperKeyComponent, SuperKeyOptions

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


class Component(Protocol):
    """Builds one file of arrays from a segment's catalog, dictionary and rows."""

    @property
    def name(self) -> str:
        """The prefix of the file's name."""

    @property
    def version(self) -> int:
        """Increment it when the arrays change: older files are then rebuilt."""

    @property
    def made_with(self) -> str:
        """The options it was built with: files built with others are rebuilt."""

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Write the arrays."""


_SUPER_KEYS = SuperKeyOptions()


def default_components(
    permutations: int = PERMUTATIONS, super_keys: SuperKeyOptions = _SUPER_KEYS
) -> tuple[Component, ...]:
    """The components that every index has, with these options."""
    return (
        PostingsComponent(),
        SketchComponent(SketchOptions(permutations)),
        SuperKeyComponent(super_keys),
        RareTokensComponent(),
    )


COMPONENTS = default_components()
