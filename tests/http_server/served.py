"""A server in a process of its own, and a caller."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

LONG = 120.0


@dataclass(frozen=True)
class Served:
    """A server that runs, and how it is asked."""

    url: str
    port: int
    token: str | None
    store: Path
    process: subprocess.Popen[str]
    http: httpx.Client

    def get(self, path: str, **query: Any) -> Any:
        """What a GET gives, which must be well."""
        answer = self.http.get(f"/api/v1/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        """What a POST gives, which must be well."""
        answer = self.http.post(f"/api/v1/{path}", json=body, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def problem(self, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
        """The status and the error of what must go wrong."""
        answer = self.http.request(method, f"/api/v1/{path}", **more)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["error"]

    def upload(self, name: str, data: bytes) -> Any:
        """What bringing a file gives."""
        answer = self.http.post("/api/v1/uploads", params={"name": name}, content=data)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def events(self, path: str, body: Any) -> Iterator[tuple[str, Any]]:
        """The events of a POST, as they come."""
        headers = {"accept": "text/event-stream"}
        with self.http.stream("POST", f"/api/v1/{path}", json=body, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            what = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    what = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield what, json.loads(line.removeprefix("data: "))


@contextmanager
def serving(index: Path, store: Path, *options: str) -> Iterator[Served]:
    """Starts `lakejoin serve`, and ends it."""
    command = [sys.executable, "-m", "lakejoin", "serve", "--index", str(index)]
    command += ["--port", "0", "--store", str(store), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, f"the server ended: {text}"
            text += line
        told = json.loads(text)
        url = f"http://127.0.0.1:{told['port']}"
        headers = {"authorization": f"Bearer {told['token']}"} if told["token"] else {}
        with httpx.Client(base_url=url, timeout=LONG, headers=headers) as http:
            yield Served(url, told["port"], told["token"], store, process, http)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
