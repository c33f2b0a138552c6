"""LakeJoiner as scikit-learn's own checks see it, over a lake in which their numbers find nothing,
and over one in which they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import lakejoin
from fake_spark import FakeSpark
from lakejoin import LakeJoiner

# None has to be skipped; a check that must be is named here, with the reason.
SKIPPED: dict[str, str] = {}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two tables: towns, and whole numbers with what belongs to them."""
    folder = tmp_path_factory.mktemp("checks")
    (folder / "lake").mkdir()
    random = np.random.default_rng(0)
    towns = pd.DataFrame({"town": ["Bern", "Ulm", "Zug", "Thun"], "n": [1, 2, 3, 4]})
    towns.to_csv(folder / "lake" / "towns.csv", index=False)
    codes = pd.DataFrame({"code": np.arange(500) * 7919 + 10_007, "size": random.normal(size=500)})
    codes.to_csv(folder / "lake" / "codes.csv", index=False)
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    return folder / "index"


def checks() -> Iterator[str]:
    """The names of the checks that scikit-learn has for it."""
    joiner = LakeJoiner("nowhere", on=0)
    for number, (_, check) in enumerate(estimator_checks_generator(joiner, mark=None)):
        name = getattr(check, "func", check).__name__
        yield f"{number} {name}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(checks()))
def test_scikit_learns_checks(index: Path, name: str) -> None:
    number, _, check_name = name.partition(" ")
    if check_name in SKIPPED:
        pytest.skip(SKIPPED[check_name])
    found: list[tuple[Any, Callable[[Any], None]]] = list(
        estimator_checks_generator(LakeJoiner(index, on=0), mark=None)
    )
    estimator, check = found[int(number)]
    check(estimator)


def test_numbers_of_an_array_are_joined(index: Path) -> None:
    random = np.random.default_rng(1)
    codes = pd.read_csv(index.parent / "lake" / "codes.csv")
    rows = random.permutation(500)[:200]
    mine = np.stack([codes["code"][rows].to_numpy(float), random.normal(size=200)], axis=1)
    target = codes["size"][rows].to_numpy() + 0.1 * random.normal(size=200)
    joiner = LakeJoiner(index, on=0).fit(mine, target)
    assert [column.called for column in joiner.columns_] == ["codes.size"]
    joined = joiner.transform(mine)
    assert joined.shape == (200, 3)
    assert joined.dtype == np.float64
    assert np.allclose(joined[:, 2], codes["size"][rows])
    assert joiner.get_feature_names_out().tolist() == ["x0", "x1", "codes.size"]
