"""LakeJoiner: the columns that help and no others, onto any rows, without copies of the target."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import lakejoin
from enrichment.made_lakes import Made, made_lake
from lakejoin import LakeJoiner
from lakejoin.errors import InputError, UnusableTarget


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return made_lake(tmp_path_factory.mktemp("enrich"))


@pytest.fixture(scope="module")
def fitted(made: Made) -> LakeJoiner:
    return LakeJoiner(made.index, on="town", target="target").fit(made.mine, made.target)


def added(joiner: LakeJoiner) -> set[str]:
    return {column.called for column in joiner.columns_}


def test_the_columns_that_tell_the_target_are_chosen(fitted: LakeJoiner) -> None:
    assert added(fitted) == {"incomes.income", "weather.climate"}
    assert {link.table for link in fitted.links_} == {"incomes.csv", "weather.csv"}


def test_the_target_and_the_table_itself_are_left_out_and_told(fitted: LakeJoiner) -> None:
    told = {(one.table, one.column): one.why for one in fitted.left_out_}
    assert "version of my own table" in told["mine_again.csv", ""]
    assert told["secret.csv", "result"] == "it is the target"
    assert told["secret.csv", "in_cents"] == "it is the target in another unit"
    assert len(told) == 3


def test_a_target_of_noise_chooses_nothing(made: Made) -> None:
    for seed in range(2):
        noise = np.random.default_rng(seed).normal(size=len(made.mine))
        joiner = LakeJoiner(made.index, on="town").fit(made.mine, noise)
        assert joiner.columns_ == ()
        assert joiner.transform(made.mine).equals(made.mine)


def test_classes_from_many_rows_of_a_key(made: Made) -> None:
    joiner = LakeJoiner(made.index, on="town").fit(made.mine, made.kind)
    assert added(joiner) == {"shops.sales_mean"}
    assert ("labels.csv", "label", "it is the target by other names") in [
        (one.table, one.column, one.why) for one in joiner.left_out_
    ]
    sales = pd.read_csv(made.folder / "shops.csv").groupby("town")["sales"].mean()
    joined = joiner.transform(made.mine)
    assert np.allclose(joined["shops.sales_mean"], made.mine["town"].map(sales))


def test_rows_keep_their_number_and_order(made: Made, fitted: LakeJoiner) -> None:
    rows = np.random.default_rng(0).integers(0, len(made.mine), 500)  # keys repeat
    asked = made.mine.iloc[rows]
    joined = fitted.transform(asked)
    assert joined.index.equals(asked.index)
    assert joined[["town", "own"]].equals(asked)
    income = pd.read_csv(made.folder / "incomes.csv").set_index("town")["income"]
    assert np.allclose(joined["incomes.income"], asked["town"].map(income))
    climate = pd.read_csv(made.folder / "weather.csv").set_index("place")["climate"]
    expected = asked["town"].str.upper().map(climate)
    assert joined["weather.climate"].tolist() == expected.tolist()


def test_a_row_gets_its_columns_by_its_key_alone(made: Made, fitted: LakeJoiner) -> None:
    whole = fitted.transform(made.mine)
    alone = pd.concat([fitted.transform(made.mine.iloc[i : i + 1]) for i in range(0, 160, 20)])
    assert alone.equals(whole.iloc[::20])


def test_unknown_and_missing_keys_get_nothing(made: Made, fitted: LakeJoiner) -> None:
    asked = pd.DataFrame({"town": [None, "Nowhere", made.mine["town"][3], ""], "own": [1.0] * 4})
    joined = fitted.transform(asked)
    assert joined["incomes.income"].isna().tolist() == [True, True, False, True]
    assert joined["weather.climate"].isna().tolist() == [True, True, False, True]
    nobody = fitted.transform(asked.iloc[:2])
    assert nobody.shape == (2, 4) and nobody["incomes.income"].isna().all()
    assert fitted.transform(asked.iloc[:0]).shape == (0, 4)


def test_spellings_meet(made: Made, fitted: LakeJoiner) -> None:
    asked = made.mine.assign(town=" " + made.mine["town"].str.upper())
    expected = fitted.transform(made.mine)["incomes.income"]
    assert np.allclose(fitted.transform(asked)["incomes.income"], expected)


def test_transform_does_not_look_at_the_target(made: Made) -> None:
    table = made.mine.assign(target=made.target)
    joiner = LakeJoiner(made.index, on="town", target="target").fit(table)
    assert added(joiner) == {"incomes.income", "weather.climate"}
    other = joiner.transform(table.assign(target=0.0))
    assert other.drop(columns="target").equals(joiner.transform(table).drop(columns="target"))


def test_duplicate_keys_do_not_make_noise_look_useful(made: Made) -> None:
    """Rows of a key share a target: every column that tells keys apart would seem to help."""
    random = np.random.default_rng(1)
    rows = np.repeat(np.arange(40), 8)
    by_key = random.normal(size=len(made.mine))
    target = by_key[rows] + 0.1 * random.normal(size=len(rows))
    joiner = LakeJoiner(made.index, on="town").fit(made.mine.iloc[rows], target)
    assert joiner.columns_ == ()


def test_the_tables_rows_with_the_target_do_not_leak_through_their_mean(
    made: Made, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A lake with my own table, which has several rows a key: means of it hold my targets."""
    from fake_spark import FakeSpark

    folder = tmp_path_factory.mktemp("means")
    random = np.random.default_rng(2)
    rows = np.repeat(np.arange(60), 3)
    mine = made.mine.iloc[rows].assign(age=random.normal(size=180).round(4))
    target = random.normal(size=180).round(5)
    (folder / "lake").mkdir()
    mine.assign(y=target).to_csv(folder / "lake" / "own.csv", index=False)
    lakejoin.index(folder / "lake", folder / "index", spark=FakeSpark())
    train = random.permutation(180)[:140]
    joiner = LakeJoiner(folder / "index", on="town").fit(mine.iloc[train], target[train])
    assert joiner.columns_ == ()
    assert [one.column for one in joiner.left_out_] == [""]


