"""LakeJoiner: the columns that help and no others, onto any rows, without copies of the target."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import lakejoin
from enrichment.made_lakes import Made, made_lake
from lakejoin import LakeJoiner
from lakejoin.enrich.enrichment import prepare_chooser
from lakejoin.enrich.links import EnrichOptions
from lakejoin.enrich.training_data import Target
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
    assert "a version of it" in told["mine_again.csv", ""]
    assert told["secret.csv", "result"] == "it is the target"
    assert told["secret.csv", "in_cents"] == "it is the target in another unit"
    assert len(told) == 3


def test_a_target_of_noise_chooses_nothing(made: Made) -> None:
    noise = np.random.default_rng(0).normal(size=len(made.mine))
    joiner = LakeJoiner(made.index, on="town").fit(made.mine, noise)
    assert joiner.columns_ == ()
    assert joiner.transform(made.mine).equals(made.mine)


def test_no_target_of_noise_chooses_anything(made: Made) -> None:
    """The best of much noise looks good by the rows that it was chosen by."""
    rows = np.arange(len(made.mine))
    mine = pa.Table.from_pandas(made.mine, preserve_index=False)
    options = EnrichOptions(("town",), "equal")
    target = Target("y", made.noise)
    chooser = prepare_chooser(lakejoin.open(made.index), mine, target, options, print)
    for seed in range(6):
        random = np.random.default_rng(seed + 50)
        target = (
            Target("y", random.normal(size=len(rows)))
            if seed % 2
            else Target("y", random.integers(0, 2, len(rows)).astype(float), ("a", "b"))
        )
        assert not replace(chooser, target=target, seed=seed, report=print).choose(rows).positions


def test_classes_from_many_rows_of_a_key(made: Made) -> None:
    joiner = LakeJoiner(made.index, on="town").fit(made.mine, made.kind)
    assert added(joiner) == {"shops.sales_mean"}
    assert ("labels.csv", "label", "it is the target under other names") in [
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


def test_the_target_may_be_a_column_of_x(made: Made, fitted: LakeJoiner) -> None:
    """New rows need not have it, and a model that comes next never sees it."""
    table = made.mine.assign(target=made.target)[["target", "town", "own"]]
    joiner = LakeJoiner(made.index, on="town", target="target").fit(table)
    assert added(joiner) == {"incomes.income", "weather.climate"}
    expected = joiner.transform(made.mine)
    assert expected.columns.tolist() == joiner.get_feature_names_out().tolist()
    assert joiner.transform(table.assign(target=0.0)).equals(expected)
    framed = copy.deepcopy(joiner).set_output(transform="pandas")
    assert framed.transform(table).equals(expected)
    assert joiner.transform(pl.from_pandas(table)).columns == expected.columns.tolist()
    arrow = joiner.transform(pa.Table.from_pandas(table))
    assert arrow.column_names == expected.columns.tolist()
    array = table.to_numpy()
    joiner = LakeJoiner(made.index, on="x1", target="x0").fit(array)
    assert joiner.transform(array).tolist() == joiner.transform(array[:, 1:]).tolist()


@pytest.mark.parametrize("by", [1.0, 2.5])
def test_a_target_that_was_rounded_is_known_again(made: Made, by: float) -> None:
    joiner = LakeJoiner(made.index, on="town").fit(made.mine, (made.target / by).round())
    told = {(one.table, one.column): one.why for one in joiner.left_out_}
    assert told["secret.csv", "result"] == told["secret.csv", "in_cents"]
    assert told["secret.csv", "result"] == "it is the target, rounded"
    assert added(joiner) == {"incomes.income", "weather.climate"}


def test_a_number_that_nearly_is_the_target_is_told(made: Made) -> None:
    income = pd.read_csv(made.folder / "incomes.csv").set_index("town")["income"]
    noise = np.random.default_rng(3).normal(0, 1.5, len(made.mine))
    target = made.mine["town"].map(income) + noise
    with pytest.warns(UserWarning, match="incomes.income alone predicts 'y' in nearly all rows"):
        joiner = LakeJoiner(made.index, on="town").fit(made.mine, target)
    assert "incomes.income" in added(joiner)


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


def test_it_is_cross_validated_in_a_pipeline(made: Made) -> None:
    """Cloned, fitted and followed anew in every fold, with rows in any order."""
    mine = made.mine.sample(frac=1, random_state=3)
    target = pd.Series(made.target).sample(frac=1, random_state=3)
    texts = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder = make_column_transformer(
        (texts, make_column_selector(dtype_include=object)), remainder="passthrough"
    )
    model = HistGradientBoostingRegressor(max_iter=40)
    alone = make_pipeline(encoder, model)
    joined = make_pipeline(LakeJoiner(made.index, on="town"), encoder, model)
    before = cross_val_score(alone, mine, target, cv=3)
    after = cross_val_score(joined, mine, target, cv=3)
    assert (after > before + 0.2).all()
    search = GridSearchCV(joined, {"lakejoiner__by": ["equal", "fuzzy"]}, cv=2)
    assert search.fit(mine, target).best_score_ > before.mean()


def test_frames_with_any_index(made: Made, fitted: LakeJoiner) -> None:
    expected = fitted.transform(made.mine)
    rows = len(made.mine)
    order = np.random.default_rng(5).permutation(rows)
    for index in (
        pd.Index(order),
        pd.Index(["same"] * rows),
        pd.MultiIndex.from_arrays([order % 3, order]),
        pd.date_range("2020", periods=rows),
    ):
        mine = made.mine.set_axis(index, axis=0)
        joiner = LakeJoiner(made.index, on="town").fit(mine, pd.Series(made.target))
        joined = joiner.transform(mine)
        assert joined.index.equals(index)
        assert joined.reset_index(drop=True)[expected.columns].equals(expected)


@pytest.mark.parametrize("kind", ["category", "string", "string[pyarrow]"])
def test_keys_of_any_type(made: Made, fitted: LakeJoiner, kind: str) -> None:
    joined = fitted.transform(made.mine.astype({"town": kind}))
    expected = fitted.transform(made.mine)
    assert joined["incomes.income"].tolist() == expected["incomes.income"].tolist()


def test_what_a_table_can_be_made_of(made: Made, fitted: LakeJoiner) -> None:
    expected = fitted.transform(made.mine)["weather.climate"].tolist()
    for given in (made.mine.to_dict("list"), pl.from_pandas(made.mine).lazy()):
        assert fitted.transform(given)["weather.climate"].to_pylist() == expected


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
    with pytest.raises(UnusableTarget, match="known for 5 samples"):
        joiner.fit(made.mine[:5], made.target[:5])
    with pytest.raises(UnusableTarget, match="too many classes"):
        joiner.fit(made.mine, made.mine["town"])
    with pytest.raises(UnusableTarget, match="and y is passed too"):
        joiner.fit(made.mine.assign(target=1), made.target)
    with pytest.raises(InputError, match="no column 'target'"):
        joiner.fit(made.mine)
    with pytest.raises(InputError, match="no column 'twn'; did you mean 'town'"):
        LakeJoiner(made.index, on="twn").fit(made.mine, made.target)
    with pytest.raises(InputError, match="by must be one of"):
        LakeJoiner(made.index, on="town", by="magic").fit(made.mine, made.target)
    twice = pd.concat([made.mine, made.mine[["own"]]], axis=1)
    with pytest.raises(InputError, match="several columns called 'own'"):
        LakeJoiner(made.index, on="town").fit(twice, made.target)
    for wrong in ({"tables": 0}, {"columns": 0}, {"sample": 9}, {"columns": 2.5}):
        (name,) = wrong
        with pytest.raises(InputError, match=f"{name} must be an integer of at least"):
            LakeJoiner(made.index, on="town", **wrong).fit(made.mine, made.target)


def test_tables_that_are_left_out_by_name(made: Made) -> None:
    for exclude in ("incomes.csv", ["incomes.csv"]):
        joiner = LakeJoiner(made.index, on="town", exclude=exclude).fit(made.mine, made.target)
        assert added(joiner) == {"weather.climate"}


def test_rows_without_a_target_are_passed_over(made: Made) -> None:
    target = made.target.copy()
    target[::10] = np.nan
    mine = made.mine.rename(columns={"own": "y"})  # as the target is called where it has no name
    joiner = LakeJoiner(made.index, on="town", sample=100).fit(mine, target)
    assert "incomes.income" in added(joiner)
    assert len(joiner.transform(mine)) == 160
