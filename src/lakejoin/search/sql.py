"""The join as SQL that DuckDB runs: over the files themselves where it reads them as we do."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import FRAME, Originals, originals_of
from lakejoin.search.origins import DELIMITED, written_as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ValueRules
    from lakejoin.search.answer import Found
    from lakejoin.search.origins import Origin

Array = np.ndarray[Any, Any]

THEIRS = "lake_table"
_ENCODINGS = {"utf-8": "utf-8", "ascii": "utf-8", "utf-8-sig": "utf-8", "latin-1": "latin-1"}
_READABLE = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".gz", ".zst")
# What DuckDB's `trim` takes for a blank: the separators of Unicode, and no tab or line end.
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if unicodedata.category(c) == "Zs")
_WIDEST = 500  # columns that a query spells out


def join_sql(found: Found) -> str:
    """DuckDB SQL for the inner join of my table with the table of a result.

    A side that DuckDB cannot read as it stands is left as a name, and a comment says how to
    register it. The join is on plain equality where every shared value is written alike on both
    sides, else on lower case without blanks around; a comment says how many shared values that
    joins, if not all.
    """
    mine, theirs = _my_side(found), _their_side(found)
    rules = found.manifest.options.rules
    segment = found.located.segments[found.segment]
    column = originals_of(segment, found.column)
    own = found.mine.originals(found.place)
    found.mine.forget()
    lacking = (
        found.located.query.rows > int(own.rows.sum()),
        int(segment.column_rows[found.column]) > int(column.rows.sum()),
    )
    nulls = _null_words(rules, (own.tokens, column.tokens), lacking)
    plain = joined_by(own, column, normal=False)
    if plain.exact or not rules.fold:
        return _statement(mine, theirs, False, plain.said(), _nulls_apart(mine, nulls, rules.fold))
    normal = joined_by(own, column, normal=True)
    return _statement(mine, theirs, True, normal.said(), _nulls_apart(mine, nulls, True))


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the join: what stands in the query for it, its column, and what to say first."""

    source: str
    column: str
    is_text: bool
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """How many of the shared values an equality joins, and whether it joins just their rows."""

    values: int
    shared: int
    exact: bool

    def said(self) -> list[str]:
        """A sentence where it does not."""
        if self.values < self.shared:
            return [
                f"joins {self.values:,} of the {self.shared:,} shared values; the others are "
                "written differently on the two sides"
            ]
        if not self.exact:
            return ["some of the shared values are written in several ways, not all of which meet"]
        return []


def _statement(mine: Side, theirs: Side, normal: bool, said: list[str], where: str) -> str:
    left, right = _expression(mine, "mine", normal), _expression(theirs, "theirs", normal)
    comments = [side.comment for side in (mine, theirs) if side.comment] + said
    return (
        "".join(f"-- {_comment(comment)}\n" for comment in comments)
        + "SELECT mine.*, theirs.*\n"
        + f"FROM {mine.source} AS mine\n"
        + f"JOIN {theirs.source} AS theirs\n"
        + f"  ON {left} = {right}{where};"
    )


def _nulls_apart(mine: Side, nulls: list[str], fold: bool) -> str:
    """The clause that keeps what stands for a missing value from meeting its like."""
    if not nulls:
        return ""
    words = ", ".join(map(_text, nulls))
    return f"\nWHERE {_expression(mine, 'mine', fold)} NOT IN ({words})"


def _expression(side: Side, name: str, normal: bool) -> str:
    cell = f"{name}.{_identifier(side.column)}"
    if not side.is_text:
        # A number or a moment as its shortest text, as the index has it.
        cell = f"regexp_replace(CAST({cell} AS VARCHAR), '(\\.0| 00:00:00)$', '')"
    return f"lower(trim({cell}))" if normal else cell


def _my_side(found: Found) -> Side:
    mine = found.mine
    name, origin = mine.names[found.place], mine.origin
    reader = reader_of(origin, mine.names)
    if reader:
        return Side(reader, name, mine.is_text(found.place))
    if mine.home is not None:
        return _registered(FRAME, mine.name, name)
    how = f"{FRAME} is your table"
    if origin.format:
        how = f"first: con.register({FRAME!r}, lakejoin.read({mine.name!r}).to_arrow())"
    return Side(FRAME, name, mine.is_text(found.place), how)


def _their_side(found: Found) -> Side:
    from lakejoin.search.origins import origin_of

    segment = found.located.segments[found.segment]
    columns = segment.catalog.columns_of(found.entry)
    column = columns[found.column - found.entry.first]
    origin = origin_of(found.manifest.lakes, found.entry)
    reader = reader_of(origin, [one.name for one in columns])
    if reader:
        return Side(reader, column.name, written_as_text(origin, column.profile.type))
    return _registered(THEIRS, found.entry.name, column.name)


