"""AutoFuzzyJoin's figures: run now, or as they were recorded when it was run last.

It takes minutes for a table, so its figures are kept case by case in
`results/autojoin_autofj.jsonl`, with their date and versions; the last of a case counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autojoin_cases import Case
from autojoin_peers import Quality, autofj
from harness import RESULTS, record

RECORDED = RESULTS / "autojoin_autofj.jsonl"
NAME = "autofj"


def autofj_of(
    kind: str, cases: Sequence[Case], python: Path | None, limit: float, recorded: bool
) -> dict[str, list[Quality]]:
    """Its quality by case, without those where it was cut or failed, which are named."""
    if python is not None:
        lines = {case.name: _run(kind, case, python, limit) for case in cases}
        said = ""
    elif recorded:
        lines = read_recorded(kind)
        said = f" (recorded {max((line['date'] for line in lines.values()), default='never')[:10]})"
    else:
        print("without autofj: name a Python that has it by --peer-python, or ask for --recorded")
        return {}
    found, missing = [], []
    for case in cases:
        line = lines.get(case.name, {})
        if "right" in line:
            counts = line["right"], line["joined"], line["true"], line["seconds"]
            found.append(Quality(case.name, *counts))
        elif line:
            print(f"{NAME}, {case.name}: {_why(line)}")
        else:
            missing.append(case.name)
    if missing:
        print(f"{NAME}: {len(missing)} of {len(cases)} cases are not recorded")
    return {NAME + said: found} if found else {}


def read_recorded(kind: str) -> dict[str, dict[str, Any]]:
    """The last record of every case of a set."""
    if not RECORDED.is_file():
        return {}
    lines = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    return {line["case"]: line for line in lines if line["set"] == kind}


def _run(kind: str, case: Case, python: Path, limit: float) -> dict[str, Any]:
    line = {"set": kind, "case": case.name, **autofj(case, python, limit)}
    record(RECORDED.stem, line)
    return line


def _why(line: dict[str, Any]) -> str:
    if "cut" in line:
        return f"not done after {line['cut']:g} s"
    return f"failed: {line['failed']}"
