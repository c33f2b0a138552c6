"""Children: what they answer, and that nothing they do harms the server or the next job."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lakejoin.server.api_problems import Problem
from lakejoin.server.child_pool import Child, ChildPool, ChildSpec

MODULE = "http_server.made_child"
LONG = 30.0


def with_pool(work: Callable[[ChildPool], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        pool = ChildPool(ChildSpec(MODULE, **{"size": 1, **options}))
        await pool.start()
        try:
            return await work(pool)
        finally:
            await pool.close()

    return asyncio.run(run())


async def works(pool: ChildPool) -> bool:
    answer = await pool.run({"do": "echo", "what": "ü"}, LONG)
    return bool(answer["said"] == "ü")


async def problem_of(running: Awaitable[Any]) -> Problem:
    with pytest.raises(Problem) as found:
        await running
    return found.value


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = ""
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":  # ended, and not yet noticed by its parent
            return True
        time.sleep(0.05)
    return False


def test_a_job_is_answered_and_told_of() -> None:
    told: list[Any] = []

    async def work(pool: ChildPool) -> Any:
        first = await pool.run(
            {"do": "echo", "what": "a" * 200_000}, LONG, lambda *one: told.append(one)
        )
        second = await pool.run({"do": "echo", "what": "é\n"}, LONG)
        return first, second

    first, second = with_pool(work, setup={"x": 1})
    assert (len(first["said"]), second["said"]) == (200_000, "é\n")
    assert first["setup"] == {"x": 1}
    assert first["pid"] == second["pid"]
    assert told == [("progress", {"doing": "echoing"})]


def test_a_child_is_replaced_after_its_jobs() -> None:
    async def work(pool: ChildPool) -> list[int]:
        echo = {"do": "echo", "what": ""}
        return [(await pool.run(echo, LONG))["pid"] for _ in range(3)]

    assert len(set(with_pool(work, jobs_per_child=1))) == 3


def test_a_child_has_a_successor_before_it_goes() -> None:
    """Each does its jobs, none more are kept than before, and no job waits for one to start."""

    async def work(pool: ChildPool) -> tuple[list[int], list[float]]:
        pids, seconds = [], []
        for _ in range(45):
            begin = time.monotonic()
            pids.append((await pool.run({"do": "echo", "what": ""}, LONG))["pid"])
            seconds.append(time.monotonic() - begin)
            await asyncio.sleep(0.15)
        return pids, seconds

    pids, seconds = with_pool(work, jobs_per_child=20)
    times = [pids.count(pid) for pid in dict.fromkeys(pids)]
    assert times[0] == 20 and max(times) <= 20 and len(times) in (3, 4)
    assert max(seconds[1:]) < seconds[0]


@pytest.mark.parametrize(
    ("job", "kind", "said"),
    [
        ({"do": "fail"}, "input", "there is no column x"),
        ({"do": "break"}, "ours", "unexpected error (ZeroDivisionError)"),
        ({"do": "die"}, "died", "ended unexpectedly"),
        ({"do": "sleep", "seconds": 60}, "time", "after 1.5 seconds"),
    ],
)
def test_what_fails_is_told_and_the_next_job_works(
    job: dict[str, Any], kind: str, said: str
) -> None:
    async def work(pool: ChildPool) -> tuple[Problem, bool]:
        assert await works(pool)
        return await problem_of(pool.run(job, 1.5)), await works(pool)

    problem, worked = with_pool(work)
    assert (problem.kind, worked) == (kind, True)
    assert said in str(problem)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is watched on Linux")
def test_a_child_that_takes_too_much_memory_is_ended() -> None:
    async def work(pool: ChildPool) -> tuple[Problem, bool]:
        return await problem_of(pool.run({"do": "fill"}, LONG)), await works(pool)

    problem, worked = with_pool(work, memory=300_000_000)
    assert (problem.kind, worked) == ("memory", True)


@pytest.mark.parametrize("grace", [0.0, 5.0])
def test_a_job_that_nobody_waits_for_is_stopped(grace: float) -> None:
    """With some grace its child is used again."""

    async def work(pool: ChildPool) -> tuple[int, bool]:
        assert await works(pool)
        for _ in range(2):
            running = asyncio.ensure_future(pool.run({"do": "tell"}, LONG))
            await asyncio.sleep(0.3)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        return pool.killed, await works(pool)

    killed, worked = with_pool(work, grace=grace)
    assert (killed, worked) == (0 if grace else 2, True)


def test_what_a_child_has_started_ends_with_it() -> None:
    pids: list[int] = []

    async def work(pool: ChildPool) -> Problem:
        def told(what: str, said: Any) -> None:
            pids.append(said["pid"])

        return await problem_of(pool.run({"do": "start"}, 3.0, told))

    assert with_pool(work).kind == "time"
    assert gone(pids[0])


def test_too_many_that_wait_are_sent_away() -> None:
    async def work(pool: ChildPool) -> tuple[Problem, list[Any]]:
        assert await works(pool)
        sleep = {"do": "sleep", "seconds": 0.5}
        running = [asyncio.ensure_future(pool.run(sleep, LONG)) for _ in range(4)]
        await asyncio.sleep(0.1)
        refused = await problem_of(pool.run(sleep, LONG))
        return refused, await asyncio.gather(*running)

    refused, slept = with_pool(work, max_waiting=3)
    assert (refused.kind, slept) == ("busy", ["slept"] * 4)


def test_a_child_gets_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")

    async def work(pool: ChildPool) -> Any:
        return await pool.run({"do": "environment"}, LONG)

    given = with_pool(work, environment={"MINE": "1"})
    assert "s3cret" not in str(given)
    assert given["MINE"] == "1"


def test_a_pool_gets_its_children_back_when_none_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start, failures = Child.start, [OSError("no process"), OSError("no file")]

    async def started(kind: Any) -> Child:
        if failures:
            raise failures.pop()
        return await start(kind)

    monkeypatch.setattr(Child, "start", started)
    monkeypatch.setattr("lakejoin.server.child_pool._RETRY_SECONDS", 0.1)

    async def work(pool: ChildPool) -> bool:
        async with asyncio.timeout(LONG):
            return await works(pool)

    assert with_pool(work)
    assert not failures


def test_a_stop_that_comes_too_late_does_not_end_the_next_job() -> None:
    command = [sys.executable, "-m", MODULE]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=path, **pipes) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def say(**message: Any) -> None:
            data = json.dumps(message).encode()
            child.stdin.write(struct.pack(">I", len(data)) + data)
            child.stdin.flush()

        def hear() -> Any:
            return json.loads(child.stdout.read(struct.unpack(">I", child.stdout.read(4))[0]))

        say(setup={})
        assert "ready" in hear()
        for _ in range(2):
            say(job={"do": "echo", "what": "x"})
            assert "progress" in hear()
            assert "done" in hear()
            say(stop=True)
        child.stdin.close()
