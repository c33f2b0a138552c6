"""House rules that no linter knows: one name per module, one meaning per word, readable files."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "lakejoin"
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
LONGEST = 450  # lines of a file

# Module names that stand more than once, each with its reason.
REPEATED = {
    "answer": "what a question hands back, one in each room that answers one",
    "engine": "the way into an engine, one in each room of engines",
    "hits": "what an engine found, one in each room of engines",
    "options": "what can be asked for, one in each room that is asked",
    "query": "what is searched with: values, or combinations of a composite key",
}

# Words that say nothing in a tab bar or a traceback.
EMPTY_NAMES = {
    *("apart", "asked", "asking", "believing", "brought", "finding", "found", "given", "helpers"),
    *(
        "holding",
        "kept",
        "lines",
        "meant",
        "misc",
        "on",
        "parted",
        "pieces",
        "reading",
        "searching",
    ),
    *("shown", "sides", "things", "told", "utils", "wanted", "work", "written"),
}
EMPTY_CLASSES = {
    *("Asked", "Found", "Given", "Held", "Kept", "Known", "Met", "Place", "Told", "Wanted", "Way"),
}


def test_no_two_modules_share_a_name_without_a_reason() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        places[path.stem].append(str(path.relative_to(SOURCE)))
    shared = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert {name: paths for name, paths in shared.items() if name not in REPEATED} == {}
    assert set(REPEATED) <= set(shared), "a reason without a repetition"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST
    assert path.stem not in EMPTY_NAMES


def test_classes_are_nouns_that_say_something() -> None:
    assert [name for name in _classes() if name.rpartition(".")[2] in EMPTY_CLASSES] == []


def test_a_type_is_defined_once() -> None:
    pattern = re.compile(r"^\s*Array = ", re.MULTILINE)
    defined = [path for path in FILES if pattern.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in defined] == ["model.py"]


def _classes() -> Iterator[str]:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(SOURCE)}.{node.name}"
