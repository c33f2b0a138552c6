"""Which mix of words and characters brings values together that mean the same, and how fast?

    python benchmarks/encoders.py [--data FOLDER] [--only quality|speed] [--tune] [--also PATH]

Quality: for every query of a labelled set its nearest target is taken; it is right if the pair is
labelled. F1 is that of the best threshold of each set; "one tau" is F1 at a single threshold for
all sets, chosen on the half for tuning; AUC is the chance that a right pair is nearer than a
query's nearest wrong target. Means over sets, for the tuning half and the half held out (split by
family, so that no two sets about the same things are in both). Queries with an equal match are
left out: equality finds those. Then precision and recall of all pairs within a distance, which is
what a search by meaning joins. References: edit distance, sorted words, Jaccard of words and of
trigrams. `--tune` prints a longer list of mixes; `--also` adds a file of word vectors, alone and
joined with characters.

Speed: distinct values of the sets through the default encoder, on one thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from encoder_sets import Labelled, halves, labelled_sets
from harness import record
from lakejoin.encoders import open_encoder
from lakejoin.encoders.mixed_encoder import Mix, open_characters
from lakejoin.encoders.protocol import Encoder
from lakejoin.encoders.wordllama import VOCABULARY, open_default, open_small, open_words

HERE = Path(__file__).parent
DATA = Path(os.environ.get("LAKEJOIN_TEST_DATA") or HERE.parents[1] / "shared" / "data")
THRESHOLDS = np.linspace(0.05, 0.999, 191)
TAUS = (0.02, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)

Similarity = Callable[[Labelled], np.ndarray[Any, Any]]


# -- similarities --------------------------------------------------------------------------


def by_vectors(encoder: Encoder) -> Similarity:
    """Cosines of an encoder's vectors."""
    return lambda one: encoder.encode(one.queries) @ encoder.encode(one.targets).T


def by_rapidfuzz(scorer: str) -> Similarity:
    """A similarity of rapidfuzz, between 0 and 1."""
    from rapidfuzz import distance, fuzz, process

    chosen: Any = {
        "edit": distance.Levenshtein.normalized_similarity,
        "words": fuzz.token_sort_ratio,
    }[scorer]
    most = 100.0 if scorer == "words" else 1.0
    return lambda one: process.cdist(one.queries, one.targets, scorer=chosen) / most


def by_jaccard(parts: Callable[[str], set[str]]) -> Similarity:
    """Jaccard similarity of the parts of texts, through an inverted list."""

    def similarity(one: Labelled) -> np.ndarray[Any, Any]:
        lists: dict[str, list[int]] = {}
        sizes = np.zeros(len(one.targets))
        for number, target in enumerate(one.targets):
            mine = parts(target)
            sizes[number] = len(mine)
            for part in mine:
                lists.setdefault(part, []).append(number)
        out = np.zeros((len(one.queries), len(one.targets)), np.float32)
        for row, query in enumerate(one.queries):
            mine = parts(query)
            met = [number for part in mine for number in lists.get(part, ())]
            shared = np.bincount(met, minlength=len(one.targets)) if met else 0 * sizes
            out[row] = shared / np.maximum(len(mine) + sizes - shared, 1)
        return out

    return similarity


def trigrams(text: str) -> set[str]:
    """The trigrams of a text, marked at both ends."""
    marked = f"^{text}$"
    return {marked[i : i + 3] for i in range(max(1, len(marked) - 2))}


# -- quality -------------------------------------------------------------------------------


