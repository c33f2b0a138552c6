"""Words of rows, and the agreement of rows, compared with sets and regular expressions."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.kernels.hashes import hash_strings
from lakejoin.model import ValueRules, string_buffers
from lakejoin.ranking.row_agreement import NeighbourWords, compare_words
from lakejoin.ranking.row_words import RowWords, WordSets, leave_out, read_lake_words
from lakejoin.search.query_tables import FrameTable, IndexedTable
from lakejoin.store.rows import NULL
from oracle import row_words as oracle
from oracle.lakes import PlainTable
from search.key_lakes import key_lake
from store.checked_super_keys import QUICK, segment_of, tables_to_filter

WORDS = st.sampled_from(["bern", "007", "07", "7", "70", "ulm", "zürich", "東京", "a_b", "x", "é1"])
TEXTS = st.lists(WORDS, max_size=4).map(" ".join) | st.text(max_size=6)
ROWS = st.lists(
    st.lists(TEXTS.filter(bool) | st.none(), min_size=2, max_size=2), min_size=2, max_size=8
)


def hashes(words: oracle.Words) -> list[int]:
    """The hashes of words, ascending."""
    offsets, data = string_buffers(pa.array(sorted(words), pa.large_string()))
    out = np.empty(len(words), np.uint64)
    hash_strings(offsets, data, np.uint64(0), out)
    return sorted(out.tolist())


def word_sets(rows: list[oracle.Words]) -> WordSets:
    """Sets of words as hashes."""
    lists = [hashes(words) for words in rows]
    starts = np.cumsum([0, *map(len, lists)])
    return WordSets(starts, np.array([one for row in lists for one in row], np.uint64))


def rows_of(sets: WordSets) -> list[list[int]]:
    """The hashes of each row."""
    return [
        sets.words[a:b].tolist() for a, b in zip(sets.starts[:-1], sets.starts[1:], strict=True)
    ]


def frame_table(rows: list[list[str | None]]) -> FrameTable:
    """A query table whose values are the texts as they are."""
    columns = [pa.array(list(column), pa.large_string()) for column in zip(*rows, strict=True)]
    return FrameTable(pa.table(columns, names=["a", "b"]), ValueRules())


def values_of(table: FrameTable, column: int) -> list[str | None]:
    """The canonical values of a column, row by row."""
    tokens, cells = table.cells(column)
    texts = tokens.to_pylist()
    return [texts[cell] if cell < len(texts) else None for cell in cells.tolist()]


@QUICK
@given(ROWS)
def test_words_of_query_rows(rows: list[list[str | None]]) -> None:
    table = frame_table(rows)
    cells = [values_of(table, column) for column in (0, 1)]
    for joined, others in (((), (0, 1)), ((0,), (1,)), ((0, 1), ())):
        found = RowWords(table, joined).at(np.arange(len(rows)))
        texts = [[cells[column][row] for column in others] for row in range(len(rows))]
        assert rows_of(found) == [hashes(oracle.words_of(row)) for row in texts]


@QUICK
@given(ROWS, st.data())
def test_left_out_words(rows: list[list[str | None]], data: st.DataObject) -> None:
    table = frame_table(rows)
    cells = [values_of(table, column) for column in (0, 1)]
    words = [oracle.words_of(row) for row in zip(*cells, strict=True)]
    values = [data.draw(st.lists(TEXTS, min_size=len(rows), max_size=len(rows))) for _ in range(2)]
    texts = [pa.array(column, pa.large_string()) for column in values]
    order = np.arange(len(rows))
    bare = RowWords(table, ()).at(order, leave_out(texts[:1], bare=True))
    expected = [oracle.remove_words(*row) for row in zip(words, values[0], strict=True)]
    assert rows_of(bare) == list(map(hashes, expected))
    plain = RowWords(table, ()).at(order, leave_out(texts))
    both = [oracle.split_words(a) | oracle.split_words(b) for a, b in zip(*values, strict=True)]
    assert rows_of(plain) == [hashes(row - own) for row, own in zip(words, both, strict=True)]


SETS = st.frozensets(st.sampled_from([a + b for a in "abc" for b in "xyz"]), max_size=5)


@QUICK
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.lists(st.tuples(SETS, SETS, *[SETS | st.none()] * 2), min_size=n, max_size=n)
    )
)
def test_agreement_of_rows(rows: list[tuple[oracle.Words, ...]]) -> None:
    ours, theirs, *beside = (list(column) for column in zip(*rows, strict=True))
    alone = compare_words(word_sets(ours), word_sets(theirs))
    assert alone == pytest.approx(oracle.compare_words(ours, theirs), abs=1e-9)
    usable = np.array([[words is not None for words in column] for column in beside])
    others = word_sets([words or frozenset() for column in beside for words in column])
    found = compare_words(word_sets(ours), word_sets(theirs), NeighbourWords(others, usable))
    assert found == pytest.approx(oracle.compare_words(ours, theirs, beside), abs=1e-9)


@QUICK
@given(st.lists(SETS, min_size=1, max_size=8), st.data())
def test_rows_are_taken_in_any_order(rows: list[oracle.Words], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    taken = word_sets(rows).take(np.array(order))
    assert rows_of(taken) == [hashes(rows[i]) for i in order]


@QUICK
@given(tables=tables_to_filter(), data=st.data())
def test_words_and_first_rows_of_lake_tables(tables: list[PlainTable], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segment = segment_of(folder, tables, 128)
        for table_id in range(len(tables)):
            entry = segment.catalog.table(table_id)
            if not entry.rows or not entry.width:
                continue
            rows = np.array(data.draw(st.lists(st.integers(0, entry.rows - 1), max_size=5)), int)
            columns = range(entry.first, entry.first + entry.width)
            codes = [segment.rows.codes(column, entry.rows) for column in columns]
            read = segment.rows.codes_at(np.array(columns), rows, entry.rows)
            assert read.tolist() == [column[rows].tolist() for column in codes]
            texts = [
                [
                    segment.dictionary.texts.take(column[[row]])[0].as_py()
                    for column in codes
                    if column[row] != NULL
                ]
                for row in rows.tolist()
            ]
            found = read_lake_words(segment, entry, (), rows)
            assert rows_of(found) == [hashes(oracle.words_of(row)) for row in texts]
            for column, held in zip(columns, codes, strict=True):
                wanted = [*np.unique(held[held != NULL]).tolist()[::-1], len(segment.dictionary)]
                first = segment.rows.first_rows(column, np.array(wanted, np.uint32), entry.rows)
                expected = [next(iter(np.flatnonzero(held == code)), -1) for code in wanted]
                assert first.tolist() == expected


@QUICK
@given(ROWS)
def test_first_rows_of_query_values(rows: list[list[str | None]]) -> None:
    table = frame_table(rows)
    query = table.query(0)
    values = values_of(table, 0)
    assert table.first_rows(0, query).tolist() == [
        values.index(token) for token in query.tokens.to_pylist()
    ]


def test_a_table_of_the_index_gives_the_texts_that_a_frame_gives(tmp_path: Path) -> None:
    table = PlainTable(
        "t.csv", {"a": ["Bern", "bern ", None, "07"], "b": ["x y", "zz", "zz", None]}
    )
    lake = key_lake(tmp_path, [table])
    indexed = IndexedTable(lake.snapshot, 0, lake.snapshot.segments[0].catalog.table(0))
    frame = FrameTable(pa.table(dict(table.columns)), ValueRules())
    rows = np.array([3, 0, 2])
    for joined in ((), (0,), (1,)):
        found = [rows_of(RowWords(own, joined).at(rows)) for own in (indexed, frame)]
        assert found[0] == found[1]
    for column in (0, 1):
        first = [own.first_rows(column, own.query(column)) for own in (indexed, frame)]
        named = [own.query(column).tokens.to_pylist() for own in (indexed, frame)]
        assert dict(zip(named[0], first[0].tolist(), strict=True)) == dict(
            zip(named[1], first[1].tolist(), strict=True)
        )
