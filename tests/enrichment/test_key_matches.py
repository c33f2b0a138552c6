"""Values of the lake for keys of mine, against plain Python; and keys that are written anew."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakejoin
from enrichment.made_lakes import names
from fake_spark import FakeSpark
from lakejoin import LakeJoiner
from lakejoin.enrich.key_matches import EqualKeys
from lakejoin.enrich.lake_columns import LakeColumn, join_columns
from lakejoin.enrich.links import Link
from lakejoin.lake import Lake

RANDOM = np.random.default_rng(7)
TOWNS = ["Bern", "Ulm", "Zug", "Thun", "Biel", "Chur"]
KEYS = [*TOWNS, "BERN", " ulm", "Zug ", "Nowhere", None]


def frame() -> pd.DataFrame:
    """Several rows for most keys, spellings, and cells that are empty or no numbers."""
    rows = 60
    numbers = RANDOM.integers(1, 9, rows).astype(object)
    numbers[::7] = ""
    kinds = RANDOM.choice(["red", "Red ", "blue", "green", ""], rows)
    return pd.DataFrame(
        {
            "town": RANDOM.choice([*TOWNS[:5], "ZUG", "thun "], rows),
            "year": RANDOM.choice(["2001", "2002"], rows),
            "n": numbers,
            "kind": kinds,
        }
    )


FRAME = frame()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("matches")
    (folder / "lake").mkdir()
    FRAME.to_csv(folder / "lake" / "facts.csv", index=False)
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    return lakejoin.open(folder / "index")


def canonical(cell: Any) -> str:
    return str(cell).strip().lower()


def expected(keys: list[Any], columns: list[str]) -> list[tuple[float | None, str | None, float]]:
    """The mean, the most frequent value and the number of rows, worked out row by row."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row in FRAME.itertuples(index=False):
        groups[tuple(canonical(getattr(row, name)) for name in columns)].append(row)
    found = []
    for key in keys:
        rows = [] if None in key else groups.get(tuple(map(canonical, key)), [])
        numbers = [float(row.n) for row in rows if row.n != ""]
        kinds = Counter(canonical(row.kind) for row in rows if row.kind != "")
        best = min(kinds, key=lambda one: (-kinds[one], one)) if kinds else None
        found.append((fmean(numbers) if numbers else None, best, float(len(rows)) or None))
    return found


@given(st.lists(st.tuples(st.sampled_from(KEYS)), max_size=12))
def test_one_key_column(lake: Lake, keys: list[tuple[str | None]]) -> None:
    check(lake, keys, ["town"])


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["2001", "2002", None]))))
def test_two_key_columns(lake: Lake, keys: list[tuple[str | None, str | None]]) -> None:
    check(lake, keys, ["town", "year"])


def check(lake: Lake, keys: list[Any], columns: list[str]) -> None:
    mine = pa.table(
        {name: pa.array([key[i] for key in keys], pa.string()) for i, name in enumerate(columns)}
    )
    link = Link("facts.csv", tuple(columns), (EqualKeys(tuple(columns)),))
    asked = [
        LakeColumn(0, "facts.csv", 2, "n", "mean", "n"),
        LakeColumn(0, "facts.csv", 3, "kind", "most frequent", "kind"),
        LakeColumn(0, "facts.csv", -1, "rows", "rows", "rows"),
    ]
    made = join_columns(lake.snapshot, [link], asked, mine)
    got = list(zip(*(column.to_pylist() for column in made), strict=True))
    wanted = expected(keys, columns)
    assert len(got) == len(keys)
    for (mean, kind, rows), (true_mean, true_kind, true_rows) in zip(got, wanted, strict=True):
        assert mean == pytest.approx(true_mean) if true_mean is not None else mean is None
        assert (None if kind is None else canonical(kind)) == true_kind
        assert rows == true_rows


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, Any]:
    """A lake whose keys are mine with words around them, or with a letter changed."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "lake").mkdir()
    random = np.random.default_rng(5)
    words = names(300, random)
    towns = [f"{one} {two}" for one, two in zip(words[::2], words[1::2], strict=True)]
    income = random.normal(size=150).round(4)
    wrong = [f"{one[:4]}x{one[5:]}" if n % 3 else one for n, one in enumerate(towns)]
    pd.DataFrame({"name": wrong, "income": income}).to_csv(
        folder / "lake" / "typed.csv", index=False
    )
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    mine = pd.DataFrame({"town": towns})
    return folder / "index", mine, income


def test_texts_that_are_alike(written: tuple[Path, pd.DataFrame, Any]) -> None:
    index, mine, income = written
    target = income + 0.05 * np.random.default_rng(0).normal(size=150)
    joiner = LakeJoiner(index, on="town", by="fuzzy").fit(mine[:100], target[:100])
    assert [column.called for column in joiner.columns_] == ["typed.income"]
    assert "fuzzy" in joiner.links_[0].kinds
    joined = joiner.transform(mine)["typed.income"].to_numpy()
    right = np.isclose(joined, income)
    assert right[:100].mean() > 0.9
    assert right[100:].mean() > 0.8, "rows that it was not fitted with"
    assert (right | np.isnan(joined)).mean() > 0.97
    again = pickle.loads(pickle.dumps(joiner)).transform(mine[100:])["typed.income"].to_numpy()
    assert np.array_equal(again, joined[100:], equal_nan=True), "each row by itself"
    equal = LakeJoiner(index, on="town", by="equal").fit(mine, target)
    if equal.columns_:
        assert np.isnan(equal.transform(mine)["typed.income"]).mean() > 0.5
