"""Does a search by meaning find the columns that join, and does joining them help?

    python benchmarks/meaning_quality.py [--data FOLDER] [--index INDEX] [--others 600]

First the paper's table IV: precision and recall of joinable columns, found by equality, Jaccard
similarity of words, edit distance, fuzzy words and our default encoder, among labelled columns and
columns of a real lake (see `meaning_quality_lake`). A column is found if at least T of the query's
values have a partner in it that is similar enough; both thresholds of every method are those with
the best F1 on one half of the queries, and figures are of the other half (split by family, so that
no two queries about the same things are in both); "swapped" has the halves the other way round. At
the thresholds chosen, our real search is run too, and must find the same columns.

Then table V (see `meaning_quality_enriched`): what a model gains from the joined columns, with the
same thresholds.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from encoder_sets import split_by_family
from harness import record
from lakejoin.engines.meaning.match_rule import Calibration, MatchTexts, match_column
from lakejoin.pipeline.options import BuildOptions
from lakejoin.search.options import RULE_MIN
from lakejoin.search.tau_choice import LARGEST_DISTANCE
from lakejoin.sources.table_rules import TableRules
from meaning_quality_enriched import TASKS, enriched
from meaning_quality_lake import Asked, LabelledLake, labelled_lake
from meaning_quality_matching import OURS, Array, Meaning, similarities
from search_report import table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
SIMILAR = np.round(np.arange(0.3, 1.0001, 0.025), 3)
SHARES = np.round(np.arange(0.1, 0.95, 0.1), 2)
RULE_SHARES = np.round(np.arange(0.02, 0.9, 0.02), 2).tolist()
DEFAULTS = (0.7, 0.6)  # 1 - tau and T that lakejoin has unless told


def counted(asked: Asked, best: Array, similar: float, share: float) -> tuple[int, int, int]:
    """(found and right, found, right) of one query, unsure columns aside."""
    found = (best >= similar - 1e-6).mean(axis=0) >= share - 1e-9
    right, sure = asked.truth == 1, asked.truth >= 0
    return int((found & right).sum()), int((found & sure).sum()), int(right.sum())


def summed(rows: list[tuple[int, int, int]]) -> dict[str, float]:
    """Precision, recall and F1 over queries; precision is 1 where nothing is found."""
    hits, found, right = (sum(row[i] for row in rows) for i in range(3))
    precision, recall = (hits / found if found else 1.0), hits / max(1, right)
    f1 = 2 * hits / max(1, found + right)
    return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}


def tuned(asked: list[Asked], best: dict[str, Array], only_equal: bool) -> tuple[float, float]:
    """The (similarity, T) with the best F1; of equals the stricter."""
    similar = [1.0] if only_equal else SIMILAR.tolist()
    pairs = [(s, t) for s in similar for t in SHARES.tolist()]
    score = [summed([counted(one, best[one.name], *pair) for one in asked])["f1"] for pair in pairs]
    return pairs[max(range(len(pairs)), key=lambda i: (score[i], pairs[i]))]


def table_four(lake: LabelledLake, only: list[str]) -> list[dict[str, Any]]:
    """One row a method: its thresholds, and precision and recall on the half held out."""
    tuning, held = split_by_family(lake.asked)
    rows = []
    for name, similarity in similarities().items():
        if only and name not in only:
            continue
        best = {one.name: lake.best(similarity(one.values, lake.values)) for one in lake.asked}
        only_equal = name == "equi-join"
        chosen = {name: (tuned(tuning, best, only_equal), tuned(held, best, only_equal))}
        if name == OURS:
            chosen[f"{OURS}, defaults"] = DEFAULTS, DEFAULTS
        for called, (here, swapped) in chosen.items():
            row: dict[str, Any] = {"name": called, "similar": here[0], "share": here[1]}
            for kind in ("", *sorted({one.kind for one in held})):
                own = [one for one in held if one.kind.startswith(kind)]
                row[kind or "all"] = _figures(own, best, here)
            row["swapped"] = _figures(tuning, best, swapped)
            row["swapped"] |= {"similar": swapped[0], "share": swapped[1]}
            if name == OURS:
                agrees(lake, held, best, *here)
            rows.append(row)
        print(f"  {name} measured", flush=True)
    return [*rows, rule_row(lake, tuning, held)]


def rule_row(lake: LabelledLake, tuning: list[Asked], held: list[Asked]) -> dict[str, Any]:
    """The columns found by the match rule: a share is expected, not counted at a similarity."""
    shares = {one.name: shares_by_rule(lake, one) for one in lake.asked}
    best = {name: own[None, :] for name, own in shares.items()}

    def figures(asked: list[Asked], share: float) -> dict[str, float]:
        return summed([counted(one, best[one.name], share, 1.0) for one in asked])

    def chosen(asked: list[Asked]) -> float:
        return max(RULE_SHARES, key=lambda share: (figures(asked, share)["f1"], share))

    here, swapped = chosen(tuning), chosen(held)
    row: dict[str, Any] = {"name": "lakejoin, match rule", "similar": 0.0, "share": here}
    for kind in ("", *sorted({one.kind for one in held})):
        own = [one for one in held if one.kind.startswith(kind)]
        row[kind or "all"] = figures(own, here)
    row["swapped"] = figures(tuning, swapped) | {"share": swapped}
    row["default"] = figures([*tuning, *held], RULE_MIN)
    return row


def shares_by_rule(lake: LabelledLake, asked: Asked) -> Array:
    """For each column the expected share of the query's values with a right match."""
    encoder = Meaning().encoder
    calibration = Calibration.of(encoder, asked.values)
    mine = MatchTexts.of(calibration, encoder.encode(asked.values), asked.values)
    found = []
    for begin, end in zip(lake.start[:-1], lake.start[1:], strict=True):
        values = lake.values[begin:end]
        theirs = MatchTexts.of(calibration, encoder.encode(values), values)
        place = {value: at for at, value in enumerate(values)}
        same = np.array([place.get(value, -1) for value in asked.values])
        found.append(match_column(calibration, mine, theirs, same).share)
    return np.array(found)


