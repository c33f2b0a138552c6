"""Every command that a message of the sources prints as a way out is printed here by that message,
run as it is printed, and works. The list of them is compared with the sources, so that none can be
added without."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

import lakejoin
from cli.commands import Command
from cli.repairs import (
    cut_graph,
    cut_list_of_files,
    cut_manifest,
    flip_component,
    folder_of,
    lose_manifest,
    run_printed,
)
from lakejoin.cli import build_commands
from lakejoin.cli.main import cli
from lakejoin.errors import DamagedIndex, MissingDependency
from lakejoin.locations import Location
from lakejoin.model import Skipped
from lakejoin.pipeline import options as build_options
from lakejoin.store import graph_files
from lakejoin.store.manifest import MANIFEST_FILE, read_manifest

SOURCES = Path(lakejoin.__file__).parent
Site = tuple[str, str]  # the module that prints a command, and its arguments, `{}` for what varies


@dataclass
class Scene:
    """A lake, the options that name its index, a table of the caller's, and what can be changed."""

    lake: Path
    where: list[str]
    mine: Path
    patch: pytest.MonkeyPatch

    @property
    def folder(self) -> Path:
        return folder_of(self.where)

    def ask(self, command: str, *arguments: str) -> str:
        """Everything that a command says, whether it works or not."""
        result = Command(command).run(*arguments, *self.where)
        return f"{result.output}\n{result.exception or ''}"

    def build(self, *arguments: str) -> str:
        return self.ask("index", str(self.lake), *arguments)

    def without(self, component: str) -> None:
        """An index that lacks a component, as an older lakejoin has written it."""
        whole = build_options.default_components
        with self.patch.context() as older:
            older.setattr(
                build_options,
                "default_components",
                lambda *given: [c for c in whole(*given) if c.name != component],
            )
            self.build("--with", "none")


def damaged(harm: Callable[[Path], None], command: str = "check") -> Callable[[Scene], str]:
    def show(scene: Scene) -> str:
        scene.build()
        scene.ask("graph", "--least", "1")
        harm(scene.folder)
        return scene.ask(command)

    return show


def asked(*command: str, made_with: tuple[str, ...] = ()) -> Callable[[Scene], str]:
    def show(scene: Scene) -> str:
        scene.build(*made_with)
        return scene.ask(*(str(scene.mine) if word == "MINE" else word for word in command))

    return show


def less_contained(scene: Scene) -> str:
    scene.build()
    scene.ask("graph", "--least", "1", "--containment", "0.9")
    return scene.ask("graph", "cities.csv", "--min", "0.2")


def old_graph(scene: Scene) -> str:
    scene.build()
    with scene.patch.context() as older:
        older.setattr(graph_files, "VERSION", graph_files.VERSION - 1)
        scene.ask("graph", "--least", "1")
    return scene.ask("graph", "cities.csv")


def graph_behind(scene: Scene) -> str:
    scene.build()
    scene.ask("graph", "--least", "1")
    (scene.lake / "new.csv").write_text("city,n\nBern,1\nOslo,2\n")
    scene.build()
    return scene.ask("graph", "cities.csv")


def graph_of_a_server(scene: Scene) -> str:
    from lakejoin.server.api_problems import Problem
    from lakejoin.server.jobs import relation_jobs

    scene.build()
    workspace: Any = SimpleNamespace(lake=lambda: lakejoin.open(scene.folder))
    with pytest.raises(Problem) as problem:
        relation_jobs._stored_graph(workspace)
    return str(problem.value)


def lacking(component: str, *command: str) -> Callable[[Scene], str]:
    def show(scene: Scene) -> str:
        scene.without(component)
        return scene.ask(*(str(scene.mine) if word == "MINE" else word for word in command))

    return show


def lacking_a_component(scene: Scene) -> str:
    scene.without("pieces")
    with pytest.raises(DamagedIndex) as problem:
        _ = lakejoin.open(scene.folder).snapshot.segments[0].rare_tokens
    return str(problem.value)


