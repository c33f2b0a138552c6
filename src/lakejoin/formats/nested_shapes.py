"""Find what is nested in the values of a table, and which columns and tables it becomes: objects
become columns with dotted names, lists and maps become tables of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from lakejoin.errors import UnreadableFile
from lakejoin.model import ReadLimits
from lakejoin.values.column_names import unique_names

ROW = "_row"  # the key of a table that has nested tables
PARENT = "_parent"  # the same key in these
MOST_KEYS = 1000  # an object with more keys is a map
_MAP_KEYS = 100  # and so is one with more keys than that, if few objects have each
_MAP_FILL = 0.2
_MOST_TABLES = 100
_IDS = ("id", "_id", "uuid", "guid", "key")
TOO_DEEP = "value nested too deeply, kept as JSON text"
TOO_WIDE = "object with too many keys, kept as JSON text"
TOO_MANY = f"list beyond the first {_MOST_TABLES} nested tables, kept as JSON text"


@dataclass(slots=True)
class Shape:
    """The values at one place in all records of a table.

    `count` values are not null, `objects` of them are objects with these `keys`. An object with
    very many keys is a map: then `values` is the shape of all that they hold. `items` is the
    shape of list elements. Values that are `deep` were not examined.

    >>> shape = Shape()
    >>> shape.add([{"a": 1}, {"a": [2.5]}, None], depth=8)
    >>> shape.objects, shape.keys["a"].scalars, shape.keys["a"].items.decimals
    (2, True, True)
    """

    count: int = 0
    scalars: bool = False
    decimals: bool = False
    deep: bool = False
    objects: int = 0
    keys: dict[str, Shape] = field(default_factory=dict)
    values: Shape | None = None
    items: Shape | None = None

    def add(self, values: list[Any], depth: int, most_keys: int = MOST_KEYS) -> None:
        """Look at values as JSON has them; objects and lists `depth` levels down, no deeper."""
        kinds = set(map(type, values))
        self.count += len(values) - (values.count(None) if type(None) in kinds else 0)
        kinds.discard(type(None))
        self.decimals |= float in kinds
        self.scalars |= bool(kinds - {dict, list})
        if not depth:
            self.deep |= bool(kinds & {dict, list})
            return
        if dict in kinds:
            self._add_objects([v for v in values if type(v) is dict], depth, most_keys)
        if list in kinds:
            self.items = self.items or Shape()
            self.items.add([item for v in values if type(v) is list for item in v], depth - 1)

    def _add_objects(self, objects: list[dict[str, Any]], depth: int, most_keys: int) -> None:
        self.objects += len(objects)
        if self.values is not None:
            self.values.add([v for each in objects for v in each.values()], depth - 1)
            return
        by_key: dict[str, list[Any]] = {}
        for each in objects:
            for key, value in each.items():
                by_key.setdefault(key, []).append(value)
        for key, values in by_key.items():
            self.keys.setdefault(key, Shape()).add(values, depth - 1)
        self._limit_keys(most_keys)

    def _limit_keys(self, most_keys: int) -> None:
        if len(self.keys) > most_keys:
            self.values = Shape()
            for shape in self.keys.values():
                self.values.merge(shape)
            self.keys = {}

    def merge(self, other: Shape, most_keys: int = MOST_KEYS) -> None:
        """Add what another part of the table has at this place."""
        self.count += other.count
        self.objects += other.objects
        self.scalars |= other.scalars
        self.decimals |= other.decimals
        self.deep |= other.deep
        if other.items is not None:
            self.items = self.items or Shape()
            self.items.merge(other.items)
        for key, shape in other.keys.items():
            target = self.keys.setdefault(key, Shape()) if self.values is None else self.values
            target.merge(shape)
        if other.values is not None:
            self._limit_keys(-1)
            assert self.values is not None or not other.objects
            if self.values is not None:
                self.values.merge(other.values)
        self._limit_keys(most_keys)

    @property
    def is_map(self) -> bool:
        """Whether the keys of the objects are values rather than names."""
        if self.values is not None:
            return True
        cells = sum(shape.count for shape in self.keys.values())
        return len(self.keys) > _MAP_KEYS and cells < _MAP_FILL * self.objects * len(self.keys)

    def map_values(self) -> Shape:
        """The shape of a map's values."""
        if self.values is not None:
            return self.values
        together = Shape()
        for shape in self.keys.values():
            together.merge(shape)
        return together

    @property
    def has_elements(self) -> bool:
        """Whether its lists become a table. Numbers with decimals are vectors and coordinates, and
        lists of lists are no table either: both stay text."""
        items = self.items
        if items is None:
            return False
        return bool(items.objects) or (items.scalars and not items.decimals and not items.items)


