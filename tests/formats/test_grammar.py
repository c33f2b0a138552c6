"""The tokenizer against the character-by-character oracle, whole and block by block."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.formats.delimited.grammar import (
    Grammar,
    cells_of,
    quotes_are_regular,
    sample_records,
    tokenize,
)
from lakejoin.model import Dialect
from oracle.delimited import records

MESSY = st.text(alphabet='ab1 ,"\n\ré', max_size=60)
CELL = st.text(alphabet='ab1,;"\n\ré ', max_size=6)
TABLE = st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=8)


def tokenized(data: bytes, grammar: Grammar, block: int) -> list[list[str]]:
    """All records, with the text handed over in blocks of a few bytes."""
    rows: list[list[str]] = []
    carry = b""
    for start in range(0, len(data) + block, block):
        final = start + block >= len(data)
        carry += data[start : start + block]
        tokens = tokenize(carry, grammar, final)
        rows += [cells_of(tokens, row, grammar) for row in range(tokens.rows)]
        carry = carry[tokens.used :]
        if final:
            break
    assert carry == b""
    return rows


@settings(max_examples=400, deadline=None)
@given(MESSY, st.integers(1, 80))
def test_tokens_are_the_oracles(text: str, block: int) -> None:
    grammar = Grammar.of(Dialect())
    expected = records(text)
    assert tokenized(text.encode(), grammar, 1000) == expected
    assert tokenized(text.encode(), grammar, block) == expected


@settings(max_examples=200, deadline=None)
@given(TABLE, st.sampled_from(["\n", "\r\n"]), st.sampled_from(",;|\t"))
def test_what_the_csv_module_writes_is_read_back(
    table: list[list[str]], newline: str, delimiter: str
) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(
        table
    )
    data = out.getvalue().encode()
    grammar = Grammar.of(Dialect(delimiter=delimiter))
    assert quotes_are_regular(np.frombuffer(data, np.uint8), grammar)
    assert tokenized(data, grammar, 7) == table


@settings(max_examples=200, deadline=None)
@given(MESSY)
def test_regular_text_is_what_the_csv_module_reads(text: str) -> None:
    grammar = Grammar.of(Dialect())
    data = np.frombuffer(text.encode(), np.uint8)
    if "\r" in text or not quotes_are_regular(data, grammar) or text.count('"') % 2:
        return
    assert [row or [""] for row in csv.reader(io.StringIO(text, newline=""))] == records(text)


@pytest.mark.parametrize(
    ("text", "dialect", "rows"),
    [
        ("a::b\n1::2\n", Dialect(delimiter="::"), [["a", "b"], ["1", "2"]]),
        ("a, b\n1,  2\n", Dialect(delimiter=", "), [["a", "b"], ["1", "2"]]),
        ('a, "b, c"\n', Dialect(delimiter=", "), [["a", "b, c"]]),
        ("  a   b \n 1 2\n", Dialect(delimiter=" +"), [["a", "b"], ["1", "2"]]),
        ("a,b\r1,2\r", Dialect(newline="\r"), [["a", "b"], ["1", "2"]]),
        ('a,"b\\"c"\n', Dialect(escape="\\"), [["a", 'b"c']]),
        ("a,b\\,c\n", Dialect(escape="\\"), [["a", "b,c"]]),
        ("a,'b,c'\n", Dialect(quote="'"), [["a", "b,c"]]),
        ('a,"b\n', Dialect(quote=""), [["a", '"b']]),
        ("a§b\n", Dialect(delimiter="§"), [["a", "b"]]),
        ("1,2\r\r\n3,4\r\r\n", Dialect(), [["1", "2"], ["3", "4"]]),
    ],
)
def test_other_grammars(text: str, dialect: Dialect, rows: list[list[str]]) -> None:
    for block in (1, 3, 1000):
        assert tokenized(text.encode(), Grammar.of(dialect), block) == rows


def test_a_quote_that_never_closes_is_text() -> None:
    rows = records('1,"x,2\n3,"y",4\n')
    assert rows == [["1", '"x', "2"], ["3", "y", "4"]]
    assert tokenized(b'1,"x,2\n3,"y",4\n', Grammar.of(Dialect()), 5) == rows


def test_sample_offsets_point_at_records() -> None:
    text = 'é,"x\ny"\n\n1,2\n'
    sample = sample_records(text, Dialect())
    assert sample.rows == [["é", "x\ny"], [], ["1", "2"]]
    assert [text.encode()[at:][:1] for at in sample.offsets[:-1]] == ["é".encode()[:1], b"\n", b"1"]