def _registered(alias: str, table: str, column: str) -> Side:
    how = f"con.register({alias!r}, lake.table({table!r}).to_arrow())"
    return Side(alias, column, True, f"first: {how}")


def reader_of(origin: Origin, names: Sequence[str]) -> str:
    """The table function that reads a file as we do; nothing where there is none.

    >>> from lakejoin.search.origins import Origin
    >>> reader_of(Origin("a/b.parquet", "parquet"), ["x"])
    "read_parquet('a/b.parquet')"
    """
    if not origin.path or not origin.plain:
        return ""
    if origin.format == "parquet":
        return f"read_parquet({_text(origin.path)})"
    dialect = origin.dialect
    if dialect is None or origin.format not in DELIMITED or len(names) > _WIDEST:
        return ""
    encoding = _ENCODINGS.get(dialect.encoding.lower())
    usual = dialect.skip_footer == 0 and dialect.escape in ("", dialect.quote)
    if not encoding or not usual or not origin.path.lower().endswith(_READABLE):
        return ""
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    options = {
        "auto_detect": "false",
        "header": str(dialect.header).lower(),
        "skip": str(dialect.skip_rows),
        "delim": _text(dialect.delimiter),
        "quote": _text(dialect.quote),
        "escape": _text(dialect.quote),
        "encoding": _text(encoding),
        "null_padding": "true",
        "strict_mode": "false",
        "columns": f"{{{columns}}}",
    }
    listed = ", ".join(f"{key} = {value}" for key, value in options.items())
    return f"read_csv({_text(origin.path)}, {listed})"


# -- what an equality of texts joins ---------------------------------------------------------------


def joined_by(mine: Originals, theirs: Originals, normal: bool) -> Joined:
    """What joins where texts are compared as they are, or in lower case without blanks around."""
    token, their_token = _numbers(mine.tokens, theirs.tokens)
    text, their_text = _numbers(_written(mine.texts, normal), _written(theirs.texts, normal))
    shared = np.intersect1d(token, their_token)
    wanted = _pairs(token, mine.rows, their_token, theirs.rows)
    joined = _pairs(text, mine.rows, their_text, theirs.rows)
    # A text and its canonical value as one number: what meets by both is joined rightly.
    size = int(max(text.max(initial=0), their_text.max(initial=0))) + 1
    both, their_both = token * size + text, their_token * size + their_text
    meeting = np.isin(both, their_both)
    values = len(np.unique(token[meeting]))
    right = _pairs(*_dense(both, mine.rows, their_both, theirs.rows))
    return Joined(values, len(shared), wanted == joined == right)


def _written(texts: pa.LargeStringArray, normal: bool) -> pa.LargeStringArray:
    import pyarrow.compute as pc

    return pc.utf8_lower(pc.utf8_trim(texts, _BLANKS)) if normal else texts


def _numbers(a: pa.LargeStringArray, b: pa.LargeStringArray) -> tuple[Array, Array]:
    """Equal texts of two arrays by equal numbers."""
    import pyarrow as pa

    encoded = pa.chunked_array([a, b], pa.large_string()).combine_chunks().dictionary_encode()
    numbers = np.asarray(encoded.indices.to_numpy(), dtype=np.int64)
    return numbers[: len(a)], numbers[len(a) :]


def _dense(a: Array, a_rows: Array, b: Array, b_rows: Array) -> tuple[Array, Array, Array, Array]:
    _, numbers = np.unique(np.concatenate([a, b]), return_inverse=True)
    return numbers[: len(a)], a_rows, numbers[len(a) :], b_rows


def _pairs(a: Array, a_rows: Array, b: Array, b_rows: Array) -> int:
    """The rows of the join of two columns of numbers, each of which stands in so many rows."""
    size = int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    left, right = np.bincount(a, a_rows, size), np.bincount(b, b_rows, size)
    return int((left * right).sum())


def _null_words(
    rules: ValueRules, tokens: tuple[pa.LargeStringArray, ...], lacking: tuple[bool, ...]
) -> list[str]:
    """The texts that must not meet, since for one side at least they stand for a missing value.

    None where one side can hold no such text: it lacks no value, and has none of them for one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from lakejoin.lake.nulls import LETTER_NULLS, SIGN_NULLS, SURE_NULLS

    extra = [word.lower() if rules.fold else word for word in rules.extra_nulls]
    known = [*SURE_NULLS, *LETTER_NULLS, *SIGN_NULLS] if rules.fold else []
    words = pa.array(["", *known, *extra], pa.large_string())
    values = [np.asarray(pc.is_in(words, value_set=side)) for side in tokens]
    if not all(lacks or has.any() for lacks, has in zip(lacking, values, strict=True)):
        return []
    shared = np.logical_and.reduce(values)
    return list(words.filter(pa.array(~shared)).to_pylist())


# -- writing -------------------------------------------------------------------------------------


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _comment(text: str) -> str:
    """A text that cannot end its comment."""
    return "".join(c if c.isprintable() else " " for c in text)