@dataclass(frozen=True, slots=True)
class NestedColumn:
    """A column: where its values are in a record. `drops_objects` and `drops_lists` are in other
    columns or tables. What is `kept` as text although it is nested is counted for that reason."""

    name: str
    path: tuple[str, ...]
    drops_objects: bool = False
    drops_lists: bool = False
    kept: str = ""


@dataclass(frozen=True, slots=True)
class NestedTable:
    """A table of records, and the tables of the lists in them.

    `part` names it in its file, `path` says where its list is in a record of the table above;
    `is_map` if that is a map. `names` are those of all columns: a nested table begins with the key
    of its parent, and with the parent's own `id`, if it has one; a table above others ends with its
    own key.
    """

    part: str
    path: tuple[str, ...]
    columns: tuple[NestedColumn, ...]
    children: tuple[NestedTable, ...]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_map: bool = False
    parent_id: NestedColumn | None = None


def plan_tables(name: str, shape: Shape, limits: ReadLimits) -> NestedTable:
    """The tables that records of this shape become; raises `UnreadableFile` if the first has too
    many columns.

    >>> shape = Shape()
    >>> rows = [{"id": 7, "at": {"city": "Ulm"}, "items": [{"sku": "x"}], "tags": ["a", "b"]}]
    >>> shape.add(rows, depth=8)
    >>> main = plan_tables("orders.json", shape, ReadLimits())
    >>> main.names, [(child.part, child.names) for child in main.children]
    (('id', 'at.city', 'tags', '_row'), [('items', ('_parent', 'parent.id', 'sku')), \
('tags', ('_parent', 'parent.id', 'tags'))])
    """
    planner = _Planner(limits.columns)
    table = planner.table(shape, "", (), None)
    if len(table.columns) > limits.columns:
        raise UnreadableFile(name, "too many columns", f"the limit is {limits.columns}")
    return table


@dataclass(slots=True)
class _Planner:
    most_columns: int
    tables: int = 0
    parts: list[str] = field(default_factory=list)

    def table(
        self, shape: Shape, part: str, path: tuple[str, ...], parent_id: NestedColumn | None
    ) -> NestedTable:
        columns: list[NestedColumn] = []
        lists: list[tuple[tuple[str, ...], Shape, bool]] = []
        single = path[-1] if path and not shape.objects else "value"
        self._walk(shape, (), single, columns, lists)
        own_id = next((c for c in columns if c.name.casefold() in _IDS and len(c.path) == 1), None)
        children = []
        for where, items, is_map in lists:
            name = self._part(".".join((part, *where) if part else where))
            children.append(replace(self.table(items, name, where, own_id), is_map=is_map))
        raw = [column.name for column in columns]
        if path:
            raw = [PARENT, *((f"parent.{parent_id.name}",) if parent_id else ()), *raw]
        names, notes = unique_names([*raw, *((ROW,) if children else ())])
        return NestedTable(
            part, path, tuple(columns), tuple(children), names, notes, False, parent_id
        )

    def _part(self, name: str) -> str:
        """A name of a nested table that no other has: `a.b` can be a key, and `b` inside `a`."""
        self.parts.append(name)
        self.parts[:] = unique_names(self.parts)[0]
        return self.parts[-1]

    def _walk(
        self,
        shape: Shape,
        path: tuple[str, ...],
        last: str,
        columns: list[NestedColumn],
        lists: list[tuple[tuple[str, ...], Shape, bool]],
    ) -> None:
        """Find the columns and the lists at a place of the records and below it."""
        kept = TOO_DEEP if shape.deep else ""
        name = ".".join(path) or last
        is_map = bool(path) and bool(shape.objects) and shape.is_map
        spread = bool(shape.keys) and not is_map
        if path and spread and len(columns) + len(shape.keys) > self.most_columns:
            spread, kept = False, TOO_WIDE
        elements = bool(path) and shape.has_elements  # a list in a list stays text
        if elements or is_map:
            self.tables += 1
            if self.tables > _MOST_TABLES:
                elements = is_map = False
                kept = TOO_MANY
        drops_lists = elements and shape.items is not None and bool(shape.items.objects)
        has_lists = shape.items is not None and not drops_lists
        has_objects = bool(shape.objects) and not spread and not is_map
        if shape.scalars or has_lists or has_objects or shape.deep or not shape.count:
            columns.append(NestedColumn(name, path, spread or is_map, drops_lists, kept))
        if spread:
            for key, below in shape.keys.items():
                self._walk(below, (*path, key), key, columns, lists)
        if is_map:
            pairs = Shape(1, objects=1)
            pairs.keys = {"key": Shape(1, scalars=True), "value": shape.map_values()}
            lists.append((path, pairs, True))
        if elements and shape.items is not None:
            lists.append((path, shape.items, False))


def descendants(table: NestedTable) -> Iterator[tuple[NestedTable, ...]]:
    """The nested tables of a table, each with those above it."""
    for child in table.children:
        yield (child,)
        yield from ((child, *below) for below in descendants(child))
