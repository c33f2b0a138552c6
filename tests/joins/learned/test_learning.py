"""Programs from examples: searched for with numbers, against a plain search over texts."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lakejoin.joins.learned.program_learner import Learner, ProgramStep, fewest_substrings
from lakejoin.joins.learned.substrings import examples_of, fold_case
from oracle import learned as oracle

WORDS = ("Ann", "Bo", "anna", "O'Neil", "de la", "Éa", "ßx", "a_b", "x--y", "İz", "Dr. Mary", "a,b")
NUMBERS = ("7", "0", "07", "0042", "1999", "12", "1,204", "", "3")
DAYS = ("5 March", "12 June", "jan 3", "Sept. 09")
SEPARATORS = (" ", ", ", " - ", ";", "_", "--", "/", " (", "")

words = st.sampled_from(WORDS)
texts = st.builds(
    "".join,
    st.lists(st.one_of(words, st.sampled_from(NUMBERS), st.sampled_from(SEPARATORS)), max_size=5),
)


def learn(
    columns: dict[str, list[str | None]], targets: list[str]
) -> tuple[ProgramStep, ...] | None:
    """The steps that make each target from its row, or None if no short program does."""
    learner = Learner(examples_of(columns, targets))
    rows, every = np.arange(len(targets)), np.arange(len(columns))
    return learner.steps(rows, every) if learner.possible(rows[None, :], every).all() else None


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[str | None]], list[str]]:
    """Rows of like structure, and targets that parts of them make, with a slip now and then."""
    rows = draw(st.integers(1, 4))
    one, two = draw(st.sampled_from(SEPARATORS)), draw(st.sampled_from(SEPARATORS))
    first = draw(st.lists(words, min_size=rows, max_size=rows))
    last = draw(st.lists(st.one_of(words, st.sampled_from(DAYS)), min_size=rows, max_size=rows))
    number = draw(st.lists(st.sampled_from(NUMBERS), min_size=rows, max_size=rows))
    columns: dict[str, list[str | None]] = {
        "a": [f + one + m + two + n for f, m, n in zip(first, last, number, strict=True)],
        "b": [n or None for n in number],
    }
    size, way = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    glue = draw(st.sampled_from(SEPARATORS))
    targets = []
    for f, m, n in zip(first, last, number, strict=True):
        slipped = draw(st.integers(0, 19)) == 0
        ways = (
            f"{m[:size]}{glue}{f}",
            f"{f[0]}{glue}{n.rjust(size, '0')}",
            f"{m.replace(' ', '-')}{glue}x",
            f"{n.lstrip('0')}{glue}{m[-2:]}{f[1:]}",
        )
        targets.append(ways[0 if slipped else way])
    return columns, targets


@settings(max_examples=300, deadline=None)
@given(tables())
@example(({"a": ["5 March 1999", "12 June 2001"]}, ["1999-03-05", "2001-06-12"]))
@example(({"a": ["Ann Lee (1)", "Bo Ek (2)"], "b": ["x", None]}, ["Lee, Ann", "Ek, Bo"]))
@example(({"a": ["ab", "ab"]}, ["", "ab"]))
def test_learns_what_the_plain_search_learns(
    table: tuple[dict[str, list[str | None]], list[str]],
) -> None:
    columns, targets = table
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert learn(columns, targets) == oracle.learn(rows, targets, list(columns))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=4))
def test_any_texts(rows: list[tuple[str, str, str]]) -> None:
    columns: dict[str, list[str | None]] = {
        "a": [row[0] or None for row in rows],
        "b": [row[1] or None for row in rows],
    }
    targets = [row[2] for row in rows]
    plain = [{"a": row[0] or None, "b": row[1] or None} for row in rows]
    assert learn(columns, targets) == oracle.learn(plain, targets, ["a", "b"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_stretches_are_as_few_as_can_be(rows: list[tuple[str, str]]) -> None:
    found = fewest_substrings(
        examples_of({"a": [row[0] for row in rows]}, [row[1] for row in rows])
    )
    for i, (text, target) in enumerate(rows):
        store = [fold_case(text), fold_case(rows[i - 1][1])]
        assert found[i] == oracle.stretches(fold_case(target), store)
