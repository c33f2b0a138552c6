"""Write joins of files and registered tables as DuckDB SQL, on equal texts or through a list of
matching pairs; and count what a join on equal texts would match."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.sql_query import SqlQuery, SqlTable, name_values
from lakejoin.engines.query import DELIMITED, NO_CELL, ColumnSpellings, QueryTable, TableOrigin
from lakejoin.model import Array, ValueRules
from lakejoin.quoting import list_literals, quote_identifier, quote_literal
from lakejoin.values.canonical_values import LETTER_NULLS, SIGN_NULLS, SURE_NULLS
from lakejoin.values.column_names import make_names_unique

BothSides = tuple[Array, Array]  # of the left and of the right side

# What DuckDB's `trim` removes: Unicode separators, but no tabs or line ends.
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if unicodedata.category(c) == "Zs")
# What DuckDB calls the charsets that it reads like lakejoin.
_CHARSETS = {"utf-8": "utf-8", "ascii": "utf-8", "utf-8-sig": "utf-8", "latin-1": "latin-1"}
_READABLE = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".gz", ".zst")
_MAX_COLUMNS = 500  # in a query


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table of a query: DuckDB reads its file, or else it is `registered` under this name.

    `is_text` says whether a column is stored as text in its source.
    """

    alias: str
    registered: str
    name: str
    column_names: Sequence[str]
    origin: TableOrigin
    in_index: bool
    is_text: Callable[[int], bool]

    @classmethod
    def of(cls, alias: str, registered: str, table: QueryTable) -> FileTable:
        """A table that can be searched for."""
        facts = table.name, table.column_names, table.origin, table.home is not None, table.is_text
        return cls(alias, registered, *facts)

    @cached_property
    def names(self) -> list[str]:
        """The column names, unique even if case is ignored, as DuckDB does."""
        return make_names_unique(self.column_names, alike=str.lower)

    @cached_property
    def reader(self) -> str:
        """The call that reads the file; empty if DuckDB cannot read it like lakejoin."""
        return reader_call(self.origin, self.names)

    @property
    def rows(self) -> str:
        """Python code for the rows, to register them."""
        if self.in_index:
            return f"lake.table({self.name!r}).to_arrow()"
        return f"lakejoin.read({self.name!r}).to_arrow()" if self.origin.format else self.name

    @property
    def register(self) -> str:
        """Python code to run before the query; empty if DuckDB reads the file."""
        return "" if self.reader else f"con.register({self.registered!r}, {self.rows})"

    def joined(self, *on: str) -> SqlTable:
        """The table in the query, joined on these conditions."""
        renamed = self.names != list(self.column_names)
        source = self.reader or self.registered
        return SqlTable(source, self.alias, on, names=self.names if renamed else ())

    def cell(self, column: int, fold: bool = False) -> str:
        """A cell as text: as written, or trimmed and in lower case."""
        cell = f"{self.alias}.{quote_identifier(self.names[column])}"
        # A table of the index that is registered is all text.
        if not ((self.in_index and not self.reader) or self.is_text(column)):
            # The shortest text of a number or timestamp, as in the index.
            cell = f"regexp_replace(CAST({cell} AS VARCHAR), '(\\.0| 00:00:00)$', '')"
        return f"lower(trim({cell}))" if fold else cell


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPair:
    """Two columns that must be equal."""

    left: ColumnSpellings
    right: ColumnSpellings


@dataclass(frozen=True, slots=True, eq=False)
class EqualColumns:
    """A column of a table that equals a column of the next table, and how both spell it."""

    left: int
    right: int
    spellings: ColumnPair


