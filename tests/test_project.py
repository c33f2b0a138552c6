"""The project keeps its word: what its documents and pins say is so."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import lakejoin

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
PYTHONS = ("3.11", "3.12", "3.13")


def text(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def pins(path: Path) -> list[tuple[Requirement, int]]:
    """Every requirement in a file with the number of its hashes."""
    joined = path.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines() if line.strip()]
    return [
        (Requirement(line.partition(" --hash")[0]), line.count("--hash=sha256:")) for line in lines
    ]


def wanted(extra: str) -> set[str]:
    """The names of the packages that an extra asks for, with those of the extras it includes."""
    names: set[str] = set()
    for line in PROJECT["project"]["optional-dependencies"][extra]:
        requirement = Requirement(line)
        if requirement.name == "lakejoin":
            names |= set().union(*(wanted(other) for other in requirement.extras))
        else:
            names.add(canonicalize_name(requirement.name))
    return names


BASE = {canonicalize_name(Requirement(line).name) for line in PROJECT["project"]["dependencies"]}
EXTRAS = PROJECT["project"]["optional-dependencies"]


# -- the two commands ------------------------------------------------------------------------


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", text("Makefile"), flags=re.MULTILINE))


def test_readme_names_the_two_commands() -> None:
    assert {"make demo", "make test"} <= set(re.findall(r"^make \w+", text("README.md"), re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_make_commands_in_pages_exist(page: Path) -> None:
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(encoding="utf-8"), re.M))
    assert named <= targets()


def test_ci_runs_the_test_command() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.search(r"^exec make test$", text(".ci/run"), re.M)


def test_scripts_are_sound() -> None:
    for script in (*(ROOT / "scripts").glob("*.sh"), ROOT / ".ci" / "run"):
        assert os.access(script, os.X_OK), script
        subprocess.run(["bash", "-n", script], check=True)
        assert "set -euo pipefail" in script.read_text(encoding="utf-8"), script


# -- the pins --------------------------------------------------------------------------------

FILES = ["build", "demo", "java", "kernels", "node", "test"]


def test_there_is_no_lock_with_hosts_in_it() -> None:
    assert not (ROOT / "uv.lock").exists()
    assert {path.stem for path in REQUIREMENTS} == set(FILES)


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_every_pin_has_hashes_and_nothing_else(path: Path) -> None:
    found = pins(path)
    assert found
    for requirement, hashes in found:
        assert hashes, f"{requirement.name} has no hash"
        assert [spec.operator for spec in requirement.specifier] == ["=="], requirement
        assert requirement.url is None, requirement
    content = path.read_text(encoding="utf-8")
    assert not re.search(r"://|--(?!hash=sha256:[0-9a-f]{64}\b)", content)
    names = {canonicalize_name(requirement.name) for requirement, _ in found}
    assert not names & {"torch", "lakejoin"}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", FILES)
def test_one_pin_a_package_on_every_python(name: str, python: str) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    chosen = [
        canonicalize_name(requirement.name)
        for requirement, _ in pins(ROOT / "requirements" / f"{name}.txt")
        if requirement.marker is None or requirement.marker.evaluate(environment)
    ]
    assert len(chosen) == len(set(chosen))
    asked = {
        "test": ("test", "demo", "bench"),
        "demo": ("demo",),
        "java": ("java",),
        "kernels": ("numba",),
    }.get(name, ())
    missing = (BASE if asked else set()).union(*(wanted(extra) for extra in asked)) - set(chosen)
    assert not missing, f"run `make lock`: {sorted(missing)}"


def test_pins_fit_what_the_project_asks_for() -> None:
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for lines in (*EXTRAS.values(), *PROJECT["dependency-groups"].values()):
        asked += lines
    pinned = [requirement for path in REQUIREMENTS for requirement, _ in pins(path)]
    for requirement in map(Requirement, asked):
        for pin in pinned:
            if canonicalize_name(pin.name) == canonicalize_name(requirement.name):
                (spec,) = pin.specifier
                assert requirement.specifier.contains(spec.version, prereleases=True), (
                    f"run `make lock`: {requirement} does not allow {pin}"
                )


def test_files_agree_with_each_other() -> None:
    everything = [requirement for requirement, _ in pins(ROOT / "requirements/test.txt")]
    # A marker may differ: what one needs on some platforms, the other may need on all.
    versions = {(one.name, str(one.specifier)) for one in everything}
    for name in ("demo", "kernels"):
        some = [requirement for requirement, _ in pins(ROOT / f"requirements/{name}.txt")]
        assert {(one.name, str(one.specifier)) for one in some} <= versions


def test_every_dependency_is_explained() -> None:
    table = set(re.findall(r"^\| ([\w-]+) \|", text("docs/dependencies.md"), re.M))
    asked = BASE.union(*(wanted(extra) for extra in EXTRAS))
    asked |= {
        canonicalize_name(Requirement(one).name) for one in PROJECT["dependency-groups"]["node"]
    }
    assert asked <= {canonicalize_name(name) for name in table}


# -- the documents ---------------------------------------------------------------------------


def test_version_is_one() -> None:
    assert PROJECT["project"]["version"] == lakejoin.__version__
    newest = re.search(r"^## \[(.+?)\]", text("CHANGELOG.md"), re.M)
    assert newest is not None and newest.group(1) == lakejoin.__version__


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_name_files_that_exist(page: Path) -> None:
    content = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", content)]
    broken = [
        link for link in links if link and "://" not in link and not (page.parent / link).exists()
    ]
    named = re.findall(r"`((?:src|tests|docs|benchmarks|scripts)/[\w./-]+)`", content)
    broken += [name for name in named if not (ROOT / name).exists()]
    assert not broken


def test_public_names_are_documented() -> None:
    written = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    public = set(getattr(lakejoin, "__all__", ())) - {"__version__"}
    missing = {name for name in public if not re.search(rf"\b{re.escape(name)}\b", written)}
    assert not missing, f"document these in docs/: {sorted(missing)}"
    for name in sorted(public):
        assert getattr(lakejoin, name).__doc__, f"lakejoin.{name} has no docstring"
