"""The rarest shared stretches against counting every substring."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.kernels.shared_substrings import (
    compute_common_prefixes,
    find_rarest_substrings,
    join_texts,
)
from lakejoin.values.text_arrays import text_buffers

texts = st.lists(st.text("abä世", max_size=7), min_size=1, max_size=6, unique=True)


def occurrences(column: list[str]) -> Counter[str]:
    return Counter(t[i:j] for t in column for i in range(len(t)) for j in range(i + 1, len(t) + 1))


def brute_force(first: list[str], second: list[str], shortest: int) -> list[tuple[int, int]]:
    """(n * m, bytes) of the best stretch of each text; (0, 0) for none."""
    n, m = occurrences(first), occurrences(second)
    found = []
    for text in first:
        best = (0, 0)
        for i in range(len(text)):
            ends = [j for j in range(i + 1, len(text) + 1) if m[text[i:j]]]
            if not ends:
                continue
            stretch = text[i : max(ends)]
            size, product = len(stretch.encode()), n[stretch] * m[stretch]
            if size >= shortest and (not best[0] or (product, -size) < (best[0], -best[1])):
                best = product, size
        found.append(best)
    return found


@settings(max_examples=300, deadline=None)
@given(texts, texts, st.integers(1, 4))
def test_the_best_stretch_of_each_text(first: list[str], second: list[str], shortest: int) -> None:
    from pydivsufsort import divsufsort

    one, two = (text_buffers(pa.array(side, pa.large_string())) for side in (first, second))
    data, owner = join_texts(one.offsets, one.data, two.offsets, two.data)
    sa = divsufsort(data)
    common = compute_common_prefixes(data, sa)
    bounds = np.array((9, shortest))
    best = find_rarest_substrings(data, sa, common, owner, len(first), bounds)
    product, length, begin, end = (each[1] for each in best)
    expected = brute_force(first, second, shortest)
    assert list(zip(product.tolist(), length.tolist(), strict=True)) == expected
    for text in np.flatnonzero(product):
        places = sa[begin[text] : end[text]]
        stretch = first_stretch(data, places[0], int(length[text]))
        assert {first_stretch(data, place, len(stretch)) for place in places} == {stretch}
        mine = np.count_nonzero(owner[places] < len(first))
        assert mine * (len(places) - mine) == product[text]
        assert text in owner[places]


def first_stretch(data: np.ndarray, place: int, length: int) -> bytes:
    return data[place : place + length].tobytes()
