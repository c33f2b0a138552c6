"""A server's lake answers as the same index does that is opened here."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lakejoin
from lakejoin.client.remote_lake import RemoteLake
from lakejoin.client.remote_table import RemoteTable
from lakejoin.errors import InputError, NoJoin, UnknownTable
from lakejoin.inputs import LakeTable
from lakejoin.lake import Lake
from lakejoin.ranking.answer import FusedAnswer
from lakejoin.search.answer import Answers

MAYORS = "sub/mayors of.csv"
MINE = {"place": ["Bern", "Oslo", "Zug", "Paris"], "n": [1, 2, 3, 4]}
TIMES = {"seconds", "seconds_by", "counters"}


def told(local: Any, remote: Any, path: str = "") -> None:
    """All that is told here is told there, but for times."""
    if isinstance(local, dict):
        for key, value in local.items():
            if key not in TIMES:
                told(value, remote[key], f"{path}.{key}")
    elif isinstance(local, list):
        assert len(local) == len(remote), path
        for place, (mine, theirs) in enumerate(zip(local, remote, strict=True)):
            told(mine, theirs, f"{path}[{place}]")
    elif isinstance(local, float):
        assert remote == pytest.approx(local), path
    else:
        assert local == remote, path


# -- the same methods --------------------------------------------------------------------------


def methods(kind: type) -> dict[str, inspect.Signature]:
    every = inspect.getmembers(kind, inspect.isfunction)
    return {name: inspect.signature(one) for name, one in every if not name.startswith("_")}


@pytest.mark.parametrize("name", methods(Lake))
def test_every_method_of_a_lake_is_there(name: str) -> None:
    local, remote = methods(Lake)[name], methods(RemoteLake)[name]
    theirs = list(remote.parameters.values())
    for place, one in enumerate(local.parameters.values()):
        other = theirs[place]
        assert (other.name, other.kind, other.default) == (one.name, one.kind, one.default)


@pytest.mark.parametrize("name", ["columns", "to_arrow", "to_pandas", "to_polars"])
def test_every_method_of_a_table_is_there(name: str) -> None:
    local, remote = (list(methods(kind)[name].parameters) for kind in (LakeTable, RemoteTable))
    assert remote == local[: len(remote)]


# -- what is there -----------------------------------------------------------------------------


def test_figures(local: Lake, remote: RemoteLake) -> None:
    told(local.info(), remote.info())
    assert len(remote) == len(local) == 3
    assert "3 tables, 28 rows" in repr(remote)
    assert remote.info()["limits"]["upload_bytes"] > 0


def test_tables(local: Lake, remote: RemoteLake) -> None:
    for pattern in (None, "sub/*", "town", "nothing"):
        found = [one.name for one in remote.tables(pattern)]
        assert found == [one.name for one in local.tables(pattern)]


def test_lists_longer_than_a_page(remote: RemoteLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakejoin.client.remote_lake._PAGE", 2)
    assert len(remote.tables()) == 3


@pytest.mark.parametrize("name", ["towns.csv", MAYORS, "sub/codes.tsv"])
def test_a_table(local: Lake, remote: RemoteLake, name: str) -> None:
    mine, theirs = local.table(name), remote.table(name)
    assert (theirs.name, theirs.rows, len(theirs)) == (mine.name, mine.rows, mine.rows)
    assert [one.name for one in theirs.columns()] == [one.name for one in mine.columns()]
    profiles = [one.profile for one in mine.columns()]
    assert [one.profile for one in theirs.columns()] == profiles
    assert theirs.to_arrow().to_pydict() == mine.to_arrow().to_pydict()
    assert theirs.to_pandas().equals(mine.to_pandas())
    assert theirs.to_polars().equals(mine.to_polars())
    listed = next(one for one in remote.tables() if one.name == name)
    assert (repr(listed), listed.names) == (repr(theirs), theirs.names)


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (2, 5), (10, None), (14, 99), (99, None)])
def test_some_rows(local: Lake, remote: RemoteLake, begin: int, end: int | None) -> None:
    rows = remote.table("towns.csv").to_arrow(begin, end)
    assert rows.to_pylist() == local.table("towns.csv").to_arrow().to_pylist()[begin:end]
    assert rows.column_names == ["town", "country", "people"]


def test_an_unknown_table(remote: RemoteLake) -> None:
    with pytest.raises(UnknownTable, match=r"did you mean towns\.csv"):
        remote.table("twns.csv")
    with pytest.raises(InputError, match="no longer stored"):
        remote.table(f"upload:{'a' * 26}")
    with pytest.raises(InputError, match=r"lakejoin\.open"):
        remote.skipped()


# -- searching ---------------------------------------------------------------------------------


def test_a_fused_search(local: Lake, remote: RemoteLake) -> None:
    mine, theirs = local.search("towns.csv"), remote.search("towns.csv")
    told(mine.to_dict(), theirs.to_dict())
    assert isinstance(theirs, FusedAnswer) and theirs.final and theirs.error is None
    assert (theirs.table, theirs.columns, theirs.k) == (mine.table, mine.columns, mine.k)
    first, same = theirs[0], mine[0]
    assert (first.table, first.score, first.reason) == (same.table, same.score, same.reason)
    assert [one.name for one in first.adds] == [one.name for one in same.adds]
    assert first.candidates[0].pairs == same.candidates[0].pairs
    assert first.matches().num_rows == 11
    assert first.unmatched().column("value").to_pylist() == ["Chur", "Davos", "Sion", "Visp"]
    assert "JOIN" in first.sql()
    assert repr(first) == repr(same) and first.table in repr(theirs)
    assert repr(first) in repr(theirs) and theirs._repr_html_()


@pytest.mark.parametrize(
    ("on", "options"),
    [
        ("town", ("overlap", {})),
        ("town", ("overlap", {"skip_copies": True, "k": 1})),
        (["town"], ("containment", {"min_share": 0.5})),
        (0, ("overlap", {})),
        (["town", "people"], ("composite", {})),
        (["town", "people"], ("composite", {"k": None, "min_share": 0.5})),
        ({"town": "city", "people": None}, ("composite", {"skip_copies": True})),
    ],
)
def test_a_search_by_one_engine(
    local: Lake, remote: RemoteLake, on: Any, options: tuple[str, dict[str, Any]]
) -> None:
    method, given_options = options
    mine = getattr(local, method)("towns.csv", on, **given_options)
    theirs = getattr(remote, method)("towns.csv", on, **given_options)
    told(mine.to_dict(), theirs.to_dict())
    assert (theirs.query.columns, len(theirs.query)) == (mine.query.columns, len(mine.query))
    for result, same in zip(theirs, mine, strict=True):
        assert (result.columns, result.containment) == (same.columns, same.containment)
        assert (result.examples, result.mapping) == (same.examples, same.mapping)
        assert result.matches().to_pydict() == same.matches().to_pydict()
        assert result.unmatched().num_rows == same.unmatched().num_rows


def test_every_column_by_itself(local: Lake, remote: RemoteLake) -> None:
    mine = local.overlap("towns.csv", "*", k=2)
    theirs = remote.overlap("towns.csv", "*", k=2)
    assert isinstance(theirs, Answers)
    told(mine.to_dict(), theirs.to_dict())


def test_a_slice_is_an_answer(remote: RemoteLake) -> None:
    answer = remote.overlap("towns.csv", "town")
    assert len(answer) == 2
    assert [one.rank for one in answer[:1]] == [1]
    assert len(answer[:1].to_dict()["results"]) == 1
    assert answer[:1].query is answer.query


def given(folder: Path) -> list[Any]:
    (folder / "my places.csv").write_text("place,n\nBern,1\nOslo,2\nZug,3\nParis,4\n")
    path = folder / "my places.csv"
    frames = [pd.DataFrame(MINE), pl.DataFrame(MINE), pl.DataFrame(MINE).lazy(), pa.table(MINE)]
    return [path, str(path), MINE, *frames]


def test_a_table_in_any_form(remote: RemoteLake, tmp_path: Path) -> None:
    kept = remote.upload(MINE)
    assert remote.upload(MINE).id == kept.id  # made of the content
    for one in (*given(tmp_path), kept, kept.id):
        answer = remote.overlap(one, "place")
        assert [(r.table, r.matched) for r in answer] == [(MAYORS, 3), ("towns.csv", 3)]


def test_a_table_of_an_index_that_is_opened_here(local: Lake, remote: RemoteLake) -> None:
    answer = remote.overlap(local.table("towns.csv"), "town")
    assert [one.matched for one in answer] == [15, 11]


def test_a_bare_column_of_values(remote: RemoteLake) -> None:
    assert remote.overlap(["Bern", "Oslo"])[0].matched == 2


def test_a_search_that_gets_better(local: Lake, remote: RemoteLake) -> None:
    *before, last = remote.search_progressively("towns.csv", k=2)
    assert before and last.final and not any(one.final for one in before)
    told(local.search("towns.csv", k=2).to_dict(), last.to_dict())
    with pytest.raises(InputError, match="preliminary"):
        before[0][0].matches()


def test_a_search_that_is_stopped(remote: RemoteLake) -> None:
    answers = remote.search_progressively(MINE)
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert remote.info()


def test_many_searches(local: Lake, remote: RemoteLake) -> None:
    queries = ["towns.csv", (MAYORS, "city"), "nothing.csv", MINE]
    found = list(remote.search_many(queries, k=3))
    assert [bool(one.error) for one in found] == [False, False, True, False]
    assert found[2].table == "nothing.csv"
    told(local.search(MAYORS, "city", k=3).to_dict(), found[1].to_dict())  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "options", "says"),
    [
        ("search", {"on": "twn"}, "did you mean 'town'"),
        ("search", {"k": 0}, "k: "),
        ("overlap", {"on": "town", "algorithm": "probeset"}, "do not support algorithm"),
        ("overlap", {"on": ["town", "people"]}, "one column; got 2: use composite"),
        ("composite", {"on": "town"}, "two or more columns: use overlap"),
        ("composite", {"on": ["town", "people"], "initial": 0}, "do not support initial"),
        ("containment", {"on": "town", "verify": False}, "do not support verify"),
        ("similar", {"on": "town", "measure": "all"}, "do not support measure"),
        ("nearby", {"within": lakejoin.VectorDistance(1, "l1")}, "do not support metric"),
        ("search", {"on": {"town", "people"}}, "a set has no order"),
        ("search", {"on": [1.5]}, "not 1.5"),
        ("similar", {"on": "town", "tau": "x"}, "tau must be"),
    ],
)
def test_what_cannot_be_asked_for(
    remote: RemoteLake, method: str, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        getattr(remote, method)("towns.csv", **options)


def test_a_method_that_there_is_not(remote: RemoteLake) -> None:
    with pytest.raises(InputError, match="method must be search, overlap"):
        remote.search_many(["towns.csv"], method="odd")


# -- bringing ----------------------------------------------------------------------------------


def test_types_are_kept(remote: RemoteLake) -> None:
    table = remote.upload({"n": [1, 2], "x": [0.5, None], "t": ["a", "b"]}, "numbers")
    assert [str(one.profile.type) for one in table.columns()] == ["integer", "decimal", "text"]
    assert table.name.startswith("numbers") and table.rows == 2


def test_a_part_of_a_workbook(remote: RemoteLake, tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path, engine="xlsxwriter") as book:
        for name in ("one", "two"):
            pd.DataFrame({"place": ["Bern", name]}).to_excel(book, sheet_name=name, index=False)
    assert remote.upload(f"{path}#two").to_arrow().to_pydict() == {"place": ["Bern", "two"]}
    with pytest.raises(InputError, match=r"2 tables.*#one.*#two"):
        remote.upload(path)
    with pytest.raises(InputError, match="no table could be read"):
        remote.upload(f"{path}#three")


def test_what_is_no_table(remote: RemoteLake, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!DOCTYPE html><html><body>no table</body></html>")
    for wrong, says in (
        (tmp_path, "is a folder"),
        (tmp_path / "none.csv", "there is no file"),
        (tmp_path / "page.html", "page"),
        (7, "int is not a table"),
        ({}, "has no columns"),
    ):
        with pytest.raises(InputError, match=says):
            remote.upload(wrong)


# -- joining -----------------------------------------------------------------------------------


def test_a_join(local: Lake, remote: RemoteLake) -> None:
    mine = lakejoin.join(local.table("towns.csv"), local.table(MAYORS))
    told_of: list[str] = []
    theirs = remote.join("towns.csv", MAYORS, progress=told_of.append)
    assert theirs and told_of
    assert (len(theirs), theirs.left_joined, theirs.sure) == (
        len(mine),
        mine.left_joined,
        mine.sure,
    )
    assert theirs.table().to_pydict() == mine.table().to_pydict()
    assert theirs.run().id == theirs.run().id
    assert theirs.to_pandas().shape == mine.to_pandas().shape
    assert theirs.to_polars().shape == mine.to_polars().shape
    assert "town = city" in repr(theirs)


@pytest.mark.parametrize("on", ["town=city", {"town": "city"}, [("town", "city")], [(0, 0)]])
def test_a_join_on_columns_that_are_named(remote: RemoteLake, on: Any) -> None:
    found = remote.join("towns.csv", MAYORS, on, how="left")
    rows = found.run(["town", "mayor"]).to_arrow()
    assert (rows.num_rows, rows.column_names) == (15, ["town", "mayor"])
    assert found.on == ({"left": "town", "right": "city"},)


def test_a_join_with_rows_made_one(remote: RemoteLake) -> None:
    codes = remote.join(
        "sub/codes.tsv",
        "towns.csv",
        "code=country",
        options=lakejoin.MatchOptions(aggregate={"people": "mean"}),
    )
    assert codes.table().num_rows == 2


def test_no_join(remote: RemoteLake) -> None:
    found = remote.join({"a": ["x", "y"]}, {"b": ["1", "2"]})
    assert not found and "no join found" in found.why
    with pytest.raises(NoJoin, match="no join found"):
        found.run()


def test_predicates(local: Lake, remote: RemoteLake) -> None:
    mine = lakejoin.predicates(local.table("towns.csv"), local.table(MAYORS))
    theirs = remote.predicates("towns.csv", MAYORS)
    assert [one.pairs for one in theirs] == [one.pairs for one in mine]
    assert theirs[0].scores == pytest.approx(mine[0].scores)
    assert theirs[0].facts == replace(mine[0].facts, most_groups=mine[0].facts.groups)
    assert mine[0].words == theirs[0].words in repr(theirs)
    assert repr(theirs) == repr(mine)
    with pytest.raises(InputError, match="on the server"):
        theirs[0].table()


def test_sql(remote: RemoteLake) -> None:
    made = remote.sql(
        "towns.csv", "select country, count(*) as n from result group by 1 order by 1"
    )
    assert made.to_arrow().to_pydict() == {"country": ["CH", "NO"], "n": [5, 10]}
    again = remote.sql(made, "select max(n) as most from result")
    assert again.to_arrow().to_pydict() == {"most": [10]}
    assert remote.table(again.id).rows == 1
    with pytest.raises(InputError, match=r"nothing.*line 1, column 8"):
        remote.sql("towns.csv", "select nothing from result")


# -- the lake ----------------------------------------------------------------------------------


def test_rows_to_append(local: Lake, remote: RemoteLake) -> None:
    mine = {"town": ["Bern", "Vaduz"], "country": ["CH", "LI"], "people": [7, 8]}
    here, there = local.union(mine), remote.union(mine)
    assert [one.table for one in there] == [one.table for one in here]
    for result, same in zip(there, here, strict=True):
        assert (result.new_rows, result.missing) == (same.new_rows, same.missing)
        assert [one.theirs for one in result.pairs] == [one.theirs for one in same.pairs]
        assert same.table in repr(there) and repr(result) == repr(same)


def test_paths(local: Lake, remote: RemoteLake) -> None:
    mine, theirs = local.paths("towns.csv", MAYORS), remote.paths("towns.csv", MAYORS)
    told(mine.to_dict(), theirs.to_dict())
    assert theirs[0].tables == mine[0].tables
    assert theirs[0].sql() == mine[0].sql()
    # Only who has the folder of the index can run the command that a note names.
    assert repr(theirs[:1]) == repr(replace(mine, update="")[:1])
    assert "towns.csv" in repr(theirs[:1])


def test_paths_from_a_table_of_mine(local: Lake, remote: RemoteLake) -> None:
    mine, theirs = local.paths(MINE, MAYORS), remote.paths(MINE, MAYORS)
    assert [one.tables[1:] for one in theirs] == [one.tables[1:] for one in mine]
    assert [(one.rows, one.total) for one in theirs] == [(one.rows, one.total) for one in mine]


def test_what_lies_around_a_table(remote: RemoteLake) -> None:
    around = remote.graph().around("towns.csv")
    assert [one.other_table for one in around] == [MAYORS]
    assert (around.hops(), around.kept) == ([1], False)
    assert MAYORS in repr(around)
    with pytest.raises(InputError, match="no join graph"):
        remote.graph().statistics()


def test_a_copy_connects_again(remote: RemoteLake) -> None:
    with pickle.loads(pickle.dumps(remote)) as copy:
        assert copy.url == remote.url and len(copy) == len(remote)
    with pytest.raises(InputError, match="is closed"):
        copy.info()


def test_a_server_with_a_token(serving: Callable[..., AbstractContextManager[str]]) -> None:
    with serving("--token", "secret") as url:
        assert url.endswith("?token=secret")
        plain = url.partition("?")[0]
        for address, token in ((url, None), (plain, "secret")):
            with lakejoin.connect(address, token) as lake:
                assert lake.upload(MINE).to_arrow().num_rows == 4
        for token in (None, "wrong"):
            with pytest.raises(InputError, match="token=…"):
                lakejoin.connect(plain, token)