def write_equality_joins(
    tables: Sequence[FileTable],
    joins: Iterable[Sequence[EqualColumns]],
    rules: ValueRules,
    comments: Sequence[str],
) -> str:
    """DuckDB SQL for the inner joins of each table with the next one.

    A join compares texts as written if all shared values are spelled the same on both sides,
    otherwise trimmed and in lower case; a comment says how many shared values that joins, if not
    all. Each column of a composite key is treated separately.
    """
    joined, not_null, notes = [tables[0].joined()], [], list(comments)
    for left, right, columns in zip(tables[:-1], tables[1:], joins, strict=True):
        parts = [pair.spellings for pair in columns]
        folds = [False] * len(parts)
        count = count_equality_join(parts, folds)
        if rules.fold and not count.exact:
            folds = [not count_equality_join([part], [False]).exact for part in parts]
            count = count_equality_join(parts, folds)
        notes += count.notes()
        equal = (
            f"{left.cell(pair.left, fold)} = {right.cell(pair.right, fold)}"
            for pair, fold in zip(columns, folds, strict=True)
        )
        joined.append(right.joined(*equal))
        # Texts that stand for a missing value must not match each other.
        not_null += [
            f"{left.cell(pair.left, rules.fold)} NOT IN ({list_literals(words)})"
            for pair in columns
            if (words := find_null_words(rules, pair.spellings))
        ]
    return SqlQuery(_all_columns(tables), joined, not_null, comments=notes).statement()


def write_pairs_join(
    left: tuple[FileTable, int],
    right: tuple[FileTable, int],
    pairs: Sequence[tuple[str, str]],
    comments: Sequence[str],
) -> str:
    """DuckDB SQL for the inner join of two tables on a column of each, through pairs of texts."""
    tables, columns = (left[0], right[0]), [table.alias for table, _ in (left, right)]
    rows = [tuple(map(quote_literal, pair)) for pair in pairs]
    left_cell, right_cell = (table.cell(column) for table, column in (left, right))
    joined = [
        tables[0].joined(),
        SqlTable("pairs", on=[f"pairs.{columns[0]} = {left_cell}"]),
        tables[1].joined(f"{right_cell} = pairs.{columns[1]}"),
    ]
    named = [name_values("pairs", columns, rows)]
    notes = [*comments, f"{len(pairs):,} pairs of texts"]
    return SqlQuery(_all_columns(tables), joined, named=named, comments=notes).statement()


def _all_columns(tables: Sequence[FileTable]) -> list[str]:
    return [f"{table.alias}.*" for table in tables]


def reader_call(origin: TableOrigin, names: Sequence[str]) -> str:
    """The DuckDB table function that reads a file like lakejoin; empty if there is none.

    >>> reader_call(TableOrigin("a/b.parquet", "parquet"), ["x"])
    "read_parquet('a/b.parquet')"
    """
    if not origin.path or not origin.plain:
        return ""
    if origin.format == "parquet":
        return f"read_parquet({quote_literal(origin.path)})"
    dialect = origin.dialect
    if dialect is None or origin.format not in DELIMITED or len(names) > _MAX_COLUMNS:
        return ""
    charset = _CHARSETS.get(dialect.encoding.lower())
    usual = dialect.skip_footer == 0 and dialect.escape in ("", dialect.quote)
    if not charset or not usual or not origin.path.lower().endswith(_READABLE):
        return ""
    columns = ", ".join(f"{quote_literal(name)}: 'VARCHAR'" for name in names)
    options = {
        "auto_detect": "false",
        "header": str(dialect.header).lower(),
        "skip": str(dialect.skip_rows),
        "delim": quote_literal(dialect.delimiter),
        "quote": quote_literal(dialect.quote),
        "escape": quote_literal(dialect.quote),
        "encoding": quote_literal(charset),
        "null_padding": "true",
        "strict_mode": "false",
        "columns": f"{{{columns}}}",
    }
    listed = ", ".join(f"{key} = {value}" for key, value in options.items())
    return f"read_csv({quote_literal(origin.path)}, {listed})"


# -- what a join on equal texts matches -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EqualityCount:
    """How many shared values the equality joins, and whether it joins exactly their rows."""

    values: int
    shared: int
    exact: bool
    noun: str = "values"

    def notes(self) -> list[str]:
        """A sentence if the equality misses some of the shared values."""
        if self.values < self.shared:
            return [
                f"joins {self.values:,} of the {self.shared:,} shared {self.noun}; the others are "
                "spelled differently in the two tables"
            ]
        if not self.exact:
            return [f"some shared {self.noun} have several spellings, and not all of them match"]
        return []


