"""How well are two tables joined whose values differ?

    python benchmarks/autojoin_quality.py [--data FOLDER] [--sets web,synthetic,...] [--only NAME]
        [--no-peers] [--peer-python PATH | --recorded] [--show 3]

Sets: `synthetic` (the four cases of the Auto-Join thesis), `web` (its 31 pairs of web tables),
`autofj` (25 tables of AutoFuzzyJoin), `names` (respelt names, see `autojoin_names.py`), `row-level`
(five joins of a real lake), `more` and `later` (made from columns of real tables, see
`autojoin_more.py`). `--data` names the folder of all these.
The weights of the fuzzy step were fitted on every second table of `autofj`: the others are also
averaged by themselves.

lakejoin is run as it comes, with the columns told and not told, with and without the fuzzy step;
no setting depends on the case. Peers are always told the columns (see `autojoin_peers.py`).
Precision and recall are of joined pairs of rows; where nothing is joined, the case counts in the
average recall and F, not in the precision, as in the thesis. `--peer-python` names a Python that
has autofj (see `autojoin_autofj.py`); `--recorded` takes what was recorded of it. `--show` prints
what was learned, and that many wrong and missing pairs of each case.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import autojoin_cases
from autojoin_cases import Case, Pairs
from autojoin_more import later, more
from autojoin_names import names
from autojoin_peers import THRESHOLDED, Quality, averages, curve, one_threshold, own_thresholds
from autojoin_recorded import autofj_of
from harness import record
from search_report import table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
SETS: dict[str, Callable[[Path], Iterable[Case]]] = {
    "synthetic": lambda _: autojoin_cases.synthetic(),
    "web": autojoin_cases.web,
    "autofj": autojoin_cases.autofj,
    "names": names,
    "row-level": autojoin_cases.row_level,
    "more": more,
    "later": later,
}
THESIS = {  # precision, recall
    "web": {"thesis, AJ": (0.9504, 0.8840), "thesis, AJ-E (no fuzzy)": (0.9758, 0.7757)},
    "synthetic": {"thesis, AJ": (1.0, 1.0)},
}


Found = dict[str, list[Quality]]  # by contender, the cases in their order


@dataclass(frozen=True, eq=False)
class Joined:
    """What lakejoin makes of a case: the pairs, and those of them that no fuzzy step made."""

    case: Case
    pairs: Pairs
    without_fuzzy: Pairs
    seconds: float
    words: str

    def quality(self, fuzzy: bool = True) -> Quality:
        pairs = self.pairs if fuzzy else self.without_fuzzy
        right = len(pairs & self.case.true)
        return Quality(
            self.case.name, right, len(pairs), len(self.case.true), self.seconds, self.words
        )


def ours(case: Case, told: bool = False) -> Joined:
    """A case joined as it comes; told columns are the only ones that it gets to see."""
    import lakejoin

    asked = case.told() if told else case
    begin = time.perf_counter()
    join = lakejoin.join(asked.left, asked.right)
    pairs = join.pairs().to_pydict()
    seconds = time.perf_counter() - begin
    fuzzy = {place for place, step in enumerate(join.steps) if step.kind == "fuzzy"}
    rows = list(zip(pairs["left_row"], pairs["right_row"], pairs["step"], strict=True))
    sure = [(i, j) for i, j, step in rows if step not in fuzzy]
    return Joined(
        case,
        case.pairs([(i, j) for i, j, _ in rows]),
        case.pairs(sure),
        seconds,
        "\n    ".join(f"{s.kind}: {s.words} ({s.left_rows} | {s.right_rows})" for s in join.steps)
        or join.why,
    )


def measured(cases: Sequence[Case], told: bool, show: int = 0) -> Found:
    """All cases by lakejoin, with the fuzzy step and without what it adds."""
    name = "lakejoin, told" if told else "lakejoin"
    found: Found = {name: [], f"{name}, no fuzzy": []}
    for case in cases:
        joined = ours(case, told)
        found[name].append(joined.quality())
        found[f"{name}, no fuzzy"].append(joined.quality(fuzzy=False))
        if show:
            print(shown(joined, show), flush=True)
    return found


def shown(joined: Joined, most: int) -> str:
    """What was learned, with examples of wrong and of missing pairs."""
    case, quality = joined.case, joined.quality()
    head = f"{case.name}: P {quality.precision or 0:.3f} R {quality.recall:.3f} F {quality.f:.3f}"
    lines = [f"{head}, {quality.seconds:.2f} s", f"    {joined.words}"]
    texts = dict(zip(case.left_ids, case.texts()[0], strict=True))
    theirs = dict(zip(case.right_ids, case.texts()[1], strict=True))
    sure_wrong = joined.without_fuzzy - case.true
    for word, pairs in (
        ("wrong", sure_wrong),
        ("wrong by fuzzy", joined.pairs - case.true - sure_wrong),
        ("missed", case.true - joined.pairs),
    ):
        for a, b in sorted(pairs, key=str)[:: max(1, len(pairs) // most)][:most]:
            lines.append(f"    {word} ({len(pairs)}): {texts.get(a, a)!r} | {theirs.get(b, b)!r}")
    return "\n".join(lines)


def peers(cases: Sequence[Case]) -> Found:
    """The same by those that are installed."""
    found: Found = {}
    for name, (module, match) in THRESHOLDED.items():
        if importlib.util.find_spec(module) is None:
            print(f"without {name}: {module} is not installed")
            continue
        importlib.import_module(module)  # not in its time
        curves = [curve(case, match) for case in cases]
        found[f"{name}, own thresholds"] = own_thresholds(curves)
        found[f"{name}, one threshold"] = one_threshold(curves)
    return found


def summary(kind: str, found: Found) -> str:
    """One line for each contender: the averages."""
    rows: list[list[str]] = []
    for name, cases in found.items():
        if cases:
            p, r, f = averages(cases)
            seconds = sum(one.seconds for one in cases)
            row = [name, str(len(cases)), f"{p:.4f}", f"{r:.4f}", f"{f:.4f}", f"{seconds:.2f}"]
            rows.append(row)
    for name, (p, r) in THESIS.get(kind, {}).items():
        rows.append([name, "", f"{p:.4f}", f"{r:.4f}", "", ""])
    return table([[kind, "cases", "precision", "recall", "F", "seconds"], *rows])


def held_out(kind: str, found: Found) -> Found:
    """The cases that nothing was fitted on, where there were such; see `fuzzy_weights.py`."""
    if kind != "autofj":
        return {}
    unseen = {one.name for one in found["lakejoin"][0::2]}
    return {name: [one for one in ones if one.name in unseen] for name, ones in found.items()}


def each(kind: str, found: Found) -> str:
    """One line for each case: ours in full, of the others F."""
    names = [name for name in found if found[name]]
    first, others = names[0], names[1:]
    by_case = {name: {one.name: one for one in found[name]} for name in names}
    rows = []
    for case in found[first]:
        precision = "" if case.precision is None else f"{case.precision:.3f}"
        row = [case.name, precision, f"{case.recall:.3f}", f"{case.f:.3f}", f"{case.seconds:.2f}"]
        for name in others:
            other = by_case[name].get(case.name)
            row.append("-" if other is None else f"{other.f:.3f}")
        rows.append(row)
    numbers = [f"({i})" for i in range(1, len(others) + 1)]
    key = "\n".join(f"  {i} F of {name}" for i, name in zip(numbers, others, strict=True))
    head = [kind, "precision", "recall", "F", "seconds", *numbers]
    return f"{table([head, *rows])}\n{key}"


def figures(found: Found) -> dict[str, Any]:
    """What is recorded: of every contender the averages and counts of each case."""
    return {
        name: {
            "average": [round(x, 4) for x in averages(cases)],
            "seconds": round(sum(one.seconds for one in cases), 3),
            "cases": {q.name: [q.right, q.joined, q.true, round(q.seconds, 3)] for q in cases},
        }
        for name, cases in found.items()
        if cases
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", default=",".join(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="wrong and missing pairs")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peer-python", type=Path, help="a Python that has autofj")
    parser.add_argument("--limit", type=float, default=300, help="seconds for autofj in a case")
    parser.add_argument("--recorded", action="store_true", help="autofj as it was recorded")
    args = parser.parse_args()
    results: dict[str, Found] = {}
    ours(next(iter(autojoin_cases.synthetic(100))))  # compiles
    for kind in args.sets.split(","):
        cases = [case for case in SETS[kind](args.data) if args.only in case.name]
        if not cases:
            print(f"no cases of the set {kind} below {args.data}")
            continue
        found = measured(cases, False, args.show)
        if not args.show:
            found |= measured(cases, True)
        if not args.no_peers:
            found |= peers(cases)
            found |= autofj_of(kind, cases, args.peer_python, args.limit, args.recorded)
        results[kind] = found
        print(f"{each(kind, found)}\n\n{summary(kind, found)}\n", flush=True)
        if held := held_out(kind, found):
            print(f"{summary(f'{kind}, not fitted on', held)}\n", flush=True)
    if not args.only and not args.show:
        record("autojoin_quality", {kind: figures(found) for kind, found in results.items()})


if __name__ == "__main__":
    main()