def test_it_works_in_a_pipeline(made: Made) -> None:
    texts = make_column_selector(dtype_include=object)
    encoder = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), texts),
        remainder="passthrough",
    )
    model = make_pipeline(
        LakeJoiner(made.index, on="town"), encoder, HistGradientBoostingRegressor(max_iter=40)
    )
    model.fit(made.mine[:110], made.target[:110])
    alone = make_pipeline(clone(encoder), HistGradientBoostingRegressor(max_iter=40))
    alone.fit(made.mine[:110], made.target[:110])
    better, before = (one.score(made.mine[110:], made.target[110:]) for one in (model, alone))
    assert better > before + 0.3


def test_it_is_cloned_and_pickled(made: Made, fitted: LakeJoiner) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert again.transform(made.mine).equals(fitted.transform(made.mine))
    by_lake = LakeJoiner(lakejoin.open(made.index), on="town").fit(made.mine, made.target)
    assert b"SYLL" not in pickle.dumps(by_lake) and len(pickle.dumps(by_lake)) < 20_000
    assert pickle.loads(pickle.dumps(by_lake)).transform(made.mine).shape == (160, 4)
    fresh = clone(by_lake)
    assert not hasattr(fresh, "columns_")
    assert fresh.get_params()["on"] == "town"
    assert by_lake.columns_ == fitted.columns_, "the same rows and seed choose the same columns"


def test_names_of_the_columns(made: Made, fitted: LakeJoiner) -> None:
    names = fitted.get_feature_names_out().tolist()
    assert names == fitted.transform(made.mine).columns.tolist()
    assert names[:2] == ["town", "own"]
    framed = copy.deepcopy(fitted).set_output(transform="polars")
    assert framed.transform(made.mine).columns == names


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_frames_come_back_as_they_were_given(made: Made, fitted: LakeJoiner, kind: str) -> None:
    given: Any = {
        "polars": pl.from_pandas,
        "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    }[kind](made.mine)
    joined = fitted.transform(given)
    assert type(joined) is type(given)
    expected = fitted.transform(made.mine)
    for name in expected.columns:
        assert np.asarray(joined[name].to_numpy()).tolist() == expected[name].tolist()


def test_arrays_come_back_as_arrays(made: Made, fitted: LakeJoiner) -> None:
    given = made.mine.to_numpy()
    joiner = LakeJoiner(made.index, on=0).fit(given, made.target)
    joined = joiner.transform(given)
    assert isinstance(joined, np.ndarray)
    assert joined.tolist() == fitted.transform(made.mine).to_numpy().tolist()


def test_what_cannot_be_learned_is_refused(made: Made) -> None:
    joiner = LakeJoiner(made.index, on="town", target="target")
    with pytest.raises(UnusableTarget, match="same value in all rows"):
        joiner.fit(made.mine, np.ones(160))
    with pytest.raises(UnusableTarget, match="known of 5 samples"):
        joiner.fit(made.mine[:5], made.target[:5])
    with pytest.raises(UnusableTarget, match="too many classes"):
        joiner.fit(made.mine, made.mine["town"])
    with pytest.raises(UnusableTarget, match="and y is given too"):
        joiner.fit(made.mine.assign(target=1), made.target)
    with pytest.raises(InputError, match="no column 'target'"):
        joiner.fit(made.mine)
    with pytest.raises(InputError, match="no column 'twn'; did you mean 'town'"):
        LakeJoiner(made.index, on="twn").fit(made.mine, made.target)
    with pytest.raises(InputError, match="joined by one of"):
        LakeJoiner(made.index, on="town", by="magic").fit(made.mine, made.target)


def test_rows_without_a_target_are_passed_over(made: Made) -> None:
    target = made.target.copy()
    target[::10] = np.nan
    mine = made.mine.rename(columns={"own": "y"})  # as the target is called where it has no name
    joiner = LakeJoiner(made.index, on="town", sample=100).fit(mine, target)
    assert "incomes.income" in added(joiner)
    assert len(joiner.transform(mine)) == 160
