"""Mixed load on a server whose processes are killed and whose store is damaged meanwhile.

    python server_faults.py FOLDER SEED SECONDS

Prints one JSON object: how requests ended, what was done to the server, and what went wrong: an
answer that differs from the right one, or a process that died by itself.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped, unused-ignore]

from faults.small_lake import build_index, write_lake

_UPLOAD = b"town,n\n" + b"".join(b"Town %d,%d\n" % (n, n) for n in range(1, 30))
_TABLES = ("towns_a0.csv", "towns_b1.csv", "towns_c2.csv")
_VOLATILE = ("seconds", "seconds_by", "cached", "notes", "counters", "link", "job")
# What a request may be told while the process that works for it is killed, or the disk is damaged.
_EXCUSED = (404, 408, 409, 410, 429, 502, 503, 504, 507)


class Server:
    """A `lakejoin serve` that is started again when it is killed."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.killed = 0.0  # when it was last killed
        self.restarting = False
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "lakejoin", "serve", "--port", "0", "--json"]
        command += ["--index", str(self._home / "index"), "--store", str(self._home / "store")]
        log = (self._home / "server.log").open("a")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        text = ""
        while not text.rstrip().endswith("}"):
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            assert line, f"the server does not start: {text}"
            text += line
        told = json.loads(text)
        headers = {"authorization": f"Bearer {told['token']}"} if told["token"] else {}
        url = f"http://127.0.0.1:{told['port']}/api/v1"
        self.http = httpx.Client(base_url=url, timeout=120.0, headers=headers)

    def kill(self) -> None:
        self.restarting = True
        self.process.kill()
        self.process.wait()
        self.start()
        self.killed = time.monotonic()
        self.restarting = False