def count_equality_join(parts: Sequence[ColumnPair], normal: Sequence[bool]) -> EqualityCount:
    """Count what joins if the texts of every pair of columns are equal: as written, or (`normal`)
    trimmed and in lower case. With several pairs, values are combinations."""
    left, left_rows = _distinct_combinations([part.left for part in parts])
    right, right_rows = _distinct_combinations([part.right for part in parts])
    combinations, rows = (left, right), (left_rows, right_rows)
    token = _combine(
        [_equal_codes(part.left.tokens, part.right.tokens) for part in parts], combinations
    )
    texts = [
        _equal_codes(_folded(part.left.texts, fold), _folded(part.right.texts, fold))
        for part, fold in zip(parts, normal, strict=True)
    ]
    text = _combine(texts, combinations)
    # One code for a text with its canonical value: what matches in both is joined correctly.
    both = _pair_codes(token, text)
    values = len(np.unique(token[0][np.isin(both[0], both[1])]))
    exact = (
        _count_joined_rows(token, rows)
        == _count_joined_rows(text, rows)
        == _count_joined_rows(both, rows)
    )
    noun = "values" if len(parts) == 1 else "combinations"
    return EqualityCount(values, len(np.intersect1d(*token)), exact, noun)


def _distinct_combinations(columns: Sequence[ColumnSpellings]) -> tuple[list[Array], Array]:
    """The text ids of each column in the distinct combinations, and how many rows hold each."""
    if len(columns) == 1:
        return [np.arange(len(columns[0].texts))], columns[0].rows
    whole = np.logical_and.reduce([column.cells != NO_CELL for column in columns])
    cells = [column.cells[whole].astype(np.int64) for column in columns]
    codes = reduce(_dense_codes, cells)
    _, first, rows = np.unique(codes, return_index=True, return_counts=True)
    return [codes[first] for codes in cells], rows


def _folded(texts: pa.LargeStringArray, normal: bool) -> pa.LargeStringArray:
    return pc.utf8_lower(pc.utf8_trim(texts, _BLANKS)) if normal else texts


def _equal_codes(a: pa.LargeStringArray, b: pa.LargeStringArray) -> BothSides:
    """Give equal texts of two arrays equal codes."""
    encoded = pa.chunked_array([a, b], pa.large_string()).combine_chunks().dictionary_encode()
    codes = np.asarray(encoded.indices.to_numpy(), dtype=np.int64)
    return codes[: len(a)], codes[len(a) :]


def _combine(
    parts: Sequence[BothSides], combinations: tuple[list[Array], list[Array]]
) -> BothSides:
    """Give equal combinations on both sides equal codes; `parts` are the codes of each column."""
    selected = [
        (codes[0][mine], codes[1][theirs])
        for codes, mine, theirs in zip(parts, *combinations, strict=True)
    ]
    return reduce(_pair_codes, selected)


def _pair_codes(first: BothSides, second: BothSides) -> BothSides:
    """Combine two codes into one, the same way on both sides."""
    codes = _dense_codes(np.concatenate(first), np.concatenate(second))
    return codes[: len(first[0])], codes[len(first[0]) :]


def _dense_codes(first: Array, second: Array) -> Array:
    """Combine two codes into one, renumbered densely so that no product overflows."""
    product = first * (int(second.max(initial=0)) + 1) + second
    return np.asarray(np.unique(product, return_inverse=True)[1])


def _count_joined_rows(codes: BothSides, rows: BothSides) -> int:
    """The rows of the join of two columns of codes, with the rows that hold each code."""
    size = 1 + max(int(side.max(initial=-1)) for side in codes)
    left, right = (np.bincount(n, r, size) for n, r in zip(codes, rows, strict=True))
    return int((left * right).sum())


def find_null_words(rules: ValueRules, part: ColumnPair) -> list[str]:
    """The texts that must not match, as they stand for a missing value on at least one side.

    Empty if one side cannot hold such a text: it has no nulls and none of these texts as a value.
    """
    extra = [word.lower() if rules.fold else word for word in rules.extra_nulls]
    known = [*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS] if rules.fold else []
    words = pa.array(["", *known, *extra], pa.large_string())
    sides = part.left, part.right
    values = [np.asarray(pc.is_in(words, value_set=side.tokens)) for side in sides]
    lacking = [bool((side.cells == NO_CELL).any()) for side in sides]
    if not all(lacks or has.any() for lacks, has in zip(lacking, values, strict=True)):
        return []
    shared = np.logical_and.reduce(values)
    return list(words.filter(pa.array(~shared)).to_pylist())
