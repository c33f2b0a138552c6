"""A child for the tests of children: does what the job says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

from lakejoin.errors import InputError
from lakejoin.server.job_loop import JobHandler, ProgressReporter, serve_jobs


def prepare(setup: dict[str, Any]) -> JobHandler:
    def work(job: dict[str, Any], tell: ProgressReporter) -> Any:
        match job["do"]:
            case "echo":
                sys.stdout.write("a library prints\n")
                tell("progress", {"doing": "echoing"})
                return {"said": job["what"], "setup": setup, "pid": os.getpid()}
            case "fail":
                raise InputError("there is no column x")
            case "break":
                raise ZeroDivisionError
            case "die":
                os._exit(9)
            case "sleep":
                time.sleep(job["seconds"])
                return "slept"
            case "tell":
                while True:
                    tell("progress", {"doing": "going on"})
                    time.sleep(0.01)
            case "fill":
                held = []
                while True:
                    held.append(bytearray(os.urandom(10_000_000)))
            case "start":
                started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
                tell("progress", {"pid": started.pid})
                time.sleep(60)
            case "environment":
                return dict(os.environ)
        return None

    return work


if __name__ == "__main__":
    serve_jobs(prepare)
