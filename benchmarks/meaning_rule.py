"""Does a search by meaning find columns that name the same things in other words?

    python benchmarks/meaning_rule.py --wordnet FOLDER [--data FOLDER] [--held] [--fit]

The columns of `meaning_cases`, by equality, Jaccard similarity of words, edit distance and three
scores of rapidfuzz, each with the two thresholds that have the best F1 on the tuning part; and by
lakejoin's rule, with the default encoder, a wider one, and the sentence model beside the default.
A column is found if at least T of my values have a match in it; for the rule, if that many are
expected to have a right one. Rows: of the pairs called right in the columns that are found, how
many are, and how many right pairs are called. `--held` reads the part that was held out; thresholds
are those of the tuning part. `--fit` prints the weights of the rule, fitted on the tuning part.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import record
from lakejoin.encoders import Encoder, open_encoder
from lakejoin.encoders.mixed_encoder import Mix
from lakejoin.encoders.sentence_model import ModelEncoder
from lakejoin.encoders.wordllama import open_default
from lakejoin.engines.meaning.match_rule import (
    SURE,
    Calibration,
    ColumnMatches,
    MatchTexts,
    find_nearest_values,
    match_column,
    measure_evidence,
)
from lakejoin.model import Array
from meaning_cases import Case, Column, MeaningCases
from meaning_quality import DATA
from meaning_quality_matching import jaccard
from search_report import table

SIMILAR = np.round(np.arange(0.3, 1.0001, 0.025), 3)
CHANCES = (0.5, 0.7, 0.8, 0.9, 0.95)
SHARES = np.round(np.arange(0.02, 0.9, 0.02), 2)


def baselines() -> dict[str, Callable[[Sequence[str], Sequence[str]], Array]]:
    """Similarities of all pairs."""
    from rapidfuzz import distance, fuzz, process

    def scored(scorer: Any, scale: float = 1.0) -> Callable[[Sequence[str], Sequence[str]], Array]:
        return lambda a, b: np.asarray(process.cdist(a, b, scorer=scorer)) / scale

    return {
        "equality": lambda a, b: (np.array(a)[:, None] == np.array(b)[None]).astype(np.float32),
        "Jaccard of words": jaccard,
        "edit distance": scored(distance.Levenshtein.normalized_similarity),
        "rapidfuzz token_sort_ratio": scored(fuzz.token_sort_ratio, 100),
        "rapidfuzz token_set_ratio": scored(fuzz.token_set_ratio, 100),
        "Jaro-Winkler": scored(distance.JaroWinkler.normalized_similarity),
    }


@dataclass
class Judged:
    """One query by one method: by threshold and column the share of values with a match."""

    case: Case
    shares: Array  # thresholds by columns


def column_figures(judged: list[Judged], threshold: int, share: float) -> dict[str, float]:
    """Precision, recall and F1 of columns."""
    hits = found = right = 0
    for one in judged:
        chosen = one.shares[threshold] >= share - 1e-9
        hits += int((chosen & (one.case.truth == 1)).sum())
        found += int((chosen & (one.case.truth >= 0)).sum())
        right += int((one.case.truth == 1).sum())
    precision, recall = hits / max(1, found), hits / max(1, right)
    f1 = 2 * hits / max(1, found + right)
    return {"precision": round(precision, 3), "recall": round(recall, 3), "f1": round(f1, 3)}


def best_thresholds(judged: list[Judged]) -> tuple[int, float]:
    """The thresholds with the best F1; of equals the stricter."""
    number = len(judged[0].shares)
    choices = [(t, share) for t in range(number) for share in SHARES.tolist()]
    return max(choices, key=lambda c: (column_figures(judged, *c)["f1"], c))


def by_similarity(cases: MeaningCases, asked: list[Case], similarity: Any) -> list[Judged]:
    """The share of values whose most similar value of a column is similar enough."""
    sizes = [len(column.values) for column in cases.columns]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    values = [value for column in cases.columns for value in column.values]
    judged = []
    for case in asked:
        best = np.maximum.reduceat(similarity(list(case.query.values), values), starts, axis=1)
        judged.append(Judged(case, np.stack([(best >= s - 1e-6).mean(axis=0) for s in SIMILAR])))
    return judged


class Rule:
    """lakejoin's rule with one encoder."""

    def __init__(self, cases: MeaningCases, encoder: Encoder) -> None:
        self.cases, self.encoder = cases, encoder
        lake = [value for column in cases.columns for value in column.values]
        self.calibration = Calibration.of(encoder, lake)
        self.texts = [self.prepare(column) for column in cases.columns]

    def prepare(self, column: Column) -> MatchTexts:
        values = list(column.values)
        return MatchTexts.of(self.calibration, self.encoder.encode(values), values)

    def matches(self, case: Case) -> list[ColumnMatches]:
        mine = self.prepare(case.query)
        found = []
        for column, theirs in zip(self.cases.columns, self.texts, strict=True):
            place = {value: i for i, value in enumerate(column.values)}
            same = np.array([place.get(value, -1) for value in case.query.values])
            found.append(match_column(self.calibration, mine, theirs, same))
        return found


