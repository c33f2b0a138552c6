"""Tables of a PostgreSQL server, read through ADBC: in batches, one statement a table, read only
and with a time limit for each statement."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from lakejoin.errors import InputError, LakejoinError, MissingDependency, UnreadableFile
from lakejoin.formats.table_stream import TableStream, first_line_of
from lakejoin.model import LogicalTable, ReadLimits, Skipped
from lakejoin.quoting import list_literals, quote_identifier
from lakejoin.sources.database_urls import DatabaseUrl, parse_url
from lakejoin.values.column_names import unique_names
from lakejoin.values.plain_columns import Losses

NO_RIGHT = "no right to read it"
_CONNECT_SECONDS = 15
_BATCH_BYTES = 16 << 20
# Types that ADBC gives as they are; all others are read as the server prints them.
_PLAIN = ("boolean", "smallint", "integer", "bigint", "real", "double precision", "bytea")


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database: its columns, each with the expression that reads it; what changes with
    its content; and its declared keys, foreign ones as columns, (schema, table) and key columns."""

    schema: str
    name: str
    size: int
    version: str
    columns: tuple[tuple[str, str], ...]
    primary: tuple[str, ...] = ()
    foreign: tuple[tuple[tuple[str, ...], tuple[str, str], tuple[str, ...]], ...] = ()

    def sized(self, size: int) -> DatabaseTable:
        return replace(self, size=size)


# Counters of changes belong to the server that counts them, and a table that is rewritten has
# another file. What has no counters (a foreign table) has no version.
_VERSION = """
case when c.relkind = 'f' then null else (
  select string_agg(concat_ws(':', k.oid, k.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del),
                    ',' order by k.oid)
  from (select c.oid as relid where c.relkind <> 'p'
        union all select p.relid from pg_partition_tree(c.oid) p where c.relkind = 'p') t
  join pg_class k on k.oid = t.relid
  left join pg_stat_all_tables s on s.relid = k.oid
) || ' ' || pg_postmaster_start_time() end
"""
_SIZE = """
case when c.relkind = 'p' then (
  select coalesce(sum(pg_table_size(p.relid)), 0) from pg_partition_tree(c.oid) p
) else pg_table_size(c.oid) end
"""
_TABLES = f"""
select c.oid::bigint, n.nspname::text, c.relname::text, ({_SIZE})::bigint, ({_VERSION})::text,
  has_schema_privilege(n.oid, 'usage')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'm', 'f') and not c.relispartition and c.relpersistence <> 't'
  and {{schemas}}
order by 2, 3
"""
_COLUMNS = """
select a.attrelid::bigint, a.attname::text, format_type(a.atttypid, null)::text,
  t.typcategory::text, has_column_privilege(a.attrelid, a.attnum, 'select')
from pg_attribute a join pg_type t on t.oid = a.atttypid
where a.attnum > 0 and not a.attisdropped and a.attrelid in (
  select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'm', 'f') and {schemas})
order by a.attrelid, a.attnum
"""
_NAMES = """
(select array_agg(a.attname::text order by k.position) from unnest({keys}) with ordinality
 as k(number, position) join pg_attribute a on a.attrelid = {table} and a.attnum = k.number)
"""
_KEYS = f"""
select o.conrelid::bigint, o.contype::text, {_NAMES.format(keys="o.conkey", table="o.conrelid")},
  fn.nspname::text, f.relname::text, {_NAMES.format(keys="o.confkey", table="o.confrelid")}
from pg_constraint o
join pg_class c on c.oid = o.conrelid join pg_namespace n on n.oid = c.relnamespace
left join pg_class f on f.oid = o.confrelid left join pg_namespace fn on fn.oid = f.relnamespace
where o.contype in ('p', 'f') and {{schemas}}
order by o.oid
"""


def list_postgresql(url: DatabaseUrl, problems: list[Skipped]) -> list[DatabaseTable]:
    """The tables of the schemas asked for."""
    chosen = url.schemas or ("public",)
    schemas = f"n.nspname in ({list_literals(chosen)})"
    if "*" in chosen:
        schemas = "n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'"
    with _connected(url) as cursor:
        tables = _rows(cursor, _TABLES.format(schemas=schemas))
        columns = _rows(cursor, _COLUMNS.format(schemas=schemas))
        keys = _rows(cursor, _KEYS.format(schemas=schemas))
    readable: dict[int, list[tuple[str, str]]] = {}
    for table, column, kind, category, allowed in columns:
        if allowed:
            readable.setdefault(table, []).append((column, _expression(column, kind, category)))
    found = []
    for oid, schema, name, size, version, usable in tables:
        own = readable.get(oid, []) if usable else []
        if not own:
            problems.append(Skipped(f"{schema}.{name}", NO_RIGHT, f"of the database {url.name}"))
            continue
        mine = [key for key in keys if key[0] == oid]
        primary = next((tuple(key[2]) for key in mine if key[1] == "p"), ())
        foreign = tuple(
            (tuple(key[2]), (key[3], key[4]), tuple(key[5])) for key in mine if key[1] == "f"
        )
        found.append(
            DatabaseTable(
                schema, name, size, version or str(time.time_ns()), tuple(own), primary, foreign
            )
        )
    return found


