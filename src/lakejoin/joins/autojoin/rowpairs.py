"""Which rows may join? Those that share a stretch of text which is rare in both columns.

A stretch that occurs n times in the one column and m times in the other makes a pair of rows that
joins with a chance of about 1/(n*m) (thesis, section 4.4.1). One suffix array over both columns
tells, in one scan, the best stretch of every text of the source.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import MissingPart
from lakejoin.lake.texts import text_buffers

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

SHORTEST = 3  # of a stretch: shorter ones are everywhere
_THREADS = "OMP_NUM_THREADS"
LONGEST_TEXT = 2000  # characters of a text that are looked at: what is longer is no key


@dataclass(frozen=True, slots=True)
class RowPair:
    """Two rows that may join, and the chance that they do by the stretch that they share."""

    source: int
    target: int
    score: float
    shared: float  # the share of the target's text that the stretch makes up


def row_pairs(
    source: pa.Array, target: pa.Array, most: int = 100, shortest: int = SHORTEST
) -> list[RowPair]:
    """The best pairs of rows of two columns of text, best first, each distinct text once.

    Case makes no difference. Pairs of less than a chance of 1/16 are left out.

    >>> import pyarrow as pa
    >>> votes = pa.array(["Barack Obama", "George W. Bush", "Bill Clinton"])
    >>> ratings = pa.array(["Clinton, Bill(1946-)", "Obama, Barack(1961-)", None])
    >>> [(pair.source, pair.target, pair.score) for pair in row_pairs(votes, ratings)]
    [(2, 0, 1.0), (0, 1, 1.0)]
    """
    mine, my_rows = _distinct(source)
    theirs, their_rows = _distinct(target)
    if not len(mine) or not len(theirs):
        return []
    found = _matches(mine, theirs, shortest)
    sizes = np.diff(text_buffers(theirs).offsets)
    pairs: list[RowPair] = []
    seen: set[tuple[int, int]] = set()
    for text in found.best_first():
        score = 1.0 / float(found.product[text])
        for other in found.partners(text):
            if (text, other) not in seen:
                seen.add((text, other))
                share = float(found.length[text]) / float(sizes[other])
                rows = int(my_rows[text]), int(their_rows[other])
                pairs.append(RowPair(*rows, score, share))
        if len(pairs) >= most:
            break
    return sorted(pairs, key=lambda p: (-p.score, -p.shared, p.source, p.target))[:most]


def row_pairs_of_several(source: pa.Table, target: pa.Array, most: int = 60) -> list[RowPair]:
    """Pairs of rows that only several columns together tell, from evenly spread source rows.

    Each column's best stretch occurs in m of N target texts, and speaks for them with log(N/m),
    less where it is only a part of the column's text. A row's partner is the target with the most
    in its favour, if it is alone in that and two columns or more speak for it.

    >>> import pyarrow as pa
    >>> source = pa.table({"hour": ["07", "07", "19"], "minute": ["30", "45", "30"]})
    >>> pairs = row_pairs_of_several(source, pa.array(["19:30", "07:30", "07:45"]))
    >>> [(pair.source, pair.target) for pair in pairs]
    [(0, 1), (1, 2), (2, 0)]
    """
    theirs, their_rows = _distinct(target)
    if not len(theirs) or not source.num_rows:
        return []
    rows = np.unique(np.linspace(0, source.num_rows - 1, most).astype(np.int64))
    speakers = [_speaker(column.combine_chunks(), theirs, rows) for column in source.columns]
    pairs: list[RowPair] = []
    for i, row in enumerate(rows):
        favour, spoken = np.zeros(len(theirs)), np.zeros(len(theirs), np.int64)
        for found, sizes, texts in speakers:
            if texts[i] < 0:
                continue
            partners = found.partners(texts[i])
            part = float(found.length[texts[i]]) / float(sizes[texts[i]])
            favour[partners] += part * np.log(len(theirs) / max(1, len(partners)))
            spoken[partners] += 1
        best = int(favour.argmax())
        alone = np.count_nonzero(favour >= favour[best] - 1e-9) == 1
        if alone and spoken[best] >= 2:
            pairs.append(RowPair(int(row), int(their_rows[best]), 1.0, 1.0))
    return pairs


def _speaker(column: pa.Array, theirs: pa.Array, rows: Array) -> tuple[_Matches, Array, list[int]]:
    """A column's stretches of two bytes or more, its texts' sizes, and the text of each row."""
    mine, _ = _distinct(column)
    sizes = np.diff(text_buffers(mine).offsets)
    return _matches(mine, theirs, 2), sizes, _texts_of(column, mine, rows)


def _texts_of(column: pa.Array, texts: pa.LargeStringArray, rows: Array) -> list[int]:
    """The number of each row's text among the distinct ones, -1 for none."""
    import pyarrow.compute as pc

    places = pc.index_in(_lower(column.take(rows)), value_set=texts).fill_null(-1)
    return [int(place) for place in places.to_pylist()]


@dataclass(frozen=True, slots=True, eq=False)
class _Matches:
    """The best stretch of every text of the source, as places in the sorted suffixes."""

    product: Array
    length: Array
    begin: Array
    end: Array
    owner: Array  # of the sorted suffixes

    def best_first(self) -> list[int]:
        """The texts that share a rare stretch, the rarest and then the longest first."""
        texts = np.flatnonzero((self.product > 0) & (self.product <= 16))
        order = np.lexsort((texts, -self.length[texts], self.product[texts]))
        return [int(text) for text in texts[order]]

    def partners(self, text: int) -> list[int]:
        """The texts of the target that hold its stretch."""
        first = len(self.product)
        owners = self.owner[self.begin[text] : self.end[text]]
        return [int(o) - first for o in np.unique(owners[owners >= first])]


def _matches(source: pa.LargeStringArray, target: pa.LargeStringArray, shortest: int) -> _Matches:
    from lakejoin.kernels.suffixes import best_matches, common_prefixes, joined_texts

    one, two = text_buffers(source), text_buffers(target)
    data, owner = joined_texts(one.offsets, one.data, two.offsets, two.data)
    sa = _suffix_array(data)
    common = common_prefixes(data, sa)
    best = best_matches(data, sa, common, owner, len(source), shortest)
    return _Matches(*best, owner[sa])


def _suffix_array(data: Array) -> Array:
    return np.asarray(_divsufsort()(data), np.int32)


@cache
def _divsufsort() -> Callable[[Array], Array]:
    """The function that sorts suffixes, on one thread.

    Its threads gain nothing on any size of ours, and starting them takes 16 ms where a small
    column takes 0.2. How many there are is read from the environment when the library is loaded.
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        from pydivsufsort import divsufsort
    except ImportError as error:
        raise MissingPart(
            "learning how tables join needs pydivsufsort: pip install 'lakejoin[join]'"
        ) from error
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
    found: Callable[[Array], Array] = divsufsort
    return found


def _distinct(column: pa.Array) -> tuple[pa.LargeStringArray, Array]:
    """The distinct texts in lower case, and the first row that holds each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = _lower(column).dictionary_encode()
    numbers = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    numbers, rows = np.unique(numbers, return_index=True)
    keep = numbers >= 0
    texts = coded.dictionary.take(pa.array(numbers[keep]))
    rows = rows[keep]
    filled = pc.greater(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    return texts.filter(pa.array(filled)), rows[filled]


def _lower(column: pa.Array) -> pa.LargeStringArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    lower = pc.utf8_lower(column.cast(pa.large_string()))
    return pc.utf8_slice_codeunits(lower, 0, LONGEST_TEXT)