def cut_every_manifest(index: Path) -> None:
    cut_manifest(index)
    for copy in index.glob("MANIFEST-*.json"):
        copy.unlink()


def large_lake(scene: Scene) -> str:
    scene.patch.setattr(build_options, "SMALL_LAKE", 0)
    return scene.build()


def missing_package(*_: Any, **__: Any) -> Any:
    raise MissingDependency("a package is missing: pip install it")


def no_encoder(scene: Scene) -> str:
    with scene.patch.context() as missing:
        missing.setattr(build_options, "open_encoder", missing_package)
        return scene.build()


def encoder_gone(scene: Scene) -> str:
    scene.build("--encoder", "characters")
    scene.patch.setattr(build_options, "open_encoder", missing_package)
    (scene.lake / "new.csv").write_text("city,n\nBern,1\nOslo,2\n")
    return scene.build()


def encoder_changed(scene: Scene) -> str:
    scene.build("--encoder", "characters")
    manifest = read_manifest(Location.of(scene.folder))
    meaning = manifest.options.meaning
    assert meaning is not None
    earlier = replace(meaning, identity=meaning.identity.replace("256", "128"))
    changed = replace(manifest, options=replace(manifest.options, meaning=earlier))
    (scene.folder / MANIFEST_FILE).write_bytes(changed.to_bytes())
    return scene.ask("similar", str(scene.mine), "--on", "city")


def encoder_changed_before_a_build(scene: Scene) -> str:
    encoder_changed(scene)
    (scene.lake / "new.csv").write_text("city,n\nBern,1\nOslo,2\n")
    return scene.build()


def version_lost(scene: Scene) -> str:
    scene.build()
    first = set((scene.folder / "segments").rglob("*.lj"))
    (scene.lake / "cities.csv").write_text("city\nThun\n")
    scene.build("--full")
    for file in first:
        file.unlink(missing_ok=True)
    return scene.ask("rollback")


def one_table_of_files(scene: Scene) -> str:
    for year in ("2023", "2024"):
        (scene.lake / f"year={year}").mkdir()
        (scene.lake / f"year={year}" / "part.csv").write_text(f"a,b\n{year},x\n7,y\n")
    return scene.build()


def always_failing(scene: Scene) -> str:
    from lakejoin.pipeline import segment_tasks
    from lakejoin.pipeline.retries import MOST_TRIES

    whole = segment_tasks.tables_of

    def hang(job: Any, file: Any, deadly: bool) -> Iterator[Any]:
        if file.name == "cities.csv":
            return iter([Skipped(file.name, "reader hung", "no answer")])
        return whole(job, file, deadly)

    scene.patch.setattr(segment_tasks, "tables_of", hang)
    for _ in range(MOST_TRIES):
        scene.build()
    return scene.build()


