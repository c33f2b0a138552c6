"""Runs the tasks of the pipeline in processes of this machine, without Spark.

Each process works on one batch at a time. One that dies, hangs or fails is replaced and its batch
tried again, up to four times as on Spark; the notes of `task_progress` tell the next attempt which
file to read in isolation.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lakejoin.encoders.factory import ENCODER_NAMES
from lakejoin.errors import BuildFailed
from lakejoin.pipeline import task_process
from lakejoin.pipeline.job import Job, Outcome
from lakejoin.pipeline.machine_limits import choose_processes, usable_cores, usable_memory
from lakejoin.pipeline.task_kinds import check_outcomes
from lakejoin.pipeline.task_process import WITH_PANDAS, read_message, write_message
from lakejoin.pipeline.task_progress import Listener, Progress, watch_progress

_TRIES = 4


@contextlib.contextmanager
def start_processes(work_bytes: int, note: str = "") -> Iterator[ProcessRunner]:
    """A runner with as many processes as this machine has cores and memory for; `note` says why
    it was chosen. The end of the block ends the processes."""
    runner = ProcessRunner(choose_processes(work_bytes, usable_cores(), usable_memory()), note)
    try:
        yield runner
    finally:
        runner.close()


class ProcessRunner:
    """Runs each batch of a job in one of `cores` processes, which start when they are needed."""

    engine = "local"

    def __init__(self, cores: int, note: str = "") -> None:
        self.cores = cores
        self.note = note
        self._lock = threading.Lock()
        self._idle: list[_TaskProcess] = []
        self._all: set[_TaskProcess] = set()
        self._closed = False

    def run(self, job: Job, batches: range, stage: Progress, listener: Listener) -> list[Outcome]:
        threads = min(self.cores, len(batches))
        with (
            watch_progress(job.scratch, batches, stage, listener),
            ThreadPoolExecutor(threads, "lakejoin-task") as pool,
        ):
            try:
                running = [pool.submit(self._run_batch, job, batch) for batch in batches]
                outcomes = [outcome for task in running for outcome in task.result()]
            except BaseException:  # Ctrl-C too: the threads end once their processes have
                pool.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise
        return check_outcomes(outcomes)

    def dumps(self, value: Any) -> bytes:
        """Pickle a value, also if it is a function of the caller's script."""
        with contextlib.suppress(Exception):
            body = pickle.dumps(value)
            if b"__main__" not in body:  # else no other process could load it
                return body
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(value)
        return pickled

    def close(self) -> None:
        """End all processes, and whatever they have started."""
        with self._lock:
            self._closed = True
            running = list(self._all)
            self._all.clear()
        for process in running:
            process.end()

    def _run_batch(self, job: Job, batch: int) -> list[Outcome]:
        reason = ""
        for _ in range(_TRIES):
            process = self._take(_needs_pandas(job))
            try:
                outcomes, reason = process.run(job, batch)
            except (OSError, EOFError):
                reason = f"its process ended with {process.end()}"
                with self._lock:
                    self._all.discard(process)
                continue
            with self._lock:
                self._idle.append(process)
            if not reason:
                return outcomes
        raise BuildFailed(
            f"a task failed {_TRIES} times: {reason}; the previous index is untouched"
        )

    def _take(self, with_pandas: bool) -> _TaskProcess:
        with self._lock:
            if self._closed:
                raise BuildFailed("the build was stopped; the previous index is untouched")
            if self._idle:
                return self._idle.pop()
            process = _TaskProcess(with_pandas)
            self._all.add(process)
            return process


def _needs_pandas(job: Job) -> bool:
    """Whether an encoder of the user's, which may use pandas, runs in the tasks."""
    meaning = job.options.meaning
    return meaning is not None and meaning.encoder not in ENCODER_NAMES


class _TaskProcess:
    """A process of `task_process`, in a session of its own: Ctrl-C reaches only its parent."""

    def __init__(self, with_pandas: bool) -> None:
        arguments = [WITH_PANDAS] if with_pandas else []
        python_path = os.pathsep.join(folder for folder in sys.path if folder)
        self._process = subprocess.Popen(
            [sys.executable, "-m", task_process.__name__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # One process a core, as on Spark: no library starts threads of its own.
            env={"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": python_path},
            start_new_session=True,
        )

    def run(self, job: Job, batch: int) -> tuple[list[Outcome], str]:
        """The outcomes of a batch and, if it failed, the reason."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        write_message(stdin, pickle.dumps((job, batch)))
        body = read_message(stdout)
        outcomes, reason = pickle.loads(body)
        return outcomes, reason

    def end(self) -> str:
        """Kill it and what it has started; says how it ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        return f"signal {-code}" if code < 0 else f"exit code {code}"
