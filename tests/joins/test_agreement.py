"""Other columns that agree join rows left over, and tell rows with the same key apart."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.codegen.programs import Extract, Program, identity
from lakejoin.joins.agreement_matcher import match_agreeing, refine_keys
from lakejoin.joins.agreements import NO_TEXT, Reader, find_agreements
from lakejoin.joins.join import Join
from lakejoin.joins.join_finder import join_tables
from lakejoin.joins.join_key import JoinKey, JoinTask, KeyRefinement
from lakejoin.joins.options import JoinOptions
from lakejoin.joins.row_keys import NO_KEY
from lakejoin.joins.value_matchers import match_columns
from oracle.programs import in_python, texts

FIRST = ("Ada", "Alan", "Grace", "Edsger", "Donald", "Barbara", "John", "Frances", "Ken", "Tony")
LAST = ("Moor", "Hill", "Stone", "Field", "Brook", "Marsh", "Wood", "Lake", "Heath", "Dale", "Ford")


def people(count: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    both = [f"{first} {last}" for first in FIRST for last in LAST]
    return rng.sample(both, count)


def tables(rows: int = 60, off: int = 6) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Terms that differ in a few rows, and names that agree."""
    names = people(rows)
    terms = [f"{1800 + 3 * n}-{1803 + 3 * n}" for n in range(rows)]
    other = [f"{1700 - n}-{1701 - n}" if n < off else term for n, term in enumerate(terms)]
    left = {"name": [f"Gov. {name}" for name in names], "term": terms}
    right = {"who": [f"{name} ({n})" for n, name in enumerate(names)], "years": other}
    return left, right


def by_terms(left: Any, right: Any) -> tuple[JoinTask, JoinKey]:
    """Rows that met by their terms, as if these had been rewritten."""
    task = JoinTask(pa.table(left), pa.table(right), JoinOptions(by="auto"), lambda doing: None)
    found = match_columns(task, (("term", "years"),), 1.0, "")
    return task, replace(found, key_rules=(replace(found.key_rules[0], kind="transform"),))


def pairs(found: JoinKey) -> set[tuple[int, int]]:
    keys = found.keys
    return {
        (i, j) for i, a in enumerate(keys.left) for j, b in enumerate(keys.right) if a == b != -1
    }


def test_rows_left_over_join_by_names_that_agree() -> None:
    task, found = by_terms(*tables())
    assert len(pairs(found)) == 54
    more = match_agreeing(task, found)
    assert more is not None and pairs(more) == {(n, n) for n in range(60)}
    way = more.key_rules[1]
    assert way.kind == "agreeing" and way.words == 'split(name, ".")[1] = split(who, " (")[0]'
    assert way.sure > 0.9 and "would by chance" in way.why


def test_a_join_tells_what_agrees_and_its_code_makes_the_same_rows() -> None:
    left, right = tables()
    right["years"] = [years.replace("-", " to ") for years in right["years"]]
    join = join_tables(pa.table(left), pa.table(right), JoinOptions(by="auto"))
    assert len(join) == 60
    assert {step.kind for step in join.steps} <= {"equal", "transform", "agreeing", "fuzzy"}
    names: dict[str, Any] = {}
    exec(join.to_polars_code(), names)
    pl = pytest.importorskip("polars")
    made = names["join"](pl.DataFrame(left), pl.DataFrame(right))
    assert made.rows() == [tuple(row.values()) for row in join.table().to_pylist()]


def test_rows_with_keys_that_contradict_do_not_join() -> None:
    """Equal keys met: who has another key is another person of that name."""
    left, right = tables()
    task = JoinTask(pa.table(left), pa.table(right), JoinOptions(by="auto"), lambda doing: None)
    found = match_columns(task, (("term", "years"),), 1.0, "")
    assert match_agreeing(task, found) is found


def test_references_keep_the_row_that_they_name() -> None:
    """Some orders are shipped twice: the second shipment, on another day, is one of the order."""
    names = people(60)
    days = [f"day {n}" for n in range(60)]
    left = {"term": names, "day": days}
    right = {"years": [*names, *names[:5]], "shipped": [*days, *["later"] * 5]}
    task, found = by_terms(left, right)
    assert refine_keys(task, found) is found and len(pairs(found)) == 65


def test_names_of_others_do_not_join() -> None:
    left, right = tables()
    strangers = people(12, seed=9)
    right["who"] = [f"{a} ({n})" for n, a in enumerate(strangers[:6])] + right["who"][6:]
    task, found = by_terms(left, right)
    more = match_agreeing(task, found)
    same = {n for n in range(6) if left["name"][n] == f"Gov. {strangers[n]}"}
    assert more is not None and {pair for pair in pairs(more) if pair[0] < 6} == {
        (n, n) for n in same
    }


