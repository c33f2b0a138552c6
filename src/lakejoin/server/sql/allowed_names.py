"""Which tables and functions a statement may use.

Tables and table functions are an allow list, since nearly all others read something: files, the
network, settings, memory. Scalar functions and aggregates are a deny list: hundreds of them only
compute, and the few others reveal something about the process or wait. None can reach out of the
process (`confinement.py`), so a function that a newer DuckDB adds can at worst reveal something
about DuckDB.
"""

from __future__ import annotations

TABLE = "result"

TABLE_FUNCTIONS = frozenset(
    {"unnest", "range", "generate_series", "json_each", "json_tree", "generate_subscripts"}
)

# They reveal the process, its settings or other statements, or wait, or reinterpret bytes.
_DENIED = frozenset((
    "getenv", "current_setting", "set_config", "getvariable", "current_database",
    "current_schema", "current_schemas", "current_catalog", "current_user", "current_role",
    "session_user", "current_connection_id", "current_query", "current_query_id",
    "current_transaction_id", "txid_current", "in_search_path", "version", "get_block_size",
    "nextval", "currval", "write_log", "parse_duckdb_log_message", "stats", "vector_type",
    "sleep_ms", "setseed", "json_execute_serialized_sql", "json_serialize_sql",
    "json_serialize_plan", "json_deserialize_sql", "query", "query_table", "finalize",
    "combine", "variant_bytes_to_variant", "obj_description", "col_description",
    "shobj_description", "format_pg_type", "map_to_pg_oid", "which_secret", "add_parquet_key",
))  # fmt: skip
_DENIED_PREFIXES = (
    "__internal", "pg_", "has_", "inet_", "duckdb_", "pragma_", "read_", "parquet_", "sniff_",
    "arrow_scan", "pandas_scan", "python_", "sqlite_", "postgres_", "mysql_", "iceberg_", "delta_",
    "http_", "copy_", "import_", "export_", "force_", "enable_", "disable_",
)  # fmt: skip
_ALLOWED_ANYWAY = frozenset({"pg_typeof", "pg_size_pretty"})
# Names of DuckDB's catalog; a WITH clause may not shadow them.
_CATALOG_PREFIXES = ("duckdb_", "pg_", "sqlite_", "pragma_", "information_schema")


def fold_name(name: str) -> str:
    """Fold a name as DuckDB compares names: only A to Z ignore case.

    >>> fold_name("Read_CSV"), fold_name("É")
    ('read_csv', 'É')
    """
    return "".join(c.lower() if c.isascii() else c for c in name)


def may_call(function: str) -> bool:
    """Whether a scalar function or aggregate may be called.

    >>> may_call("sum"), may_call("GETENV"), may_call("pg_sleep"), may_call("pg_typeof")
    (True, False, False, True)
    """
    name = fold_name(function)
    if name in _ALLOWED_ANYWAY:
        return True
    return name not in _DENIED and not name.startswith(_DENIED_PREFIXES)


def may_name(name: str) -> bool:
    """Whether a WITH clause may define this name: not a file, not a name of the catalog.

    >>> may_name("totals"), may_name("x.csv"), may_name("duckdb_settings")
    (True, False, False)
    """
    return not any(c in "./\\:*?" for c in name) and not fold_name(name).startswith(
        _CATALOG_PREFIXES
    )
