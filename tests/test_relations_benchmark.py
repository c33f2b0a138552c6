"""The benchmark of key relations counts what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("scripts_importable")


def test_declared_keys_are_counted(tmp_path: Path) -> None:
    from relations_quality import WAYS, databases, measured

    folder = tmp_path / "shop"
    folder.mkdir()
    people = "".join(f"{n},name {n}\n" for n in range(1, 21))
    (folder / "people.csv").write_text(f"person_id,name\n{people}")
    calls = "".join(f"{n},{n * 7 % 20 + 1}\n" for n in range(1, 61))
    (folder / "calls.csv").write_text(f"call_id,person_id\n{calls}")
    (folder / "foreign_keys.csv").write_text(
        "child_table,child_columns,parent_table,parent_columns,child_distinct\n"
        "calls,person_id,people,person_id,20\ncalls,by,people,person_id,0\n"
    )
    (truth,) = databases(tmp_path)
    assert truth.keys == {("calls", ("person_id",), "people", ("person_id",))}
    assert [table.name for table in truth.tables] == ["calls.csv", "people.csv"]
    ours = measured(truth, WAYS["lakejoin"])
    assert (ours.precision, ours.recall, ours.f1) == (1.0, 1.0, 1.0)
    names = measured(truth, WAYS["names alone"])
    assert (names.right, len(names.found)) == (1, 1)
    values = measured(truth, WAYS["values alone"])
    assert values.recall == 1.0 and values.precision == 0.5, "people are in the calls' numbers too"