def requests() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Requests by name: method, path, and what `httpx` takes."""
    lake = [f"lake:{name}" for name in _TABLES]
    asked: dict[str, tuple[str, str, dict[str, Any]]] = {}
    for number, table in enumerate(lake):
        asked[f"search {number}"] = ("POST", "search", {"json": {"table": table, "k": 5}})
        asked[f"overlap {number}"] = (
            "POST", "search", {"json": {"table": table, "by": "overlap", "on": ["code"]}},
        )  # fmt: skip
        asked[f"rows {number}"] = ("GET", "rows", {"params": {"table": table}})
        asked[f"table {number}"] = ("GET", "table", {"params": {"table": table}})
        sql = (
            f"select land, count(*) as n from result where town <> '{number}' group by 1 order by 1"
        )
        asked[f"sql {number}"] = ("POST", "sql", {"json": {"table": table, "sql": sql}})
    join = {"left": lake[0], "right": lake[1], "on": [{"left": "code", "right": "code"}]}
    asked["join"] = ("POST", "join", {"json": join})
    asked["union"] = ("POST", "union", {"json": {"table": lake[0]}})
    asked["upload"] = ("POST", "uploads", {"params": {"name": "mine.csv"}, "content": _UPLOAD})
    asked["find"] = ("GET", "find", {"params": {"text": "town"}})
    asked["find value"] = ("GET", "find", {"params": {"text": "namibia"}})
    asked["paths"] = ("POST", "paths", {"json": {"table": lake[0], "other_table": lake[1]}})
    asked["export"] = ("GET", "export", {"params": {"table": lake[1], "format": "csv"}})
    return asked


def content(answer: httpx.Response) -> Any:
    """What an answer says; the text of one that is not JSON."""
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    return plain(answer.json()) if is_json else answer.text


def plain(body: Any) -> Any:
    """An answer without what differs from time to time."""
    if isinstance(body, dict):
        return {key: plain(value) for key, value in body.items() if key not in _VOLATILE}
    return [plain(item) for item in body] if isinstance(body, list) else body


class Trial:
    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.rng = random.Random(seed)
        build_index(write_lake(home / "lake"), home / "index")
        self.server = Server(home)
        self.asked = requests()
        self.right = {name: self._right(name) for name in self.asked}
        self.outcomes: Counter[str] = Counter()
        self.done_to: Counter[str] = Counter()
        self.problems: list[str] = []
        self.over = threading.Event()

    def _right(self, name: str) -> Any:
        answer = self._send(name)
        assert answer.status_code == 200, f"{name}: {answer.text}"
        said = content(answer)
        if isinstance(said, dict):
            assert said.get("complete", True), f"{name} took too long before anything was harmed"
        return said

    def _send(self, name: str) -> httpx.Response:
        method, path, more = self.asked[name]
        return self.server.http.request(method, path, **more)

    def load(self, seed: int) -> None:
        """Ask for one thing after the other, and compare."""
        rng = random.Random(seed)
        while not self.over.is_set():
            name = rng.choice(list(self.asked))
            begin = time.monotonic()
            try:
                answer = self._send(name)
            except httpx.HTTPError as problem:
                near = self.server.restarting or self.server.killed >= begin
                self.outcomes["no answer"] += 1
                if not near:
                    self._report(f"death: {name}: {type(problem).__name__}: {problem}")
                time.sleep(0.5)
                continue
            self.outcomes[str(answer.status_code)] += 1
            if answer.status_code == 200:
                self._compare(name, content(answer))
            elif '"kind":"died"' in answer.text or "crashed its reader" in answer.text:
                self.outcomes["died"] += 1
            elif answer.status_code not in _EXCUSED:
                self._report(f"wrong: {name}: {answer.status_code} {answer.text[:500]}")

    def _compare(self, name: str, said: Any) -> None:
        right = self.right[name]
        if isinstance(said, dict) and said.get("complete") is False:
            # `find` says that its time ran out: what it found is the beginning of all there is.
            self.outcomes["incomplete"] += 1
            if said["tables"] == right["tables"][: len(said["tables"])]:
                return
        if said != right:
            self._report(f"wrong: {name}: {str(said)[-500:]}")

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        sys.stderr.write(problem + "\n")
        sys.stderr.flush()

    def harm(self, seconds: float) -> None:
        """Kill children and the server, and damage files of the store, until the time is up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self.rng.uniform(0.3, 2.5))
            way = self.rng.choice(["child"] * 5 + ["store"] * 4 + ["server"])
            self.done_to[way] += 1
            if way == "server":
                self.server.kill()
            elif way == "child":
                self._kill_child()
            else:
                self._damage_store()
            if self.server.process.poll() is not None:
                self._report(f"death: the server ended: {self.server.process.returncode}")
                self.server.start()
        self.over.set()

    def count_deaths(self) -> None:
        """A killed process may fail the one request that it worked for; more of them died by
        themselves. A reader of an upload is replaced once, so two were killed if that fails."""
        if self.outcomes["died"] > self.done_to["killed child"]:
            died, killed = self.outcomes["died"], self.done_to["killed child"]
            self._report(f"death: {died} requests lost their process, {killed} were killed")

    def _kill_child(self) -> None:
        try:
            children = psutil.Process(self.server.process.pid).children(recursive=True)
            if children:
                self.rng.choice(children).send_signal(signal.SIGKILL)
                self.done_to["killed child"] += 1
        except psutil.Error:
            pass

    def _damage_store(self) -> None:
        """Change a stored file: flip a byte, cut it, or remove it."""
        files = sorted(p for p in (self.home / "store").rglob("*") if p.is_file())
        files = [path for path in files if "making-" not in path.name]
        if not files:
            return
        path = self.rng.choice(files)
        try:
            data = bytearray(path.read_bytes())
            way = self.rng.choice(["flip", "cut", "remove"])
            if way == "remove" or not data:
                path.unlink()
                return
            if way == "flip":
                data[self.rng.randrange(len(data))] ^= 255
            else:
                del data[self.rng.randrange(len(data)) :]
            # As a disk would: other bytes in a new file, not under a reader's hands.
            draft = path.with_name(f"damage-{path.name}")
            draft.write_bytes(data)
            draft.replace(path)
        except OSError:
            return


def main() -> None:
    home, seed, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    trial = Trial(home, seed)
    threads = [threading.Thread(target=trial.load, args=[seed + n]) for n in range(3)]
    for thread in threads:
        thread.start()
    trial.harm(seconds)
    for thread in threads:
        thread.join()
    trial.count_deaths()
    trial.server.process.terminate()
    trial.server.process.wait(30)
    found = {"seconds": seconds, "requests": trial.outcomes, "done_to": trial.done_to}
    sys.stdout.write(json.dumps({**found, "problems": trial.problems}) + "\n")


if __name__ == "__main__":
    main()