def many_skipped(scene: Scene) -> str:
    for number in range(build_commands._SKIPPED_LINES + 1):
        (scene.lake / f"photo{number:03d}.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    return scene.build()


SITES: dict[Site, Callable[[Scene], str]] = {
    ("engines.query", "index --all-columns --full"): asked("overlap", "MINE", "--on", "share"),
    ("engines.rewritten.engine", "index"): lacking("pieces", "search", "MINE"),
    ("graph.join_graph", "graph"): asked("graph", "cities.csv"),
    ("graph.join_graph", "graph --containment {}"): less_contained,
    ("cli.graph_commands", "graph"): graph_behind,
    ("cli.lake_commands", "index {}"): asked("info", made_with=("--with", "none")),
    ("cli.version_commands", "rollback"): damaged(cut_manifest, "history"),
    ("cli.build_commands", "skipped"): many_skipped,
    ("paths.path_search", "graph"): asked("paths", "MINE", "sub/codes.tsv"),
    ("pipeline.build", "index LAKE"): lambda scene: scene.ask("index"),
    ("pipeline.build", "skipped"): always_failing,
    ("pipeline.build", "tables"): one_table_of_files,
    ("pipeline.options", "index --encoder {}"): encoder_changed_before_a_build,
    ("pipeline.options", "index --with meaning"): no_encoder,
    ("pipeline.options", "index --with none"): encoder_gone,
    ("pipeline.options", "index --with {}"): large_lake,
    ("search.key_search", "index"): lacking(
        "superkeys", "composite", "MINE", "--on", "city", "--on", "country"
    ),
    ("search.meaning_search", "index --with meaning --encoder {}"): encoder_changed,
    ("search.meaning_search", "index --with {}"): asked(
        "similar", "MINE", "--on", "city", made_with=("--with", "none")
    ),
    ("server.jobs.relation_jobs", "graph"): graph_of_a_server,
    ("store.commit", "history"): version_lost,
    ("store.graph_files", "graph"): old_graph,
    ("store.graph_files", "graph --full"): damaged(cut_graph),
    ("store.manifest", "index LAKE"): lambda scene: scene.ask("info"),
    ("store.manifest", "index LAKE --full"): damaged(cut_every_manifest),
    ("store.manifest", "rollback"): damaged(lose_manifest),
    ("store.segment", "index --full"): damaged(flip_component),
    ("store.segment", "index{}"): lacking_a_component,
    ("store.snapshot", "tables"): asked("show", "zzzz"),
    ("store.source_states", "index --full"): damaged(cut_list_of_files),
}


@pytest.mark.parametrize("site", SITES, ids=" ".join)
def test_the_printed_command_works(
    site: Site, lake: Path, where: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.csv"
    mine.write_text("city,country,share\nBern,CH,0.5\nOslo,NO,2.25\n")
    scene = Scene(lake, where, mine, monkeypatch)
    module = importlib.import_module(f"lakejoin.{site[0]}")
    whole, printed = module.lakejoin_command, []

    def note(arguments: str, index: str = "") -> str:
        command: str = whole(arguments, index)
        if re.fullmatch(re.escape(site[1]).replace(r"\{\}", ".*"), arguments):
            printed.append(command)
        return command

    monkeypatch.setattr(module, "lakejoin_command", note)
    said = " ".join(SITES[site](scene).split())
    shown = [command for command in printed if command in said]
    assert shown, f"{site} does not print its command: {said}"
    run_printed(f"run {shown[-1]}", lake)


def printed_commands() -> Iterator[tuple[Site, bool]]:
    """Every command in a text of the sources that is no docstring; and whether it is written by
    `lakejoin_command`, which names the index."""
    names = "|".join(cli.list_commands(click.Context(cli)))
    for path in sorted(SOURCES.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        tree = ast.parse(path.read_text())
        inner = {id(node) for whole in ast.walk(tree) for node in _inside(whole)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lakejoin_command":
                yield (module, _text(node.args[0])), True
            elif isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in inner:
                for found in re.finditer(rf"lakejoin (?:{names})\b[^\"'`;,\n]*", _text(node)):
                    yield (module, found[0]), False


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a text with expressions, and texts that nobody is shown: docstrings."""
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else "{}"


# Texts that name a command without being a way out of a problem with an index.
NOT_REPAIRS = {
    "cli.build_commands", "cli.demo_command", "cli.graph_commands", "cli.join_commands",  # helps
    "locations.remote_files",  # says which command reads databases
    "cli.demo_lake", "cli.doctor_command", "cli.serve_commands", "mcp.tool_server",
    "client.connection", "server.guard", "server.response_models",
    "paths.path_search", "ranking.rewritten_candidates", "quoting",  # `lakejoin join …`
}  # fmt: skip


def test_no_printed_command_is_left_out() -> None:
    found = list(printed_commands())
    assert {site for site, checked in found if checked} == set(SITES)
    elsewhere = {module for (module, _), checked in found if not checked}
    assert elsewhere == NOT_REPAIRS
    joins = ("paths.path_search", "ranking.rewritten_candidates", "quoting")
    texts = {text for (module, text), checked in found if not checked and module in joins}
    assert all(text.startswith("lakejoin join") for text in texts)