def test_what_many_rows_share_joins_nothing() -> None:
    """A party agrees in all rows that met, and in many that do not belong together."""
    left, right = tables()
    party = [("red", "blue", "green", "white")[n % 4] for n in range(60)]
    mine, theirs = {"term": left["term"], "party": party}, {"years": right["years"], "of": party}
    task, found = by_terms(mine, theirs)
    assert find_agreements(task, found)[0].share == 1.0
    assert match_agreeing(task, found) is found


def test_row_numbers_join_nothing() -> None:
    """They agree in all rows that met, and so would any others."""
    left, right = tables()
    numbers = [str(n) for n in range(60)]
    task, found = by_terms(
        {"term": left["term"], "no": numbers}, {"years": right["years"], "row": numbers}
    )
    assert find_agreements(task, found)[0].share == 1.0
    assert match_agreeing(task, found) is found


def test_a_value_that_means_two_rows_joins_none() -> None:
    left, right = tables()
    left["name"][1] = left["name"][0]
    task, found = by_terms(left, right)
    more = match_agreeing(task, found)
    assert more is not None and {i for i, _ in pairs(more)} == set(range(2, 60))


def test_columns_that_are_given_are_all_that_is_joined() -> None:
    left, right = tables()
    join = lakejoin.join(left, right, on="term=years", by="auto")
    assert [step.kind for step in join.steps if step.kind == "agreeing"] == []


def test_rows_with_the_same_key_are_told_apart() -> None:
    names = people(40)
    names[7] = names[3]
    left = {"term": names, "no": [str(n) for n in range(40)]}
    right = {"years": names, "of": [f"{n}. of all" for n in range(40)]}
    task, found = by_terms(left, right)
    assert len(pairs(found)) == 42
    told = refine_keys(task, found)
    assert match_agreeing(task, found) is found
    assert pairs(told) == {(n, n) for n in range(40)}
    assert task.notes == [
        'rows that share a key must also match on no = split(of, ".")[0]: they agree in 100% of 38 '
        "matching rows, which rules out 2 pairs of rows that share a key"
    ]
    assert (
        'must also match on no = split(of, ".")[0]'
        in Join(task.left, task.right, JoinOptions(), told).to_sql()
    )
    named = lakejoin.join(left, right, on="term=years", by="auto")
    assert len(named) == 42  # columns that are given are all that is compared


def test_rows_of_one_key_are_all_kept_where_one_agrees_with_none() -> None:
    names = people(40)
    names[7] = names[3]
    left = {"term": names, "no": [str(n) for n in range(40)]}
    right = {"years": names, "no": [str(n) if n != 7 else "99" for n in range(40)]}
    left["no"][7] = "98"
    task, found = by_terms(left, right)
    assert refine_keys(task, found) is found


def test_a_table_with_several_rows_for_many_keys_is_not_thinned() -> None:
    """Orders of a customer stay, also those that went to another town."""
    names, towns = people(30), people(30, seed=5)
    left = {"term": names, "town": towns}
    orders = [(name, town) for name, town in zip(names, towns, strict=True) for _ in range(3)]
    orders[4] = (orders[4][0], "elsewhere")
    right = {"years": [name for name, _ in orders], "to": [town for _, town in orders]}
    task, found = by_terms(left, right)
    assert len(pairs(refine_keys(task, found))) == 90


codes = st.lists(st.integers(-1, 3), min_size=1, max_size=7)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_finer_keys_are_the_keys_that_also_agree(data: Any) -> None:
    mine, theirs = data.draw(codes), data.draw(codes)
    values = [data.draw(st.lists(st.integers(-1, 2), min_size=len(k), max_size=len(k)))
              for k in (mine, theirs)]  # fmt: skip
    split = data.draw(st.lists(st.booleans(), min_size=4, max_size=4))
    told = KeyRefinement(
        identity("a"), identity("b"), np.array(split), np.array(values[0]), np.array(values[1])
    )
    left, right, count = told.keys_of(np.array(mine), np.array(theirs), 4)
    assert max([*left, *right]) < count
    for i, key in enumerate(mine):
        for j, other in enumerate(theirs):
            agree = values[0][i] == values[1][j] != NO_KEY
            meet = key == other != NO_KEY and (agree or not split[key])
            assert (left[i] == right[j] != NO_KEY) == meet


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), texts), min_size=1, max_size=5))
def test_readings_are_what_programs_give(cells: list[str | None]) -> None:
    reader = Reader()
    parts, numbers = reader.read("a", cells)
    known = {number: text for text, number in reader._codes.items()}
    assert parts[:1] == [Extract("a")] or not any(c and c.strip() for c in cells)
    for part, row in zip(parts, numbers.tolist(), strict=True):
        made = [in_python(Program((part,)), {"a": cell}) for cell in cells]
        plain = [(text or "").strip().lower() for text in made]
        assert [known.get(number, "") if number != NO_TEXT else "" for number in row] == plain
