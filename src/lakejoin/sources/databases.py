"""Databases as lakes: the tables of a PostgreSQL server, and of DuckDB and SQLite files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from lakejoin.errors import InputError, LakejoinError, UnreadableFile, import_optional
from lakejoin.formats.nested_arrow import open_nested, pick_columns, renamed_schema
from lakejoin.formats.table_containers import open_live_table, sqlite_tables
from lakejoin.formats.table_stream import TableStream, first_line_of
from lakejoin.locations import Location
from lakejoin.model import (
    Composition,
    DeclaredKeys,
    ForeignKey,
    LogicalTable,
    ReadLimits,
    Skipped,
    SourceFile,
    TableFile,
)
from lakejoin.quoting import quote_identifier
from lakejoin.sources.database_urls import DatabaseUrl, parse_url
from lakejoin.sources.lake_files import LakeRoot
from lakejoin.sources.partitioned_folders import stamp_text
from lakejoin.sources.postgresql_tables import (
    DatabaseTable,
    list_postgresql,
    open_postgresql_table,
)
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses

DATABASE_KINDS = ("postgresql", "duckdb", "sqlite")
_USUAL = {"postgresql": "public", "duckdb": "main", "sqlite": "main"}
_ROWS = 50_000


def list_database(lake: str, problems: list[Skipped]) -> LakeRoot:
    """The tables of a database; those that the account may not read go to `problems`."""
    url = parse_url(lake)
    lists = {"postgresql": list_postgresql, "duckdb": _list_duckdb, "sqlite": _list_sqlite}
    found = lists[url.kind](url, problems)
    missing = set(url.schemas) - {"*"} - {table.schema for table in found}
    if missing:
        raise InputError(
            f"the database {url.name} has no tables in the schema {', '.join(sorted(missing))}"
        )
    names = {(t.schema, t.name): _shown(url, t.schema, t.name) for t in found}
    sources = tuple(_source(url, table, names) for table in found)
    return LakeRoot(url.name, Location(url.url, False), sources)


def _shown(url: DatabaseUrl, schema: str, name: str) -> str:
    return name if schema == _USUAL[url.kind] else f"{schema}.{name}"


def _source(
    url: DatabaseUrl, table: DatabaseTable, names: dict[tuple[str, str], str]
) -> LogicalTable:
    name = names[table.schema, table.name]
    stamp = stamp_text(f"{url.kind} {table.version} {table.columns}")
    foreign = tuple(
        ForeignKey(columns, names[other], key_columns)
        for columns, other, key_columns in table.foreign
        if other in names
    )
    nested = tuple(column for column, kind in table.columns if _is_nested(url, kind))
    declared = DeclaredKeys(table.primary, foreign) if table.primary or foreign else None
    return LogicalTable(
        name,
        url.url,
        table.size,
        stamp,
        Composition(url.kind, 1),
        (TableFile(SourceFile(name, url.url, table.size, stamp)),),
        tuple(column for column, _ in table.columns),
        nested=nested,
        relation=(table.schema, table.name),
        expressions=tuple(text for _, text in table.columns),
        timeout=url.timeout,
        declared=declared,
    )


def _is_nested(url: DatabaseUrl, kind: str) -> bool:
    """Whether a column becomes other columns or tables: a struct, a map or a list of DuckDB."""
    return url.kind == "duckdb" and (kind.startswith(("STRUCT(", "MAP(")) or kind.endswith("]"))


def open_database_table(table: LogicalTable, limits: ReadLimits) -> TableStream:
    """The rows of a table of a database, in batches."""
    opens = {
        "postgresql": open_postgresql_table,
        "duckdb": _open_duckdb_table,
        "sqlite": _open_sqlite_table,
    }
    return opens[table.composition.kind](table, limits)


# -- DuckDB ----------------------------------------------------------------------------------------


@contextmanager
def _duckdb(url: DatabaseUrl) -> Iterator[Any]:
    duckdb = import_optional("duckdb")
    path = _file(url)
    try:
        connection = duckdb.connect(path, read_only=True, config={"threads": 1})
    except Exception as problem:  # noqa: BLE001 (the library raises errors of many kinds)
        raise InputError(f"cannot open the DuckDB file {path}: {first_line_of(problem)}") from None
    with connection:
        yield connection


def _file(url: DatabaseUrl) -> str:
    path = url.path
    if Location.of(path).kind() != "file":
        raise InputError(f"there is no file {path}")
    return path


def _list_duckdb(url: DatabaseUrl, _: list[Skipped]) -> list[DatabaseTable]:
    with _duckdb(url) as connection:
        run = connection.execute
        tables = run(
            "select schema_name, table_name, estimated_size from duckdb_tables() "
            "where not internal and not temporary and database_name = current_database() "
            "order by 1, 2"
        ).fetchall()
        columns = run(
            "select schema_name, table_name, column_name, data_type from duckdb_columns() "
            "where database_name = current_database() order by column_index"
        ).fetchall()
        keys = run(
            "select schema_name, table_name, constraint_type, constraint_column_names, "
            "referenced_table, referenced_column_names from duckdb_constraints() "
            "where constraint_type in ('PRIMARY KEY', 'FOREIGN KEY') "
            "and database_name = current_database()"
        ).fetchall()
    version = _version(url)
    wanted = url.schemas or (_USUAL["duckdb"],)
    found = []
    for schema, name, rows in tables:
        if "*" not in wanted and schema not in wanted:
            continue
        own = [(column, kind) for s, t, column, kind in columns if (s, t) == (schema, name)]
        mine = [key[2:] for key in keys if key[:2] == (schema, name)]
        primary = next((tuple(names) for kind, names, _, _ in mine if kind[0] == "P"), ())
        foreign = tuple(
            (tuple(names), (schema, other), tuple(others))
            for kind, names, other, others in mine
            if kind[0] == "F"
        )
        size = int(rows) * max(1, len(own)) * 8
        found.append(DatabaseTable(schema, name, size, version, tuple(own), primary, foreign))
    return found


def _version(url: DatabaseUrl) -> str:
    """What changes with the files of a database."""
    path = _file(url)
    texts = []
    for ending in ("", ".wal", "-wal"):
        file = Location.of(path + ending)
        if file.kind() == "file":
            entry = file.entry()
            texts.append(f"{ending} {entry.size} {entry.mtime_ns}")
    return "; ".join(texts)


def _batches(connection: Any, statement: str) -> pa.RecordBatchReader:
    result = connection.execute(statement)
    if hasattr(result, "to_arrow_reader"):
        return result.to_arrow_reader(_ROWS)
    return result.fetch_record_batch(_ROWS)  # before DuckDB 1.5


def _open_duckdb_table(table: LogicalTable, limits: ReadLimits) -> TableStream:
    url = parse_url(table.uri)
    names, notes = unique_names(list(table.columns))
    stored = ", ".join(map(quote_identifier, table.columns))
    relation = ".".join(map(quote_identifier, table.relation))

    def read(_: Losses, needed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        try:
            with _duckdb(url) as connection:
                for batch in _batches(connection, f"select {stored} from {relation}"):
                    yield pick_columns(batch, names, needed)
        except LakejoinError:
            raise
        except Exception as problem:  # noqa: BLE001 (the library raises errors of many kinds)
            reason = "cannot be read from its database"
            raise UnreadableFile(table.name, reason, first_line_of(problem)) from None

    with _duckdb(url) as connection:
        schema = _batches(connection, f"select {stored} from {relation} limit 0").schema
    return open_nested(table.name, "duckdb", renamed_schema(schema, names), read, limits, notes)


# -- SQLite ----------------------------------------------------------------------------------------


def _list_sqlite(url: DatabaseUrl, problems: list[Skipped]) -> list[DatabaseTable]:
    path, version = _file(url), _version(url)
    size = Location.of(path).entry().size
    found = []
    try:
        for name, columns, primary, foreign in sqlite_tables(path):
            if not columns:
                problems.append(Skipped(name, "no columns"))
                continue
            keys = tuple((own, ("main", other), others) for own, other, others in foreign)
            pairs = tuple((column, "") for column in columns)
            found.append(DatabaseTable("main", name, size, version, pairs, primary, keys))
    except sqlite3.Error as problem:
        raise InputError(f"cannot read the SQLite file {path}: {problem}") from None
    share = max(1, len(found))
    return [table.sized(table.size // share) for table in found]


def _open_sqlite_table(table: LogicalTable, limits: ReadLimits) -> TableStream:
    return open_live_table(_file(parse_url(table.uri)), table.relation[1], table.name, limits)
