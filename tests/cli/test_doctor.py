"""`lakejoin doctor`: what is installed, what is missing, what that costs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from cli.commands import Command
from lakejoin.cli import doctor_command
from lakejoin.cli.doctor_command import _ALWAYS, EXTRAS
from lakejoin.kernels import compiled_library
from lakejoin.spark import java

DOCTOR = Command("doctor")
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"demo", "bench", "test", "all"}


def packages(requirements: list[str]) -> set[str]:
    names = (re.match(r"[\w-]+", requirement) for requirement in requirements)
    return {name.group() for name in names if name} - {"lakejoin"}


def parts() -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in DOCTOR.answer()["parts"]}


def test_it_knows_every_extra_and_its_packages() -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - FOR_DEVELOPERS
    for name, extra in EXTRAS.items():
        assert set(extra.packages) == packages(extras[name])
    assert set(_ALWAYS) == packages(PROJECT["dependencies"])


def test_a_missing_extra_has_its_cost_and_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name in ("wordllama", "duckdb"):
            raise PackageNotFoundError
        return "1.0"

    monkeypatch.setattr(doctor_command, "version", version)
    found = parts()
    assert found["meaning"] == {
        "name": "meaning",
        "state": "missing",
        "found": "wordllama not installed",
        "cost": "values that mean the same are not found",
        "remedy": "pip install 'lakejoin[meaning]'",
    }
    assert found["serve"]["found"] == "duckdb not installed"
    assert found["join"]["state"] == "ok"
    shown = DOCTOR.run()
    assert shown.exit_code == 0
    assert "pip install 'lakejoin[meaning]'" in shown.output
    assert len(shown.output.splitlines()) <= 40, "one screen"


def test_it_says_what_indexes_a_lake_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_candidates", lambda: [])
    monkeypatch.setattr("lakejoin.spark.java.find_spec", lambda name: name)
    engine = parts()["engine"]
    assert engine["found"].startswith("local processes for lakes of any size")
    assert "Spark needs Java 17 or newer and none was found" in engine["cost"]
    monkeypatch.setattr("lakejoin.spark.java.find_spec", lambda name: None)
    assert "pip install 'lakejoin[spark]'" in parts()["engine"]["cost"]


@pytest.mark.parametrize(("numba", "code"), [(True, 0), (False, 4)])
def test_without_kernels_and_numba_nothing_works(
    monkeypatch: pytest.MonkeyPatch, numba: bool, code: int
) -> None:
    reason = "lakejoin has no compiled kernels for this platform"
    monkeypatch.setattr(compiled_library, "lacking_reason", lambda: reason)
    monkeypatch.setattr(doctor_command, "find_spec", lambda name: name if numba else None)
    shown = DOCTOR.run()
    assert shown.exit_code == code
    assert reason in shown.output
