"""Fits the weights of fuzzy joins anew, on tables whose answers are known.

    python benchmarks/fuzzy_weights.py FOLDER [--more FOLDER] [--held]

Each folder holds `autofj`, tables of AutoFuzzyJoin. Of the first every second table is for fitting,
of the others one half, chosen by a hash of the name, and so are the respelt names of
`autojoin_names.py`; the other tables are held out. Prints the weights, and precision, recall and F
of the join as it is now, on average over the tables of each kind, of those held out only if asked.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.optimize import minimize

from autojoin_cases import Case, autofj
from autojoin_names import names
from lakejoin.joins.fuzzy.corpus import build_corpus, fold_texts
from lakejoin.joins.fuzzy.fuzzy_join import fuzzy_matches
from lakejoin.joins.fuzzy.pair_evidence import (
    TextIndex,
    candidate_pairs,
    pair_features,
    word_doubts,
)
from lakejoin.model import Array

Table = tuple[Array, Array, Array]  # evidence of pairs, the text of each, whether it is right

FEW = 100  # texts: a table with fewer counts less than the others
SMALL = 1e-3  # what large weights cost, so that they stay finite


def half(case: Case) -> int:
    return int(hashlib.sha256(case.name.encode()).hexdigest(), 16) % 2


def columns(case: Case) -> tuple[pa.Array, pa.Array, bool]:
    """Texts, keys, and whether the keys are the left table."""
    left, right = (pa.array(texts) for texts in case.texts())
    return (right, left, True) if case.key == "left" else (left, right, False)


def evidence_of(case: Case) -> Table:
    """What is known of the pairs of a case."""
    texts, keys, turned = columns(case)
    mine, theirs = fold_texts(texts), fold_texts(keys)
    corpus, none = build_corpus(mine, theirs), np.zeros(0, np.int64)
    index, asked = TextIndex(corpus), np.arange(corpus.left)
    pairs = candidate_pairs(corpus, asked, index.nearest(asked), none)
    doubt = word_doubts(corpus, index, pairs, (none, none))
    rows = [dict(zip(c.rows.tolist(), range(len(c.rows)), strict=True)) for c in (mine, theirs)]
    found = [(rows[0][t], rows[1][k]) for t, k in zip(pairs.texts, pairs.keys, strict=True)]
    right = [bool(case.pairs([pair[::-1] if turned else pair]) & case.true) for pair in found]
    return pair_features(corpus, pairs, doubt), pairs.texts, np.array(right, bool)


def loss(weights: Array, tables: Sequence[Table]) -> tuple[float, Array]:
    """How unlikely the answers are, each table counting about the same, and how that changes."""
    total, slope = SMALL * float((weights[:-1] ** 2).sum()), 2 * SMALL * weights
    slope[-1] = 0.0
    for facts, texts, right in tables:
        _, group = np.unique(texts, return_inverse=True)
        count = int(group.max()) + 1
        score = np.exp(np.clip(facts @ weights[:-1] + weights[-1], -500, 500))
        chance = score / (1.0 + np.bincount(group, score, count))[group]
        hit = np.bincount(group, chance * right, count)
        answered = np.bincount(group, right, count) > 0
        none = 1.0 - np.bincount(group, chance, count)
        worth = max(count, FEW)
        total -= np.log(np.maximum(np.where(answered, hit, none), 1e-12)).sum() / worth
        wanted = np.where(right, chance / np.maximum(hit[group], 1e-12), 0.0)
        change = (chance - wanted) / worth
        slope += np.append(facts.T @ change, change.sum())
    return float(total), slope


def quality(case: Case) -> tuple[float, float, float]:
    """Precision, recall and F of the join as it is."""
    texts, keys, turned = columns(case)
    matches = fuzzy_matches(texts, keys)
    rows = zip(matches.left_rows.tolist(), matches.right_rows.tolist(), strict=True)
    found = case.pairs(pair[::-1] if turned else pair for pair in rows)
    hits = len(found & case.true)
    precision, recall = hits / max(1, len(found)), hits / len(case.true)
    return precision, recall, 2 * hits / max(1, len(found) + len(case.true))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where autofj lies")
    parser.add_argument("--more", type=Path, help="where other tables of AutoFuzzyJoin lie")
    parser.add_argument("--held", action="store_true", help="also run the tables held out")
    options = parser.parse_args()
    cases = sorted(autofj(options.folder), key=lambda case: case.name)
    others = [] if options.more is None else sorted(autofj(options.more), key=lambda c: c.name)
    made = list(names(options.folder))
    kinds = {
        "fitted": cases[1::2],
        "fitted, others": [case for case in others if half(case) == 0],
        "respelt names": made,
    }
    tables = [evidence_of(case) for some in kinds.values() for case in some]
    if options.held:
        kinds["held out"] = cases[0::2]
        kinds["held out, others"] = [case for case in others if half(case) == 1]
    start = np.zeros(tables[0][0].shape[1] + 1)
    found = minimize(loss, start, args=(tables,), jac=True, method="L-BFGS-B")
    print("weights", found.x[:-1].round(2).tolist(), "none", round(float(found.x[-1]), 2))
    for name, some in kinds.items():
        if not some:
            continue
        average = np.mean([quality(case) for case in some], axis=0).round(3).tolist()
        print(f"{name}: precision, recall, F {average} on {len(some)} tables")


if __name__ == "__main__":
    main()
