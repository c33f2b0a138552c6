"""No statement starves the server: each ends at a limit, in words, and the next one works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from http_server.sql_asking import saved, with_runner
from lakejoin.server.api_problems import Problem
from lakejoin.server.sql.statement_runner import SqlLimits, SqlRunner, TargetType

LIMITS = SqlLimits(memory=200_000_000, seconds=1.0, rows=1_000_000, bytes=50_000_000)
STARTING = 25.0  # seconds until a child is there, on a machine that has much else to do
ROWS = 20_000

# A statement, and the kinds of problems that may end it.
STARVING = {
    "select levenshtein(repeat('a', 200000), repeat('b', 200000))": ("time",),
    "select list_reduce(range(100000000), lambda x, y: x + y)": ("time", "memory"),
    "select length(repeat('x', 4000000000))": ("memory", "time", "sql"),
    "select repeat('x', 4000000000)": ("memory", "time", "sql", "too_large"),
    "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t": (
        "time", "memory"),
    "with recursive t(n) as (select 1 union all select n from t, range(3)) select sum(n) from t": (
        "time", "memory"),
    "select count(*) from result a, result b, result c, result d where a.text < b.text || c.text": (
        "time",),
    "select * from result a, result b order by a.text || b.text": ("time", "memory"),
    "select count(*) from range(1000000000000) t(i) where i % 7 = 3": ("time",),
    "select * from range(1000000000000)": ("too_large",),
    "select * from generate_series(1, 1000000000000)": ("too_large",),
    "select unnest(generate_series(1, 1000000000))": ("memory", "time", "too_large"),
    "select unnest(range(1000)) a, t.* from range(1000000) t(i)": ("too_large",),
    "select list_aggregate(range(2000000000), 'sum')": ("memory", "time", "sql"),
    "select list_sort(list_transform(range(50000000), lambda x: hash(x)))": ("memory", "time"),
    "select string_agg(repeat('x', 100000)) from range(1000000)": ("memory", "time", "sql"),
    "select i, count(*) from range(200000000) t(i) group by i order by 2": ("memory", "time"),
    "select md5(i::varchar), list(i) from range(200000000) t(i) group by 1": ("memory", "time"),
    "select sum(i) over (order by hash(i) rows between 1000000 preceding and 1000000 following) "
    "from range(100000000) t(i)": ("memory", "time"),
    "select median(i) over (order by i rows between unbounded preceding and current row) "
    "from range(30000000) t(i)": ("memory", "time"),
    "select regexp_replace(repeat('a', 3000000), '(a?){500}a{500}', '', 'g')": (
        "time", "sql", "memory"),
    # Its expressions take linear time, so that a quick machine is done with this one.
    "select regexp_matches(repeat('ab', 50000000), '(.*)(.*)(.*)(.*)(.*)[x]')": (
        "ok", "time", "memory"),
    "select " + "(" * 20_000 + "1" + ")" * 20_000: ("sql",),
    "select " + "1+" * 40_000 + "1": ("sql",),
    "select " + "[" * 20_000 + "]" * 20_000: ("sql",),
    "select '" + "x" * 150_000 + "', '" + "y" * 100_000 + "'": ("sql",),
    "select " + ", ".join(f"{i} c{i}" for i in range(12_000)): ("too_large", "time"),
    "pivot (select i % 90000 as i from range(90000) t(i)) on i using count(*)": (
        "too_large", "time", "memory", "sql"),
    "select factorial(30000), 10::hugeint ** 30000": ("sql",),
    "select array_agg(a.text || b.text) from result a, result b": ("memory", "time"),
    "select bar(1, 0, 1, 1000000000), lpad('x', 2000000000, 'y')": ("sql", "memory", "time"),
    "select printf('%2000000000d', 1), format('{:>2000000000}', 1)": ("memory", "time"),
}  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How a statement ended: the kind of problem (`ok` for none), in words, after how long."""

    kind: str
    message: str
    seconds: float


def batched(of: Iterable[str], size: int) -> Iterator[list[str]]:
    given = list(of)
    yield from (given[begin : begin + size] for begin in range(0, len(given), size))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """All statements, two at a time; after some of them an ordinary one, which works."""
    folder = tmp_path_factory.mktemp("starving")
    table = pa.table({"text": [f"text {i * 7919 % ROWS}" for i in range(ROWS)]})
    path = saved(table, folder / "table.arrow")
    before = psutil.Process().memory_info().rss

    async def one(runner: SqlRunner, sql: str, number: int) -> Ended:
        kind, message = "ok", ""
        output = folder / f"{number}.arrow"
        began = time.monotonic()
        try:
            await runner.run(sql, path, {0: TargetType("integer")}, output)
        except Problem as problem:
            kind, message = problem.kind, str(problem)
        seconds = time.monotonic() - began
        return Ended(kind, message, seconds)

    async def work(runner: SqlRunner) -> dict[str, Ended]:
        two = asyncio.Semaphore(2)

        async def in_turn(sql: str, number: int) -> Ended:
            async with two:
                return await one(runner, sql, number)

        found: dict[str, Ended] = {}
        for some in batched(STARVING, 4):
            numbered = enumerate(some, len(found))
            ends = await asyncio.gather(*(in_turn(sql, number) for number, sql in numbered))
            found |= dict(zip(some, ends, strict=True))
            output = folder / "after.arrow"
            await runner.run("select count(*) n from result", path, {}, output)
            assert pa.ipc.open_file(output).read_all()["n"].to_pylist() == [ROWS]
        return found

    found: dict[str, Ended] = with_runner(work, LIMITS)
    grown = psutil.Process().memory_info().rss - before
    assert grown < 150_000_000, f"the server's own memory has grown by {grown:,} bytes"
    assert not list(folder.glob("*.part")), "half a file was left"
    return found


@pytest.mark.parametrize("sql", STARVING, ids=lambda sql: sql[:50])
def test_it_ends_at_a_limit(sql: str, ended: dict[str, Ended]) -> None:
    found = ended[sql]
    assert found.kind in STARVING[sql], found
    assert found.seconds < LIMITS.seconds + STARTING
    assert found.kind == "ok" or (found.message and "\n" not in found.message)


def test_no_child_is_left(tmp_path: Path) -> None:
    path = saved(pa.table({"a": [1]}), tmp_path / "table.arrow")
    before = psutil.Process().children()  # servers of other tests, which have children too

    async def work(runner: SqlRunner) -> list[psutil.Process]:
        with pytest.raises(Problem, match="after 1 seconds"):
            slow = "select levenshtein(repeat('a', 200000), repeat('b', 200000))"
            await runner.run(slow, path, {}, tmp_path / "out.arrow", seconds=1)
        return psutil.Process().children()

    children = [one for one in with_runner(work, LIMITS) if one not in before]
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive


def test_a_caller_who_leaves_stops_the_statement(tmp_path: Path) -> None:
    path = saved(pa.table({"a": [1]}), tmp_path / "table.arrow")

    async def work(runner: SqlRunner) -> bool:
        began = asyncio.Event()
        slow = "select levenshtein(repeat('a', 200000), repeat('b', 200000))"
        running = asyncio.ensure_future(
            runner.run(
                slow, path, {}, tmp_path / "a.arrow", seconds=60, listener=lambda *_: began.set()
            )
        )
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        done = await runner.run("select 1", path, {}, tmp_path / "b.arrow")
        return done.rows == 1

    assert with_runner(work, LIMITS, children=1)
    assert {one.name for one in tmp_path.iterdir()} == {"table.arrow", "b.arrow"}