def figures(one: Labelled, similarity: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Best F1, F1 by threshold, and AUC of one set."""
    place = {target: number for number, target in enumerate(one.targets)}
    right = np.zeros(similarity.shape, bool)
    row_of = {query: number for number, query in enumerate(one.queries)}
    for query, target in one.pairs:
        if query in row_of and target in place:
            right[row_of[query], place[target]] = True
    nearest = similarity.argmax(1)
    rows = np.arange(len(nearest))
    score = similarity[rows, nearest]
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(right[rows, nearest][order])
    findable = int(right.any(1).sum())
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + findable)
    taken = np.searchsorted(-score[order], -THRESHOLDS, side="right")
    wrong = np.where(right, -np.inf, similarity).max(1)
    true = np.where(right, similarity, -np.inf).max(1)[right.any(1)]
    beaten = np.searchsorted(np.sort(wrong), true, side="left") / len(wrong)
    return {
        "f1": float(f1.max()),
        "by_tau": np.where(taken > 0, f1[np.maximum(taken - 1, 0)], 0.0),
        "auc": float(beaten.mean()),
        "ranges": [_range(similarity, right, 1 - 2 * tau * tau) for tau in TAUS],
    }


def _range(
    similarity: np.ndarray[Any, Any], right: np.ndarray[Any, Any], least: float
) -> tuple[float, float]:
    """(precision, recall) of all pairs within a distance: the predicate of a search by meaning.

    Recall is of the queries that have a right partner; precision is 1 where nothing is found.
    """
    within = similarity >= least
    found = int(within.sum())
    hits = within & right
    precision = float(hits.sum() / found) if found else 1.0
    return precision, float(hits.any(1).sum() / max(1, right.any(1).sum()))


def quality(
    name: str, similarity: Similarity, tuning: list[Labelled], held: list[Labelled]
) -> dict[str, Any]:
    """One row of the table."""
    start = time.process_time()
    by_half = {
        half: [figures(one, similarity(one)) for one in sets]
        for half, sets in (("tuning", tuning), ("held", held))
    }
    mean_by_tau = np.mean([f["by_tau"] for f in by_half["tuning"]], axis=0)
    best = int(mean_by_tau.argmax())
    row: dict[str, Any] = {"name": name, "threshold": round(float(THRESHOLDS[best]), 3)}
    for half, found in by_half.items():
        row[half] = {
            "f1": round(statistics.mean(f["f1"] for f in found), 4),
            "one_tau": round(float(np.mean([f["by_tau"][best] for f in found])), 4),
            "auc": round(statistics.mean(f["auc"] for f in found), 4),
        }
    row["held"]["ranges"] = (
        np.mean([f["ranges"] for f in by_half["held"]], axis=0).round(4).tolist()
    )
    kinds = {one.kind for one in held}
    row["held_by_kind"] = {
        kind: round(
            statistics.mean(
                f["f1"] for one, f in zip(held, by_half["held"], strict=True) if one.kind == kind
            ),
            4,
        )
        for kind in sorted(kinds)
    }
    row["seconds"] = round(time.process_time() - start, 1)
    t, h = row["tuning"], row["held"]
    print(
        f"{name:44} | {t['f1']:.3f} {t['one_tau']:.3f} {t['auc']:.3f} "
        f"| {h['f1']:.3f} {h['one_tau']:.3f} {h['auc']:.3f} | "
        + " ".join(f"{row['held_by_kind'][kind]:.3f}" for kind in sorted(kinds))
        + f" | {row['threshold']:.2f}",
        flush=True,
    )
    return row


def print_ranges(rows: list[dict[str, Any]]) -> None:
    """Precision and recall by tau, on the half held out."""
    print("\nall pairs within tau (a share of the largest distance), precision/recall, held out")
    print(f"{'':44} | " + " | ".join(f"{tau:9.0%}" for tau in TAUS))
    for row in rows:
        cells = [f"{precision:.2f}/{recall:.2f}" for precision, recall in row["held"]["ranges"]]
        print(f"{row['name']:44} | " + " | ".join(f"{cell:>9}" for cell in cells))


def references() -> dict[str, Similarity]:
    """What needs no vectors."""
    return {
        "edit distance": by_rapidfuzz("edit"),
        "edit distance, words sorted": by_rapidfuzz("words"),
        "Jaccard of words": by_jaccard(lambda text: set(text.split())),
        "Jaccard of trigrams": by_jaccard(trigrams),
    }


def mixes(longer: bool) -> dict[str, Encoder]:
    """The encoders to compare: the plain ones, and mixes around the default."""
    none = Mix(characters=0, share=0.0)
    chosen: dict[str, Encoder] = {
        "default": open_default(),
        "small": open_small(),
        "default, short forms as they are": open_default(mix=Mix(expand=False)),
        "words alone, 256, plain sum (as wordllama)": open_default(256, replace(none, power=0)),
        "words alone, 256": open_default(256, none),
        "words alone, 128": open_default(128, none),
        "characters alone, 128": open_characters(Mix(128, share=1.0)),
        "characters alone, 256": open_characters(),
    }
    variants = [
        (dimension, Mix(characters, sizes, share, power))
        for dimension in (128, 256)
        for characters in (128, 256)
        for sizes in ((3,), (2, 3), (3, 4))
        for share in (0.3, 0.5, 0.7)
        for power in (0.0, 0.5)
    ]
    wanted = variants if longer else [v for v in variants if v[1].sizes == (3,) and v[1].power]
    for dimension, mix in wanted:
        name = f"words {dimension}^{mix.power} + {mix.sizes} {mix.characters}, share {mix.share}"
        chosen[name] = open_default(dimension, mix)
    return chosen


def of_file(path: Path) -> dict[str, Encoder]:
    """A file of word vectors: averaged as in the PEXESO paper, damped, and joined."""
    chosen: dict[str, Encoder] = {path.name: open_encoder(path)}
    for power in (0.0, 1.0):
        none = Mix(0, share=0.0, power=power)
        chosen[f"{path.name}^{power} alone"] = open_encoder(path, mix=none)
        for share in (0.3, 0.5, 0.7):
            mix = Mix(share=share, power=power)
            chosen[f"{path.name}^{power} + 128, share {share}"] = open_encoder(path, mix=mix)
    return chosen


# -- speed ---------------------------------------------------------------------------------


def _wordllama() -> Callable[[Any], object]:
    """The package that the default takes its weights from, by its own code."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core, as the others
    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference

    words = open_words(256)
    tokenizer = Tokenizer.from_file(str(words.folder / VOCABULARY))
    model = WordLlamaInference(words.table, tokenizer)
    return lambda array: model.embed(array.to_pylist(), norm=True)


def speed(sets: list[Labelled], repeats: int) -> dict[str, Any]:
    """Strings a second on one thread, by CPU time; the first call compiles and is not counted."""
    texts = sorted({text for one in sets for text in (*one.queries, *one.targets)})
    array = pa.array(texts, pa.large_string())
    out: dict[str, Any] = {
        "texts": len(texts),
        "mean_length": round(sum(map(len, texts)) / len(texts), 1),
    }
    ways: dict[str, Callable[[Any], object]] = {
        "default": open_default().encode,
        "characters": open_characters().encode,
        "wordllama itself": _wordllama(),
    }
    for name, encode in ways.items():
        encode(array[:100])
        runs = []
        for _ in range(repeats):
            start = time.process_time()
            encode(array)
            runs.append(time.process_time() - start)
        out[name] = round(len(texts) / statistics.median(runs))
        print(f"{name}: {out[name]:,} distinct strings a second on one core")
    return out


def main() -> None:
    """Prints the tables and appends a dated line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", choices=("quality", "speed"))
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not (given.data / "autofj").exists():
        raise SystemExit(f"no labelled pairs below {given.data}: name their folder with --data")
    sets = labelled_sets(given.data)
    found: dict[str, Any] = {"sets": len(sets)}
    if given.only != "quality":
        found["speed"] = speed(sets, given.repeats)
    if given.only != "speed":
        tuning, held = halves(sets)
        found |= {"tuning": [s.name for s in tuning], "held": [s.name for s in held]}
        kinds = "/".join(sorted({one.kind for one in held}))
        print(f"{len(tuning)} sets for tuning, {len(held)} held out")
        print(f"{'':44} | tuning: F1, one tau, AUC | held out: the same | F1 {kinds} | cosine")
        rows = [quality(n, s, tuning, held) for n, s in references().items()]
        compared = mixes(given.tune)
        for path in given.also:
            compared |= of_file(path)
        rows += [quality(n, by_vectors(e), tuning, held) for n, e in compared.items()]
        found["quality"] = rows
        plain = ["default", "small", "words alone, 128", "characters alone, 128"]
        plain += [f"{path.name}^0.0 alone" for path in given.also]
        print_ranges([row for row in rows if row["name"] in plain])
    print("written to", record("encoders", found, given.out))


if __name__ == "__main__":
    main()
