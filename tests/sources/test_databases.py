"""Databases as lakes: a real PostgreSQL server, DuckDB and SQLite files."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import lakejoin
from conftest import Index
from lakejoin.errors import InputError
from lakejoin.model import DeclaredKeys, ForeignKey
from sources.postgresql_cluster import PASSWORD, Cluster, started_cluster

pytest.importorskip("adbc_driver_postgresql", reason="the extra databases is not installed")
duckdb = pytest.importorskip("duckdb")

SHOP = (
    "create table customers (id int primary key, name text, vip boolean, joined timestamptz)",
    "insert into customers select i, 'customer ' || i, i % 2 = 0, '2024-01-01 12:00+02'"
    " from generate_series(1, 50) i",
    "create table orders (id bigint, line int, customer int references customers (id),"
    " price numeric(10, 2), day date, tags text[], about jsonb, primary key (id, line))",
    "insert into orders select i, 1, 1 + i % 50, i / 4.0, '2024-01-31', array['a', 'b'],"
    " '{\"x\": 1}' from generate_series(1, 200) i",
    "create view every_order as select * from orders",
    "create table secrets (id int)",
    'create schema sales; create table sales."odd # name" (a uuid, "b ""c" interval, d date)',
    'insert into sales."odd # name" values'
    " ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day', 'infinity'), (null, null, null)",
    "create table events (day date, n int) partition by range (day)",
    "create table events_1 partition of events for values from ('2024-01-01') to ('2024-02-01')",
    "create table events_2 partition of events for values from ('2024-02-01') to ('2024-03-01')",
    "insert into events values ('2024-01-05', 1), ('2024-02-05', 2)",
    "grant usage on schema public, sales to reader",
    "grant select on all tables in schema public, sales to reader",
    "revoke select on secrets from reader",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with started_cluster() as found:
        found.run(*SHOP)
        yield found


def url_of(cluster: Cluster, more: str = "", password: str | None = PASSWORD) -> str:
    secret = "" if password is None else f":{quote(password, safe='')}"
    return f"postgresql://reader{secret}@127.0.0.1:{cluster.port}/shop{more}"


def rows_of(index: Path, table: str) -> list[dict[str, Any]]:
    return list(lakejoin.open(index).table(table).to_arrow().to_pylist())


@pytest.mark.parametrize("chunk_bytes", [1 << 26, 300])
def test_tables_of_a_server(
    cluster: Cluster, index: Index, tmp_path: Path, chunk_bytes: int
) -> None:
    report = index(url_of(cluster), chunk_bytes=chunk_bytes)
    lake = lakejoin.open(tmp_path / "index")
    assert {t.name: t.rows for t in lake.tables()} == {
        "customers": 50, "orders": 200, "events": 2,
    }  # fmt: skip
    assert [(s.name, s.reason) for s in report.skipped] == [
        ("public.secrets", "no right to read it")
    ]
    orders = sorted(rows_of(tmp_path / "index", "orders"), key=lambda row: int(row["id"]))
    assert orders[6] == {
        "id": "7", "line": "1", "customer": "8", "price": "1.75", "day": "2024-01-31",
        "tags": '["a", "b"]', "about": '{"x": 1}',
    }  # fmt: skip
    customers = sorted(rows_of(tmp_path / "index", "customers"), key=lambda row: int(row["id"]))
    assert customers[0]["joined"] == "2024-01-01 10:00:00Z"
    assert lake.overlap({"n": [f"customer {i}" for i in range(9)]}, "n")[0].table == "customers"
    assert str(lake.table("orders").entry.composition) == "a table of a PostgreSQL database"


def test_declared_keys_are_in_the_catalog(cluster: Cluster, index: Index, tmp_path: Path) -> None:
    index(url_of(cluster))
    lake = lakejoin.open(tmp_path / "index")
    assert lake.table("orders").entry.declared == DeclaredKeys(
        ("id", "line"), (ForeignKey(("customer",), "customers", ("id",)),)
    )
    assert lake.table("customers").to_dict()["declared"] == {"primary": ("id",), "foreign": ()}
    assert lake.table("events").entry.declared is None


def test_only_schemas_asked_for(cluster: Cluster, index: Index, tmp_path: Path) -> None:
    index(url_of(cluster, "?schema=sales"))
    assert [t.name for t in lakejoin.open(tmp_path / "index").tables()] == ["sales.odd # name"]
    assert rows_of(tmp_path / "index", "sales.odd # name") == [
        {"a": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 'b "c': "1 day", "d": "infinity"},
        {"a": None, 'b "c': None, "d": None},
    ]
    index(url_of(cluster, "?schema=*"), full=True)
    assert len(list(lakejoin.open(tmp_path / "index").tables())) == 4
    with pytest.raises(InputError, match="has no tables in the schema nosuch"):
        index(url_of(cluster, "?schema=nosuch"), full=True)


def test_a_refresh_reads_what_changed(cluster: Cluster, index: Index, tmp_path: Path) -> None:
    cluster.run("create table changing as select 1 as a", "grant select on changing to reader")
    try:
        report = index(url_of(cluster))
        assert report.new == 4
        # The server may count a change a moment after it is committed.
        cluster.run("insert into changing values (2)", "select pg_stat_force_next_flush()")
        report = index(url_of(cluster))
        assert (report.new, report.changed, report.unchanged) == (0, 1, 3)
        assert len(rows_of(tmp_path / "index", "changing")) == 2
        cluster.run("insert into events values ('2024-02-07', 3)")
        assert index(url_of(cluster)).changed == 1
    finally:
        cluster.run("drop table changing")
    assert index(url_of(cluster)).gone == 1


def test_the_password_is_nowhere(cluster: Cluster, tmp_path: Path) -> None:
    """Not in what is printed, nor in any file that is written, whatever the command."""
    folder = tmp_path / "index"
    mine = tmp_path / "mine.csv"
    mine.write_text("customer,x\n1,a\n2,b\n3,c\n4,d\n")
    output = b""
    good, bad = url_of(cluster), url_of(cluster, password="wr0ng-s3cr3t")
    away = f"postgresql://reader:{quote(PASSWORD, safe='')}@127.0.0.1:1/shop"
    in_query = url_of(cluster, f"?password={quote(PASSWORD, safe='')}", None)
    commands = [
        ["index", good], ["index"], ["index", in_query, "--full"], ["index", bad, "--full"],
        ["index", away, "--full"], ["info"], ["tables"], ["columns", "orders"], ["skipped"],
        ["search", str(mine)], ["overlap", str(mine), "--on", "customer"], ["search", good],
        ["join", "orders", "customers"], ["join", str(mine), "orders", "--code", "sql"],
        ["join", str(mine), "orders", "--code", "pandas"], ["relations"], ["doctor"], ["history"],
        ["index", f"mysql://me:{quote(PASSWORD, safe='')}@host/shop"],
    ]  # fmt: skip
    plain = {k: v for k, v in os.environ.items() if not k.startswith("LAKEJOIN_PASSWORD_")}
    source = str(Path(lakejoin.__file__).parents[1])
    environment = {**plain, "LAKEJOIN_INDEX": str(folder), "PYTHONPATH": source}
    codes = []
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "lakejoin", *command],
            env=environment, capture_output=True, check=False, cwd=tmp_path,
        )  # fmt: skip
        output += done.stdout + done.stderr
        codes.append(done.returncode)
        assert b"Traceback" not in done.stderr
    assert codes[:6] == [0, 2, 0, 2, 2, 0], output.decode()
    for file in folder.rglob("*"):
        output += file.read_bytes() if file.is_file() else b""
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "wr0ng-s3cr3t", "s3cr3t"):
        assert secret.encode() not in output
    assert b"cannot connect" in output


def test_secrets_from_the_environment_or_a_file(
    cluster: Cluster, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("LAKEJOIN_PASSWORD_")]:
        monkeypatch.delenv(name)
    with pytest.raises(InputError, match="no password supplied"):
        index(url_of(cluster, password=None))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert index(url_of(cluster, password=None)).new == 3
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"127.0.0.1:{cluster.port}:shop:reader:{escaped}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert index(url_of(cluster, password=None)).unchanged == 3


def test_a_statement_that_takes_too_long(cluster: Cluster, index: Index, tmp_path: Path) -> None:
    cluster.run(
        "create function slow(n int) returns int language plpgsql immutable as"
        " $$ begin perform pg_sleep(30); return n; end $$",
        "create schema slow; create table slow.t (a int)",
        "create table slow.good as select 1 as a",
        "insert into slow.t values (1)",
        "alter table slow.t enable row level security",
        "create policy wait on slow.t using (slow(a) > 0)",
        "grant usage on schema slow to reader; grant select on all tables in schema slow to reader",
    )
    report = index(url_of(cluster, "?schema=slow&statement_timeout=1"))
    assert [t.name for t in lakejoin.open(tmp_path / "index").tables()] == ["slow.good"]
    (skipped,) = report.skipped
    assert (skipped.name, skipped.reason) == ("slow.t", "cannot be read from its database")
    assert "statement timeout" in skipped.detail


def test_a_server_that_hangs_or_is_away(index: Index, tmp_path: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        port = deaf.getsockname()[1]
        with pytest.raises(InputError, match="cannot connect to postgresql://me@127"):
            index(f"postgresql://me:s3cr3t@127.0.0.1:{port}/shop?connect_timeout=2")
    with pytest.raises(InputError, match="cannot connect to postgresql://me@127"):
        index(f"postgresql://me:s3cr3t@127.0.0.1:{port}/shop")
    assert threading.active_count() < 50


def test_what_is_not_read_says_so(index: Index) -> None:
    with pytest.raises(InputError, match="mysql databases are not read"):
        index("mysql://me:s3cr3t@host/shop")
    with pytest.raises(InputError, match="write the path of the database file as duckdb:///path"):
        index("duckdb://")
    with pytest.raises(InputError, match="there is no file"):
        index("sqlite:////nowhere/shop.db")
    with pytest.raises(InputError, match="statement_timeout"):
        index("postgresql://me@127.0.0.1:1/shop?statement_timeout=soon")


@pytest.mark.parametrize("chunk_bytes", [1 << 26, 300])
def test_a_duckdb_file(tmp_path: Path, index: Index, chunk_bytes: int) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table customers (id int primary key, name text)")
        connection.execute("insert into customers select i, 'c' || i from range(40) t(i)")
        connection.execute(
            "create table orders (id int, customer int references customers (id),"
            " items struct(sku text, n int)[], price decimal(10, 2))"
        )
        connection.execute(
            "insert into orders select i, i % 40, [{'sku': 's' || i, 'n': i}], i / 4"
            " from range(100) t(i)"
        )
        connection.execute("create schema more; create table more.t as select 1 as a")
    index(f"duckdb:///{path}", chunk_bytes=chunk_bytes)
    lake = lakejoin.open(tmp_path / "index")
    assert {t.name: t.rows for t in lake.tables()} == {
        "customers": 40, "orders": 100, "orders#items": 100,
    }  # fmt: skip
    declared = lake.table("orders").entry.declared
    assert declared == DeclaredKeys((), (ForeignKey(("customer",), "customers", ("id",)),))
    assert index(f"duckdb:///{path}").unchanged == 2
    index(f"duckdb:///{path}?schema=*", full=True)
    assert "more.t" in {t.name for t in lakejoin.open(tmp_path / "index").tables()}


def test_structs_maps_and_intervals_of_duckdb(tmp_path: Path, index: Index) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table stays as select i as id, {'city': 'town ' || i} as \"at\","
            " map {'k': i} as m, interval (i) day + interval '1.5 seconds' as stay"
            " from range(3) t(i)"
        )
    index(f"duckdb:///{path}")
    columns = {c.name: c for c in lakejoin.open(tmp_path / "index").table("stays").columns()}
    assert set(columns) == {"id", "at.city", "m.k", "stay"}
    assert sorted(columns["stay"].profile.examples) == ["P0M0DT1.5S", "P0M1DT1.5S", "P0M2DT1.5S"]


def test_an_sqlite_database_in_use(tmp_path: Path, index: Index) -> None:
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table a (id integer primary key, t text)")
    connection.execute("create table b (a integer references a, x)")
    connection.executemany("insert into a values (?, ?)", [(i, f"t{i}") for i in range(9)])
    connection.executemany("insert into b values (?, ?)", [(1, 2.5), (2, "x"), (3, None)])
    connection.commit()
    index(f"sqlite:///{path}")
    assert [r["t"] for r in rows_of(tmp_path / "index", "a")] == [f"t{i}" for i in range(9)]
    lake = lakejoin.open(tmp_path / "index")
    assert lake.table("b").entry.declared == DeclaredKeys((), (ForeignKey(("a",), "a", ("id",)),))
    connection.execute("insert into a values (100, 'late')")
    connection.commit()
    assert index(f"sqlite:///{path}").changed == 2
    assert rows_of(tmp_path / "index", "a")[-1]["t"] == "late"
    connection.close()


def test_a_folder_and_a_database_together(tmp_path: Path, index: Index) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table towns (name text)")
        connection.execute("insert into towns values ('Ulm')")
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake/towns.csv").write_text("name,n\nUlm,1\n")
    report = index(tmp_path / "lake", f"sqlite:///{path}")
    assert report.totals.tables == 2
    assert json.dumps(lakejoin.open(tmp_path / "index").info()["lakes"]).count("sqlite:///") == 1
