"""A segment: whole tables with a dictionary of their own, and the components built from them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lakejoin.errors import DamagedIndex, LakejoinError
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.quoting import lakejoin_command
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord, MissingFile
from lakejoin.store.catalog import Catalog, TableEntry
from lakejoin.store.dictionary import Dictionary
from lakejoin.store.index_records import (
    PERMUTATIONS,
    ComponentRecord,
    SegmentRecord,
    SuperKeyOptions,
)
from lakejoin.store.meaning_vectors import (
    MeaningComponent,
    MeaningVectors,
    columns_with_meaning,
    meaning_agrees,
)
from lakejoin.store.point_detection import point_sets_agree
from lakejoin.store.point_sets import PointsComponent, PointSets
from lakejoin.store.postings import Postings, PostingsComponent
from lakejoin.store.rare_tokens import RareTokens, RareTokensComponent, rare_tokens_agree
from lakejoin.store.rows import Rows
from lakejoin.store.sketches import SketchComponent, Sketches, SketchOptions
from lakejoin.store.super_keys import BloomFilter, SuperKeyComponent, SuperKeys, super_keys_agree

if TYPE_CHECKING:
    import pyarrow as pa


_OPTIONS = {"meaning": " --with meaning", "points": " --with distance"}


@dataclass(eq=False)
class Segment:
    """An opened segment; its files are mapped when first used.

    `fresh_lists` are the posting lists of a segment under construction, not written yet.
    `check_current` raises `RetiredIndex` if files may be missing because they were replaced.
    """

    location: Location
    record: SegmentRecord
    fresh_lists: tuple[Array, Array, Array] | None = field(default=None, repr=False)
    check_current: Callable[[], None] = field(default=lambda: None, repr=False)
    _opened: list[ArrayFile] = field(default_factory=list, init=False, repr=False)

    def file(self, component: str, version: int = 1) -> ArrayFile:
        """Open the file of a component, which must have at least this version."""
        record = self.record.components.get(component)
        if record is None or record.version < version:
            lack = f"no {component}" if record is None else f"{component} in an older format"
            option = _OPTIONS.get(component, "")
            raise DamagedIndex(
                f"segment {self.record.id} has {lack}; update it with: "
                f"{lakejoin_command(f'index{option}', self.index)}"
            )
        known = FileRecord(record.bytes, record.checksum)
        try:
            file = ArrayFile(self.location / record.file, known, self._advice)
        except MissingFile:
            self.check_current()
            raise
        self._opened.append(file)
        return file

    @property
    def index(self) -> str:
        """The path or URI of the index; empty for a segment outside one."""
        return self.location.uri.rpartition("/segments/")[0]

    @property
    def _advice(self) -> str:
        return f"rebuild it with: {lakejoin_command('index --full', self.index)}"

    def check_unchanged(self) -> None:
        """Raise `DamagedIndex` if a file was changed in place since it was opened."""
        for file in list(self._opened):
            file.check_unchanged()

    @cached_property
    def catalog(self) -> Catalog:
        return Catalog(self.file("catalog"), self.record.tables, self.record.columns)

    @cached_property
    def dictionary(self) -> Dictionary:
        dictionary = Dictionary(file := self.file("dictionary"))
        file.require(len(dictionary) == self.record.values)
        return dictionary

    @cached_property
    def rows(self) -> Rows:
        return Rows(self.file("rows"), len(self.dictionary), self.column_rows)

    @cached_property
    def postings(self) -> Postings:
        file = self.file(PostingsComponent.name, PostingsComponent.version)
        return Postings(file, self.record.values, self.column_count)

    @cached_property
    def sketches(self) -> Sketches:
        file = self.file(SketchComponent.name, SketchComponent.version)
        return Sketches(file, self.column_count)

    @cached_property
    def has_super_keys(self) -> bool:
        """Whether it has super keys that are used: an older index may have none, or other kinds."""
        record = self.record.components.get(SuperKeyComponent.name)
        if record is None or record.version < SuperKeyComponent.version:
            return False
        return record.made_with.startswith(f"{BloomFilter.kind}-")

    @cached_property
    def superkeys(self) -> SuperKeys | None:
        """The super keys of the rows, if it has any that are used."""
        if not self.has_super_keys:
            return None
        rows = self.catalog.tables["rows"].to_numpy()
        return SuperKeys(self.file(SuperKeyComponent.name), rows=rows)

    @cached_property
    def rare_tokens(self) -> RareTokens:
        file = self.file(RareTokensComponent.name, RareTokensComponent.version)
        return RareTokens(file, self.column_count)

    @cached_property
    def meaning(self) -> MeaningVectors:
        file = self.file(MeaningComponent.name, MeaningComponent.version)
        return MeaningVectors(file, self.record.values)

    @cached_property
    def has_meaning(self) -> Array:
        """Whether each column is a text column, whose values get vectors."""
        return columns_with_meaning(self)

    @cached_property
    def points(self) -> PointSets:
        file = self.file(PointsComponent.name, PointsComponent.version)
        return PointSets(file, self.column_count)

    @property
    def column_count(self) -> int:
        return self.record.columns

    @cached_property
    def column_rows(self) -> Array:
        return np.asarray(self.catalog.columns["rows"].to_numpy())

    @cached_property
    def _all_unique(self) -> Array:
        columns = self.catalog.columns
        values = self.column_rows - columns["nulls"].to_numpy()
        return np.asarray(columns["distinct"].to_numpy() == values)

    @cached_property
    def uniqueness(self) -> Array:
        """The distinct values per non-null row of each column."""
        return np.asarray(self.catalog.columns["uniqueness"].to_numpy())

    @cached_property
    def indexed(self) -> Array:
        return np.asarray(self.catalog.columns["indexed"].to_numpy(zero_copy_only=False))

    def column_texts(
        self, column: int, begin: int = 0, end: int | None = None
    ) -> pa.LargeStringArray:
        """The original texts of a column's rows [begin, end)."""
        rows = int(self.column_rows[column])
        ids = self.rows.value_ids(column, rows, begin, end)
        return self.rows.texts(ids, self.dictionary.texts)

    def to_arrow(
        self,
        table: TableEntry,
        begin: int = 0,
        end: int | None = None,
        column_indexes: Sequence[int] | None = None,
    ) -> pa.Table:
        """The rows [begin, end) of a table, with all or some columns, decoded."""
        import pyarrow as pa

        columns = self.catalog.columns_of(table)
        if column_indexes is not None:
            columns = tuple(columns[index] for index in column_indexes)
        arrays = [self.column_texts(c.column_id, begin, end) for c in columns]
        return pa.Table.from_arrays(arrays, names=[c.name for c in columns])

    # -- what components are built from --------------------------------------------------------

    def posting_lists(self) -> tuple[Array, Array, Array]:
        """(group_start, list_start, list_columns): fresh ones, or computed from the rows."""
        if self.fresh_lists is not None:
            return self.fresh_lists
        from lakejoin.kernels.token_groups import group_sorted_tokens

        sets = [
            self.rows.set_with_counts(c, int(self.column_rows[c]))[0] if self.indexed[c] else None
            for c in range(self.column_count)
        ]
        codes = np.concatenate([s for s in sets if s is not None] or [np.zeros(0, np.uint32)])
        columns = np.repeat(
            np.arange(self.column_count, dtype=np.uint32),
            [0 if s is None else len(s) for s in sets],
        )
        order = np.argsort(codes, kind="stable")
        start = np.zeros(len(self.dictionary) + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes, minlength=len(self.dictionary)), out=start[1:])
        group_start, list_start, lists = group_sorted_tokens(start, columns[order])
        return group_start, list_start, lists

    def group_sets(self) -> tuple[Array, Array, Array]:
        """(group_start, set_start, groups): every column's set as groups."""
        from lakejoin.kernels.packing import transpose_lists

        stored = self.record.components.get(PostingsComponent.name)
        if self.fresh_lists is None and stored and stored.version >= PostingsComponent.version:
            return self.postings.group_start(), *self.postings.all_sets()
        group_start, list_start, columns = self.posting_lists()
        return group_start, *transpose_lists(list_start, columns, self.column_count)

    def repeats(self, column: int) -> Array | None:
        """The multiplicities of an indexed column's set in code order; None if all are one."""
        if not self.indexed[column] or self._all_unique[column]:
            return None
        return self.rows.set_with_counts(column, int(self.column_rows[column]))[1]

    # -- checking ------------------------------------------------------------------------------

    def check(self) -> Iterable[str]:
        """Verify every checksum and the consistency of the components; yields what was checked."""
        for name in self.record.components:
            self.file(name).check_all()
            yield name
        for name, holds in self._checks():
            try:
                consistent = holds()
            except LakejoinError:
                raise
            except Exception:  # noqa: BLE001 (forged arrays fail in many ways)
                consistent = False
            if not consistent:
                raise DamagedIndex(
                    f"segment {self.record.id} is inconsistent (failed check: {name}); "
                    f"{self._advice}"
                )
            yield name

    def _checks(self) -> list[tuple[str, Callable[[], bool]]]:
        record = self.record
        checks = [
            ("tables counted", lambda: self.catalog.tables.num_rows == record.tables),
            ("columns counted", lambda: self.catalog.columns.num_rows == record.columns),
            ("rows counted", lambda: len(self.rows) == record.columns),
            ("values counted", lambda: len(self.dictionary.texts) == record.values),
            ("codes found by their texts", self._codes_return),
            ("sets match the rows", self._sets_match_rows),
            ("posting lists match the sets", self._lists_match_sets),
        ]
        if self.has_super_keys:
            checks.append(("super keys match the rows", self._super_keys_match_rows))
        if RareTokensComponent.name in record.components:
            checks.append(
                ("rare tokens match the values", lambda: rare_tokens_agree(self, self.rare_tokens))
            )
        if MeaningComponent.name in record.components:
            checks.append(("vectors match the texts", lambda: meaning_agrees(self, self.meaning)))
        if PointsComponent.name in record.components:
            checks.append(("points match the rows", lambda: point_sets_agree(self, self.points)))
        return checks

    def _codes_return(self) -> bool:
        tokens = len(self.dictionary)
        for begin in range(0, tokens, 1 << 20):
            codes = np.arange(begin, min(begin + (1 << 20), tokens), dtype=np.uint32)
            looked_up = self.dictionary.find(self.dictionary.texts.take(codes))
            if not np.array_equal(looked_up, codes):
                return False
        return True

    def _sets_match_rows(self) -> bool:
        for column in np.flatnonzero(self.indexed).tolist():
            codes, counts = self.rows.set_with_counts(column, int(self.column_rows[column]))
            if not np.array_equal(self.postings.codes_of(column), codes):
                return False
            if not np.array_equal(self.postings.repeats_of(column), counts):
                return False
        return True

    def _super_keys_match_rows(self) -> bool:
        return self.superkeys is None or super_keys_agree(self, self.superkeys)

    def _lists_match_sets(self) -> bool:
        starts = self.postings.group_start()
        if len(starts) and int(starts[-1]) != len(self.dictionary):
            return False
        return self.postings.lists_agree()


def add_components(segment: Segment, components: Iterable[Component]) -> SegmentRecord:
    """Build the components that a segment lacks or has in an older form; returns its record."""
    for component in missing_components(segment.record, components):
        # A unique name: a late attempt must not overwrite what was committed.
        file = f"{component.name}-{component.version}-{secrets.token_hex(4)}.lj"
        with ArrayFileWriter(segment.location / file) as out:
            component.build(segment, out)
        size, checksum = out.record.bytes, out.record.checksum
        built = ComponentRecord(component.version, file, size, checksum, component.made_with)
        records = {**segment.record.components, component.name: built}
        # The next component may be built from this one.
        segment = Segment(
            segment.location, replace(segment.record, components=records), segment.fresh_lists
        )
    return segment.record


def missing_components(record: SegmentRecord, components: Iterable[Component]) -> list[Component]:
    """The components that a segment lacks, or has in an older version or with other options."""
    return [c for c in components if not _is_current(record.components.get(c.name), c)]


def _is_current(stored: ComponentRecord | None, component: Component) -> bool:
    if stored is None or stored.version < component.version:
        return False
    return stored.version > component.version or stored.made_with == component.made_with


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