def _rows(cursor: Any, statement: str) -> list[tuple[Any, ...]]:
    cursor.execute(statement)
    return [tuple(row.values()) for row in _numbered(cursor.fetch_arrow_table()).to_pylist()]


def _numbered(table: pa.Table) -> pa.Table:
    return table.rename_columns([str(i) for i in range(table.num_columns)])


def _expression(column: str, kind: str, category: str) -> str:
    """How a column is read."""
    name = quote_identifier(column)
    if kind in _PLAIN:
        return name
    if category == "A":
        return f"to_jsonb({name})::text"
    if kind == "timestamp with time zone":
        return f"({name} at time zone 'UTC')::text || 'Z'"
    return f"{name}::text"


def open_postgresql_table(table: LogicalTable, limits: ReadLimits) -> TableStream:
    """The rows of a table, batch by batch."""
    url = replace(parse_url(table.uri), timeout=table.timeout)
    names, notes = unique_names(list(table.columns))
    if len(names) > limits.columns:
        raise UnreadableFile(table.name, "too many columns", f"the limit is {limits.columns}")
    relation = ".".join(map(quote_identifier, table.relation))
    statement = f"select {', '.join(table.expressions)} from {relation}"

    def reading(_: Losses) -> Iterator[pa.RecordBatch]:
        try:
            with _connected(url) as cursor:
                cursor.adbc_statement.set_options(
                    **{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
                )
                cursor.execute(statement)
                for batch in cursor.fetch_record_batch():
                    yield batch.rename_columns(list(names))
        except LakejoinError as problem:
            reason = "cannot be read from its database"
            raise UnreadableFile(table.name, reason, str(problem)) from None
        except Exception as problem:  # noqa: BLE001 (the library raises errors of many kinds)
            reason = "cannot be read from its database"
            detail = url.hide_password(_first_words(problem))
            raise UnreadableFile(table.name, reason, detail) from None

    return TableStream(table.name, "postgresql", names, reading, None, notes, limits)


@contextmanager
def _connected(url: DatabaseUrl) -> Iterator[Any]:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingDependency(
            "reading PostgreSQL needs adbc-driver-postgresql: pip install 'lakejoin[databases]'"
        ) from None
    try:
        connection = dbapi.connect(_with_options(url))
    except Exception as problem:  # noqa: BLE001 (the library raises errors of many kinds)
        detail = url.hide_password(_first_words(problem))
        raise InputError(f"cannot connect to {url.url}: {detail}") from None
    try:
        with connection, connection.cursor() as cursor:
            yield cursor
    except LakejoinError:
        raise
    except Exception as problem:
        if isinstance(problem, dbapi.Error):
            detail = url.hide_password(_first_words(problem))
            raise InputError(f"the database {url.name} refused a statement: {detail}") from None
        raise


def _first_words(problem: Exception) -> str:
    """What the server says, without the status of the library around it."""
    text = first_line_of(problem)
    for mark in ("FATAL:", "ERROR:", "failed: "):
        if mark in text:
            return text.partition(mark)[2].strip().rstrip(".")
    return text


def _with_options(url: DatabaseUrl) -> str:
    """The URL with the password and with the settings of our sessions."""
    parts = urlsplit(url.url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    query.setdefault("connect_timeout", str(_CONNECT_SECONDS))
    query.setdefault("application_name", "lakejoin")
    query.setdefault("tcp_user_timeout", "60000")
    settings = {
        "statement_timeout": str(int(url.timeout * 1000)),
        "default_transaction_read_only": "on",
        "timezone": "UTC",
        "datestyle": "ISO",
    }
    ours = " ".join(f"-c {name}={value}" for name, value in settings.items())
    query["options"] = f"{query.get('options', '')} {ours}".strip()
    netloc = parts.netloc
    if url.password:
        user, at, host = netloc.rpartition("@")
        if at:
            netloc = f"{user}:{quote(url.password, safe='')}@{host}"
        else:
            query["password"] = url.password
    return urlunsplit(
        (parts.scheme, netloc, parts.path, urlencode(query, quote_via=quote, safe=""), "")
    )
