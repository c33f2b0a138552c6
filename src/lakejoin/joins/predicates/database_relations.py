"""The key relations among the tables of a folder, a file or a lake, as text, table or diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from lakejoin.errors import InputError, UnreadableFile
from lakejoin.formats.file_reader import open_tables, wrap_reader_errors
from lakejoin.formats.table_stream import Table, with_nested
from lakejoin.joins.join_report import loss_texts
from lakejoin.joins.options import Progress
from lakejoin.joins.predicates.column_references import NamedTable
from lakejoin.joins.predicates.key_relations import Relation, find_relations
from lakejoin.joins.predicates.relation_exports import EXPORTS
from lakejoin.locations import Location
from lakejoin.model import Skipped, ValueRules
from lakejoin.render.answer_base import AnswerBase
from lakejoin.render.report import Cell, Column, Report, Row, line
from lakejoin.sources.lake_tables import list_single_files
from lakejoin.text_format import clip, counted

_SKIPPED = 5  # files listed by name
_COLUMNS = (
    Column("column", right=False, keep="start"),
    Column("refers to key", right=False, keep="start"),
    Column("rows"),
    Column("missing"),
    Column("score"),
    Column("why", right=False, keep="start"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Relations(AnswerBase[Relation]):
    """The likely key relations among tables, most likely first.

    >>> lakes = {"films": {"id": ["f1", "f2"]}, "roles": {"film": ["f1", "f1", "f2"]}}
    >>> print(lakejoin.relations(lakes).diagram("mermaid"))
    erDiagram
        t1["films"]
        t2["roles"]
        t2 }o--|| t1 : "film = id"
    """

    results: tuple[Relation, ...]
    tables: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def diagram(self, kind: str = "mermaid") -> str:
        """A diagram as text, for `mermaid` or `graphviz`."""
        if kind not in DIAGRAMS:
            raise InputError(f"unknown diagram {kind!r}: choose one of {', '.join(DIAGRAMS)}")
        short = self.short
        return DIAGRAMS[kind](short.tables, short.results)

    def export(self, kind: str) -> str:
        """The relations for another tool: `dbt` (sources with tests), `dbml`, or `csv`.

        >>> lakes = {"films": {"id": ["f1", "f2"]}, "roles": {"film": ["f1", "f1", "f2"]}}
        >>> lakejoin.relations(lakes).export("dbml").splitlines()[-1]
        'Ref: "roles"."film" > "films"."id"'
        """
        if kind not in EXPORTS:
            raise InputError(f"unknown export {kind!r}: choose one of {', '.join(EXPORTS)}")
        short = self.short
        return EXPORTS[kind](short.tables, short.results)

    def _row(self, result: Relation) -> dict[str, Any]:
        return result.to_json()

    @property
    def short(self) -> Relations:
        """The same with short names, if all tables are parts of one file."""
        fronts = {name.rpartition("#")[0] for name in self.tables}
        if len(fronts) != 1 or not self.tables[0].count("#"):
            return self
        begin = len(fronts.pop()) + 1
        found = (
            replace(relation, table=relation.table[begin:], key_table=relation.key_table[begin:])
            for relation in self.results
        )
        return Relations(tuple(found), tuple(name[begin:] for name in self.tables), self.notes)

    def table(self) -> pa.Table:
        """The relations as a `pyarrow.Table`."""
        texts = pa.list_(pa.string())
        schema = pa.schema(
            [
                ("table", pa.string()),
                ("columns", texts),
                ("key_table", pa.string()),
                ("key_columns", texts),
                *((name, pa.int64()) for name in ("rows", "values", "missing", "keys")),
                ("score", pa.float64()),
                ("why", pa.string()),
            ]
        )
        return pa.Table.from_pylist([relation.to_json() for relation in self.results], schema)

    def to_dict(self) -> dict[str, Any]:
        """The relations with the keys of `lakejoin relations --json`."""
        return {
            "tables": list(self.tables),
            "relations": [relation.to_json() for relation in self.results],
            "notes": list(self.notes),
        }

    def report(self) -> Report:
        """What the relations show, with short names."""
        head = f"{counted(len(self), 'relation')} among {counted(len(self.tables), 'table')}"
        return Report(
            title=line(head),
            columns=_COLUMNS,
            rows=tuple(map(_row, self.short.results)),
            notes=self.notes,
            as_table=True,
        )


def _row(relation: Relation) -> Row:
    texts = (
        format_columns(relation.table, relation.columns),
        format_columns(relation.key_table, relation.key_columns),
        f"{relation.rows:,}",
        f"{relation.missing:,}",
        f"{relation.score:.2f}",
        relation.why,
    )
    return Row(tuple(Cell(clip(text, 120)) for text in texts))


def relate_tables(
    tables: Sequence[NamedTable],
    rules: ValueRules | None = None,
    progress: Progress | None = None,
    notes: Sequence[str] = (),
) -> Relations:
    """Find the key relations among tables.

    >>> films = pa.table({"film_id": ["f1", "f2", "f3"], "title": ["Alien", "Heat", "Ran"]})
    >>> roles = pa.table({"film": ["f1", "f1", "f3"], "name": ["Ash", "Kane", "Jiro"]})
    >>> tables = [NamedTable("films", lambda: films), NamedTable("roles", lambda: roles)]
    >>> [format_columns(found.table, found.columns) for found in relate_tables(tables)]
    ['roles(film)']
    """
    if len(tables) < 2:
        what = f"there is only {tables[0].name}" if tables else "there is none"
        raise InputError(f"relations need at least two tables, and {what}")
    all_notes = [*notes, *_losses(tables)]
    found = find_relations(tables, rules, progress, all_notes)
    return Relations(tuple(found), tuple(table.name for table in tables), tuple(all_notes))


def read_tables(
    source: str, progress: Progress | None = None, excluded: str | None = None
) -> tuple[list[NamedTable], list[str]]:
    """Read the tables of a folder, a glob, or a file with several (SQLite, Excel); returns them and
    notes on files without a table. Files inside `excluded` (an index) are skipped."""
    report = progress or (lambda doing: None)
    tables: list[NamedTable] = []
    skipped: list[Skipped] = []
    index = None if excluded is None else Location.of(excluded)
    files = list_single_files([source], skipped, index, follow_links=True)
    for number, file in enumerate(files, start=1):
        report(f"reading file {number:,} of {len(files):,}")
        try:
            with wrap_reader_errors(file.name):
                for stream in with_nested(open_tables(file)):
                    if isinstance(stream, Skipped):
                        skipped.append(stream)
                    else:
                        table = Table.of(stream)
                        tables.append(NamedTable(stream.name, table.to_arrow, table.losses))
        except UnreadableFile as problem:
            if len(files) == 1:
                raise
            skipped.append(Skipped(problem.path, problem.reason, problem.detail))
    if not tables:
        raise InputError(f"there is no table in {source}" + _listed(skipped))
    notes = [f"skipped: {skip}" for skip in skipped[:_SKIPPED]]
    if len(skipped) > _SKIPPED:
        notes.append(f"… and {counted(len(skipped) - _SKIPPED, 'more file')} without a table")
    return tables, notes


def format_columns(table: str, columns: Sequence[str]) -> str:
    """A table and some of its columns as text.

    >>> format_columns("films.csv", ["id", "year"])
    'films.csv(id, year)'
    """
    return f"{table}({', '.join(columns)})"


def _losses(tables: Sequence[NamedTable]) -> Iterator[str]:
    """Notes on what reading lost of the first tables, and on how many more."""
    incomplete = [table for table in tables if table.losses]
    for table in incomplete[:_SKIPPED]:
        yield from loss_texts(table.name, table.losses)
    if len(incomplete) > _SKIPPED:
        yield f"… and losses in {counted(len(incomplete) - _SKIPPED, 'more table')}"


def _listed(skipped: Sequence[object]) -> str:
    return "".join(f"; {file}" for file in skipped[:_SKIPPED])


_LOOK_ALIKES = str.maketrans({'"': "'", "\\": "/", "%": "\N{FULLWIDTH PERCENT SIGN}"})

Diagram = Callable[[Sequence[str], Sequence[Relation]], str]


def mermaid(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """An entity-relationship diagram for Mermaid, including tables without a relation.

    >>> relation = Relation("b", ("a_id",), "a", ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(mermaid(["a", "b"], [relation]))
    erDiagram
        t1["a"]
        t2["b"]
        t2 }o--|| t1 : "a_id = id"
    """
    node = {name: f"t{number}" for number, name in enumerate(tables, start=1)}
    lines = ["erDiagram", *(f'    {node[name]}["{_for_mermaid(name)}"]' for name in tables)]
    for relation in relations:
        many = "|o" if relation.rows == relation.values else "}o"
        ends = f"{node[relation.table]} {many}--|| {node[relation.key_table]}"
        lines.append(f'    {ends} : "{_for_mermaid(_equalities(relation))}"')
    return "\n".join(lines)


def graphviz(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """A directed graph for Graphviz, with arrows to the keys.

    >>> relation = Relation("b", ("a_id",), 'a "x"', ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(graphviz(['a "x"', "b"], [relation]))
    digraph relations {
        rankdir=LR;
        node [shape=box];
        "a \\"x\\"";
        "b";
        "b" -> "a \\"x\\"" [label="a_id = id"];
    }
    """
    lines = ["digraph relations {", "    rankdir=LR;", "    node [shape=box];"]
    lines += [f"    {_for_graphviz(name)};" for name in tables]
    for relation in relations:
        ends = f"{_for_graphviz(relation.table)} -> {_for_graphviz(relation.key_table)}"
        lines.append(f"    {ends} [label={_for_graphviz(_equalities(relation))}];")
    return "\n".join([*lines, "}"])


DIAGRAMS: dict[str, Diagram] = {"mermaid": mermaid, "graphviz": graphviz}


def _equalities(relation: Relation) -> str:
    pairs = zip(relation.columns, relation.key_columns, strict=True)
    return ", ".join(f"{column} = {key}" for column, key in pairs)


def _for_mermaid(text: str) -> str:
    """A text for double quotes. Mermaid allows no double quote, backslash or percent sign in names
    and has no escape for them: they are replaced by look-alikes."""
    return _on_one_line(text).translate(_LOOK_ALIKES) or " "


def _for_graphviz(text: str) -> str:
    escaped = _on_one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _on_one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