def row_figures(
    cases: MeaningCases,
    asked: list[Case],
    matches: list[list[ColumnMatches]],
    share: float,
    least_chance: float = SURE,
) -> dict[str, float]:
    """Pairs called right, in the columns that are found."""
    called = right = there = 0
    for case, found in zip(asked, matches, strict=True):
        for number in np.flatnonzero(case.truth >= 0).tolist():
            match = found[number]
            if match.share < share:
                continue
            column = cases.columns[number]
            place = {thing: i for i, thing in enumerate(column.things)}
            labelled = case.truth[number] == 1
            truth = [place.get(t, -2) if labelled else -2 for t in case.query.things]
            sure = match.chance >= least_chance
            called += int(sure.sum())
            right += int((sure & (match.partner == np.array(truth))).sum())
            there += sum(t >= 0 for t in truth)
    return {
        "called": called,
        "pair precision": round(right / max(1, called), 3),
        "pair recall": round(right / max(1, there), 3),
    }


def fit(rule: Rule, asked: list[Case]) -> None:
    """Prints the weights: of a pair alone, then given the share of its column."""
    from sklearn.linear_model import LogisticRegression

    rows, labels, columns, count = [], [], [], 0
    for case in asked:
        mine = rule.prepare(case.query)
        for number, (column, theirs) in enumerate(zip(rule.cases.columns, rule.texts, strict=True)):
            truth, sibling = case.truth[number], column.family == case.family
            if truth < 0:
                continue
            nearest = find_nearest_values(rule.calibration, mine, theirs)
            place = {thing: i for i, thing in enumerate(column.things)}
            partner = [place.get(t, -2) if truth == 1 else -2 for t in case.query.things]
            usable = (nearest.partner >= 0) & (nearest.back_lead >= 0)
            rows.append(measure_evidence(nearest, len(theirs))[usable])
            labels.append((nearest.partner == np.array(partner))[usable])
            weight = 1.0 if sibling else 0.125  # there are many more columns about other things
            columns.append(np.stack([np.full(usable.sum(), x) for x in (count, len(mine), weight)]))
            count += 1
    evidence, label = np.vstack(rows), np.concatenate(labels)
    column, size, weight = np.concatenate(columns, axis=1)
    model = LogisticRegression(max_iter=500).fit(evidence, label, sample_weight=weight)
    print("constant, weights:", model.intercept_.round(2), model.coef_[0].round(2))
    chance = model.predict_proba(evidence)[:, 1]
    sums = np.bincount(column.astype(int), chance, count)
    share = sums[column.astype(int)] / size
    given = np.stack([_logit(chance), _logit(np.minimum(share, 0.4))], axis=1)[share >= 0.1]
    model = LogisticRegression().fit(given, label[share >= 0.1])
    print("given the column:", model.intercept_.round(2), model.coef_[0].round(2))


def _logit(chance: Array) -> Array:
    inside = np.clip(chance, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(inside / (1 - inside)))


def encoders(model: bool) -> dict[str, Callable[[], Encoder]]:
    """What the rule is measured with."""
    found: dict[str, Callable[[], Encoder]] = {
        "lakejoin": open_encoder,
        "lakejoin, 256 + 256": lambda: open_default(256, Mix(characters=256)),
    }
    if model:
        found["lakejoin, judged by the model"] = lambda: ModelEncoder(open_encoder())
    return found


def main() -> None:
    """Prints the table and appends a dated line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--wordnet", type=Path, required=True, help="the npm package, unpacked")
    parser.add_argument("--held", action="store_true", help="also read the part held out")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cases = MeaningCases.build(given.data, given.wordnet)
    tune, held = cases.split()
    print(f"{len(cases.cases)} queries ({len(tune)} to tune), {len(cases.columns)} columns")
    parts = {"tune": tune} | ({"held": held} if given.held else {})
    rows: list[dict[str, Any]] = []
    for name, similarity in ({} if given.no_baselines else baselines()).items():
        judged = {part: by_similarity(cases, own, similarity) for part, own in parts.items()}
        threshold, share = best_thresholds(judged["tune"])
        row: dict[str, Any] = {"name": name, "similar": float(SIMILAR[threshold]), "T": share}
        rows.append(row | {p: column_figures(j, threshold, share) for p, j in judged.items()})
        print(rows[-1], flush=True)
    for name, make in encoders(not given.no_model).items():
        rule = Rule(cases, make())
        if given.fit:
            fit(rule, tune)
        matches = {part: [rule.matches(case) for case in own] for part, own in parts.items()}
        judged = {
            part: [
                Judged(case, np.array([[match.share for match in found]]))
                for case, found in zip(own, matches[part], strict=True)
            ]
            for part, own in parts.items()
        }
        _, share = best_thresholds(judged["tune"])
        row = {"name": name, "T": share}
        for part, own in parts.items():
            row[part] = column_figures(judged[part], 0, share)
            row[part] |= row_figures(cases, own, matches[part], share)
            row[part]["by chance"] = {
                str(c): row_figures(cases, own, matches[part], share, c) for c in CHANCES
            }
        rows.append(row)
        print(rows[-1], flush=True)
    head = ["", "T", *(f"{part} P / R / F1" for part in parts)]
    body = [
        [row["name"], f"{row['T']:.2f}"]
        + [" / ".join(f"{row[p][x]:.3f}" for x in ("precision", "recall", "f1")) for p in parts]
        for row in rows
    ]
    print(table([head, *body]))
    if given.held:
        print("written to", record("meaning_rule", {"rows": rows}, given.out))


if __name__ == "__main__":
    main()
