"""Pieces of texts, and samples of the rare ones, against plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lakejoin.kernels.rare_token_samples import (
    MAX_HOLDERS,
    WHOLE_RANGE,
    find_token_holders,
    sample_text_tokens,
)
from lakejoin.kernels.text_tokens import MAX_CHARACTERS, MAX_TOKENS, cut_tokens
from lakejoin.model import string_buffers
from oracle import pieces as oracle

_parts = st.one_of(
    st.sampled_from(
        ["0", "00", "007", "1", "12", "2014", "31", "jan", "sept", "September", "may", "ab", "Ada",
         "lovelace", "antidisestablishment", "20140131", " ", "  ", "-", ".", ", ", "/", "@", "–",
         "é", "É", "ø", "ł", "ß", "日本", "日本語文字列", "ж", "e\u0301", "\u3000", "\u00a0", "🙂"]
    ),
    st.text(max_size=3),
)  # fmt: skip
_texts = st.lists(_parts, max_size=9).map("".join)


def cut_text(text: str) -> set[int]:
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    out = np.empty(MAX_TOKENS, np.uint64)
    count = cut_tokens(data, 0, len(data), np.empty(MAX_CHARACTERS, np.uint32), out)
    return set(out[:count].tolist()) - {0}


def numbers(pieces: set[oracle.Piece]) -> set[int]:
    return {oracle.number_of(piece) for piece in pieces}


@settings(max_examples=400, deadline=None)
@given(_texts)
@example("week of 31 January 2014")
@example("1-2 3.4.5-6a7")
@example("x" * 300)
@example("日" * 300)
def test_a_text_has_the_pieces_of_plain_python(text: str) -> None:
    assert cut_text(text) == numbers(oracle.pieces_of(text))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Lovelace, Ada", "ada lovelace"),
        ("ada.lovelace@example.org", "Ada Lovelace"),
        ("ID-000417", "417"),
        ("1,234,567 items", "1234567"),
        ("report of 31.01.2014", "2014-01-31"),
        ("Jan 31, 2014 was cold", "2014-01-31"),
        ("file_20140131.csv", "2014-01-31"),
        ("(555) 012-3456", "5550123456"),
        ("São Tomé", "sao-tome"),
        ("AB 012", "ab12"),
    ],
)
def test_rewritten_texts_share_a_piece(text: str, same: str) -> None:
    assert cut_text(text) & cut_text(same)


def test_single_characters_and_zeros_are_no_pieces() -> None:
    assert not cut_text("") and not cut_text("a") and not cut_text("7") and not cut_text("- 000 -")
    assert cut_text("a b") == cut_text("ab"), "but two of them are"


def sample(texts: list[str], most: int, counted: int) -> tuple[dict[int, set[int]], int]:
    """By piece the values that hold it, and the rank."""
    offsets, data = string_buffers(pa.array(texts, pa.large_string()))
    pieces, holders, limit = sample_text_tokens(offsets, data, np.arange(len(texts)), most, counted)
    held = {
        piece: {one for one in some if one >= 0}
        for piece, some in zip(pieces.tolist(), holders.tolist(), strict=True)
    }
    assert len(held) == len(pieces), "each piece once"
    return held, int(limit)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(_texts, min_size=1, max_size=30, unique=True),
    st.sampled_from([1, 5, 1000]),
    st.sampled_from([8, 64, 1 << 15]),
)
def test_a_sample_is_all_rare_pieces_up_to_its_rank(
    texts: list[str], most: int, counted: int
) -> None:
    held, limit = sample(texts, most, counted)
    rare = oracle.rare_pieces(texts)
    expected = {
        oracle.number_of(piece): {texts.index(value) for value in values}
        for piece, values in rare.items()
        if oracle.rank_of(piece) <= limit
    }
    assert held == expected
    assert len(held) <= most
    every = {piece for text in texts for piece in oracle.pieces_of(text)}
    if len(rare) <= most and len(every) <= counted // 2:
        assert limit == int(WHOLE_RANGE), "nothing is left out that has room"


def test_what_is_common_does_not_fill_the_table() -> None:
    texts = [f"number {i} of the same street" for i in range(10_000, 40_000)]
    held, limit = sample(texts, 500, 4096)
    assert len(held) == 500 and limit < int(WHOLE_RANGE)
    shared = oracle.number_of("street")
    assert shared not in held


@settings(max_examples=60, deadline=None)
@given(st.lists(_texts, min_size=1, max_size=20), st.lists(_texts, min_size=1, max_size=20))
def test_holders_are_counted_up_to_three(mine: list[str], theirs: list[str]) -> None:
    wanted = sorted({n for text in mine for n in numbers(oracle.pieces_of(text))})
    pieces = np.array(wanted, dtype=np.uint64)
    counts = np.empty(len(pieces), dtype=np.int64)
    holders = np.empty((len(pieces), MAX_HOLDERS), dtype=np.int64)
    offsets, data = string_buffers(pa.array(theirs, pa.large_string()))
    find_token_holders(offsets, data, pieces, WHOLE_RANGE, counts, holders)
    for k, piece in enumerate(wanted):
        held = [i for i, text in enumerate(theirs) if piece in numbers(oracle.pieces_of(text))]
        assert counts[k] == min(3, len(held))
        assert holders[k].tolist() == [*held[:2], -1, -1][:2]