def _figures(
    asked: list[Asked], best: dict[str, Array], chosen: tuple[float, float]
) -> dict[str, float]:
    return summed([counted(one, best[one.name], *chosen) for one in asked])


def agrees(
    lake: LabelledLake, asked: list[Asked], best: dict[str, Array], similar: float, share: float
) -> None:
    """Ends the run where the real search finds other columns than the matrices say."""
    from lakejoin.engines.meaning.engine import Nearness, VectorSearch, VectorSpace
    from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
    from vectors_lists import MatrixLists

    encoder = Meaning().encoder
    distinct = sorted(set(lake.values))
    number = {text: i for i, text in enumerate(distinct)}
    ids = np.array([number[text] for text in lake.values])
    column = np.repeat(np.arange(len(lake.names), dtype=np.uint32), np.diff(lake.start))
    counts = np.bincount(ids, minlength=len(distinct))
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    lists = MatrixLists(start, column[np.argsort(ids, kind="stable")], len(lake.names))
    source = MatrixSource(encoder.encode(distinct))
    search = VectorSearch([VectorSpace(CompactVectors.build(source), source, lists)])
    for one in asked:
        least = max(1, int(np.ceil(share * len(one.values) - 1e-9)))
        nearness = Nearness(LARGEST_DISTANCE * (1 - similar), least=least)
        found = np.sort(search.search(encoder.encode(one.values), nearness).column)
        near = best[one.name]
        sure, maybe = ((near >= similar + e).sum(axis=0) >= least for e in (1e-5, -1e-5))
        if not set(np.flatnonzero(sure)) <= set(found.tolist()) <= set(np.flatnonzero(maybe)):
            raise SystemExit(f"the search differs on {one.name}")


def show_four(rows: list[dict[str, Any]]) -> None:
    """Prints table IV."""
    kinds = [
        kind for kind in ("all", "autofj", "autojoin", "row_level", "swapped") if kind in rows[0]
    ]
    head = ["", "similar", "T", *(f"{kind} P / R / F1" for kind in kinds)]
    body = [
        [row["name"], f"{row['similar']:.3f}", f"{row['share']:.1f}"]
        + [
            " / ".join(f"{row[kind][x]:.3f}" for x in ("precision", "recall", "f1"))
            for kind in kinds
        ]
        for row in rows
    ]
    print("\n precision, recall and F1 of joinable columns, held out (table IV)")
    print(table([head, *body]))


def show_five(rows: list[dict[str, Any]]) -> None:
    """Prints table V."""
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        print(f"\n {task}: {own[0]['said']} (table V)")
        head = ["", "matched", "of these right", own[0]["score"], "on no-join", "on equi-join"]
        body = [
            [
                r["name"],
                f"{r['matched']:.1%}",
                "-" if r["right"] is None else f"{r['right']:.1%}",
                f"{r['mean']:.4g} ± {r['deviation']:.2g}",
                f"{r['lift_none']:+.2%}",
                f"{r['lift_equal']:+.2%}",
            ]
            for r in own
        ]
        print(table([head, *body]))


def main() -> None:
    """Prints both tables and appends a dated line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--index", type=Path, help="of a real lake; made from the data if not given"
    )
    parser.add_argument("--others", type=int, default=600, help="columns of the real lake")
    parser.add_argument("--only", nargs="*", default=[], help="methods; without table V then")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not (given.data / "autofj").exists():
        raise SystemExit(f"no labelled pairs below {given.data}: name their folder with --data")
    found: dict[str, Any] = {}
    index = given.index or made_index(given.data / "lake")
    lake = labelled_lake(given.data, index, given.others)
    said = f"{len(lake.asked)} queries, {len(lake.names)} columns, {len(lake.values):,} values"
    print(
        f"{said}; right columns a query: {np.mean([(a.truth == 1).sum() for a in lake.asked]):.1f}"
    )
    rows = table_four(lake, given.only)
    show_four(rows)
    found |= {"queries": len(lake.asked), "columns": len(lake.names), "table_four": rows}
    if given.only:
        print("written to", record("meaning_quality", found, given.out))
        return
    thresholds = {row["name"]: row["similar"] for row in rows}
    found["table_five"] = [
        row for task in TASKS for row in enriched(task, given.data / "lake", thresholds)
    ]
    show_five(found["table_five"])
    print("written to", record("meaning_quality", found, given.out))


def made_index(folder: Path) -> Path:
    """An index of the real lake, made once."""
    import lakejoin

    index = HERE / "data" / "nary-real"
    if not (index / "MANIFEST.json").exists():
        options = BuildOptions(table_rules=TableRules(keep_apart=("*",)))
        lakejoin.index(str(folder), index=str(index), options=options)
    return index


if __name__ == "__main__":
    main()
