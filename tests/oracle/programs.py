"""Random programs and random columns, and what a program means in plain Python."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from lakejoin.codegen.arrow_programs import CONTESTED
from lakejoin.codegen.programs import (
    Casing,
    Constant,
    Extract,
    Form,
    Operator,
    Program,
    Runs,
    merge_constants,
    rewrite_text,
    slice_bounds,
)

COLUMNS = ("a", "b.c", 'x "y`z')
contested = re.compile(CONTESTED)

# Separators and letters meet often; some characters are wide, odd or special to a language.
_letters = st.sampled_from("abAB,; .|'\"\\$%({[^+*?äÉЖ世😀\u0301\t")
_any = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0").filter(
    lambda c: not contested.match(c)
)
_words = st.sampled_from(
    [
        "007",
        "1,234.5",
        "Dr. A",
        "Smith Jr.",
        "x, Inc",
        "March",
        "sep",
        "3",
        "12",
        " John F. Kay",
        "0\n",
    ]
)
texts = st.one_of(
    st.text(st.one_of(_letters, _letters, _any), max_size=9),
    st.lists(st.one_of(_words, _letters), max_size=3).map("".join),
)
cells = st.one_of(st.none(), texts)
separators = st.one_of(
    st.sampled_from([",", " ", ", ", ".", "|", "\\", "'", "(", "aa", "世", "$", "\\E"]),
    st.text(_letters, min_size=1, max_size=2),
)
splits = st.tuples(st.one_of(separators, st.sampled_from(Runs)), st.integers(-3, 3))


@st.composite
def extracts(draw: Any) -> Extract:
    drop = draw(st.sampled_from([0, 0, 0, 1, 3]))
    return Extract(
        draw(st.sampled_from(COLUMNS)),
        tuple(draw(st.lists(splits, max_size=2))),
        draw(st.integers(0 if drop else -4, 4)),
        None if drop else draw(st.one_of(st.none(), st.integers(0, 5))),
        drop,
        draw(st.one_of(st.just(Form.SAME), st.sampled_from(Form))),
        draw(st.sampled_from([0, 0, 0, 2, 5])),
        draw(st.sampled_from(Casing)),
    )


operators: st.SearchStrategy[Operator] = st.one_of(
    extracts(), extracts(), st.builds(Constant, texts)
)


@st.composite
def programs(draw: Any) -> Program:
    found = draw(st.lists(operators, max_size=3))
    found.insert(draw(st.integers(0, len(found))), draw(extracts()))
    return merge_constants(found)


@st.composite
def tables(draw: Any, max_rows: int = 8) -> pa.Table:
    rows = draw(st.lists(st.tuples(cells, cells, cells), max_size=max_rows))
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(3)]
    return pa.table(columns, names=list(COLUMNS))


def in_python(program: Program, row: dict[str, str | None]) -> str | None:
    """What the program gives for one row, by Python's own texts."""
    result = ""
    for operator in program.operators:
        text = operator.text if isinstance(operator, Constant) else _extracted(operator, row)
        if text is None:
            return None
        result += text
    return result


def _extracted(part: Extract, row: dict[str, str | None]) -> str | None:
    text = row[part.column]
    for separator, piece in part.splits:
        if text is None:
            return None
        pieces = (
            re.findall(separator.inside, text)
            if isinstance(separator, Runs)
            else text.split(separator)
        )
        text = pieces[piece] if -len(pieces) <= piece < len(pieces) else None
    if text is None:
        return None
    start, stop = slice_bounds(part)
    text = rewrite_text(text[start:stop], part.form)
    if text is None:
        return None
    text = text.rjust(part.width, "0")
    if part.casing is Casing.LOWER:
        return text.lower()
    return text.upper() if part.casing is Casing.UPPER else text
