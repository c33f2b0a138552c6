"""The best predicates for users: with names, scores, rows, joins and code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from lakejoin.errors import InputError, NoJoin
from lakejoin.joins.join import Join
from lakejoin.joins.join_finder import join_tables
from lakejoin.joins.join_inputs import JoinInput, table_subject
from lakejoin.joins.options import JoinOptions, Progress
from lakejoin.joins.predicates.coded_tables import CodedTables, encode_sides
from lakejoin.joins.predicates.predicate_finder import (
    ColumnRef,
    Pair,
    Predicate,
    PredicateOptions,
    find_predicates,
)
from lakejoin.joins.predicates.predicate_join import (
    join_rows,
    name_joined_columns,
    write_chain,
    write_sql,
)
from lakejoin.joins.predicates.predicate_text import (
    no_predicate_reason,
    predicate_notes,
    predicate_report,
    predicates_report,
    search_notes,
)
from lakejoin.joins.predicates.preferences import Facts, Preference, find_preferences
from lakejoin.model import Array
from lakejoin.quoting import join_command_line, on_arguments
from lakejoin.render.answer_base import AnswerBase, PrintedReport
from lakejoin.render.html import render_html
from lakejoin.render.report import Report
from lakejoin.values.column_names import make_names_unique

_ROWS_SHOWN = 3  # of a join
_MOST_PAIRS = 8  # in a command; a predicate with more is reduced to those that suffice
_AS_CODE = "join() takes two tables; for more, use table(), to_sql() or the other code writers"


@dataclass(frozen=True, eq=False)
class PredicateTables:
    """The joined tables: their rows, unique labels, and codes."""

    sides: tuple[JoinInput, ...]
    labels: tuple[str, ...]
    known_codes: CodedTables | None  # None: the rows are on a server
    options: PredicateOptions

    @property
    def coded(self) -> CodedTables:
        """The codes of the tables; an error if the rows are on a server."""
        return _refuse_rows() if self.known_codes is None else self.known_codes

    def column_ref(self, side: int, column: str | Sequence[str]) -> ColumnRef:
        """A column by its name, or by the label of its table and its name."""
        if isinstance(column, str):
            return side, column
        return self.labels.index(column[0]), column[1]

    @property
    def are_two(self) -> bool:
        """Whether there are two tables, so that columns need no table name."""
        return len(self.sides) == 2

    def column_label(self, column: ColumnRef) -> str:
        """A column as text: its name, prefixed with the table if there are more than two."""
        table, name = column
        return name if self.are_two else f"{self._short[table]}.{name}"

    @cached_property
    def _short(self) -> tuple[str, ...]:
        short = tuple(table_subject(label) for label in self.labels)
        return short if len(set(short)) == len(short) and all(short) else self.labels


@dataclass(frozen=True, eq=False, repr=False)
class JoinPredicate(PrintedReport):
    """Pairs of columns that must all be equal, with the facts and the result of their join.

    >>> people, calls = {"id": [1, 2, 3]}, {"caller": [2, 2, 3, 1]}
    >>> lakejoin.predicates(people, calls)[0].table().num_rows
    4
    """

    found: Predicate
    tables: PredicateTables

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], tables: PredicateTables, sizes: tuple[int, ...]
    ) -> JoinPredicate:
        """Read the JSON of a predicate over these tables of `sizes` rows."""

        def read_pairs(pairs: Sequence[Sequence[Any]]) -> tuple[Pair, ...]:
            return tuple((tables.column_ref(0, a), tables.column_ref(1, b)) for a, b in pairs)

        figures = (data[name] for name in ("groups", "inner_rows", "entropy", "groups"))
        facts = Facts(sizes, tuple(data["involved"]), *figures)
        pairs, enough = read_pairs(data["pairs"]), read_pairs(data["enough"])
        predicate = cls(Predicate(pairs, enough, facts, data["scores"]), tables)
        vars(predicate)["notes"] = tuple(data["notes"])  # prime the cached property
        return predicate

    @cached_property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """The pairs of column names; with more than two tables, each column is a pair of the names
        of its table and itself."""
        if self.tables.are_two:
            return self.found.on
        labels = self.tables.labels
        return tuple(
            ((labels[left], left_name), (labels[right], right_name))
            for (left, left_name), (right, right_name) in self.found.pairs
        )

    @property
    def scores(self) -> dict[str, float]:
        """The score by each preference, by name."""
        return self.found.scores

    @property
    def facts(self) -> Facts:
        """The facts behind the scores."""
        return self.found.facts

    @property
    def words(self) -> str:
        """The equalities as text."""
        return self.format_pairs(self.found.pairs)

    @property
    def enough(self) -> tuple[tuple[Any, Any], ...]:
        """A subset of the pairs that makes the same join and implies the others."""
        all_pairs = zip(self.pairs, self.found.pairs, strict=True)
        return tuple(named for named, pair in all_pairs if pair in self.found.enough)

    @property
    def fewer_words(self) -> str:
        """These as text, if they are fewer than all."""
        few = self.found.enough
        return self.format_pairs(few) if len(few) < len(self.found.pairs) else ""

    def format_pairs(self, pairs: Sequence[Pair]) -> str:
        """Some equalities as text."""
        return " and ".join(
            " = ".join(self.tables.column_label(ref) for ref in pair) for pair in pairs
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before using it."""
        return tuple(predicate_notes(self))

    def table(self, limit: int | None = None) -> pa.Table:
        """The rows of the inner join, all or the first `limit`, as a `pyarrow.Table`."""
        sides = self.tables.sides
        names = name_joined_columns([side.columns for side in sides])
        rows_of = _first(join_rows(self.tables.coded, self.found.enough), limit, len(sides))
        columns = [
            column.take(pa.array(rows))
            for side, rows in zip(sides, rows_of, strict=True)
            for column in side.rows.columns
        ]
        return pa.table(columns, names=names)

    def join(self, how: str = "inner") -> Join:
        """The join of two tables by this predicate."""
        if not self.tables.are_two:
            raise InputError(_AS_CODE)
        rules = self.tables.options.rules
        options = JoinOptions(on=self.found.on, how=how, by="equal", rules=rules)
        left, right = self.tables.sides
        return join_tables(left.rows, right.rows, options, None, (left.name, right.name))

    def to_sql(self, *names: str, dialect: str = "duckdb") -> str:
        """The inner join as one SQL query over tables of these names.

        The default names are `left_table` and `right_table`, or `table_1`, `table_2`, …
        """
        self._check_names(names)
        if self.tables.are_two:
            left, right = names or ("left_table", "right_table")
            return self._inner.to_sql(left, right, dialect)
        return write_sql(self, names, dialect)

    def to_pandas_code(self) -> str:
        """The inner join as a Python function of pandas DataFrames."""
        return self._inner.to_pandas_code() if self.tables.are_two else write_chain(self, "pandas")

    def to_polars_code(self) -> str:
        """The inner join as a Python function of polars DataFrames."""
        return self._inner.to_polars_code() if self.tables.are_two else write_chain(self, "polars")

    def to_pyspark_code(self) -> str:
        """The inner join as a Python function of Spark DataFrames."""
        return (
            self._inner.to_pyspark_code() if self.tables.are_two else write_chain(self, "pyspark")
        )

    def to_dict(self, rows: int = _ROWS_SHOWN, index: str | None = None) -> dict[str, Any]:
        """The predicate for JSON, with the first `rows` of its join and the command that makes it
        with an index; the keys are stable."""
        facts, first = self.facts, self.table(rows)
        columns = [column.to_pylist() for column in first.columns]
        return {
            "pairs": _listed(self.pairs),
            "enough": _listed(self.enough),
            "scores": self.scores,
            "inner_rows": facts.inner,
            "outer_rows": facts.outer,
            "groups": facts.groups,
            "entropy": facts.entropy,
            "involved": list(facts.involved),
            "columns": first.column_names,
            "first": [list(row) for row in zip(*columns, strict=True)],
            "command": self._command(index) if self.tables.are_two else None,
            "notes": list(self.notes),
        }

    def _command(self, index: str | None) -> str:
        left, right = self.tables.sides
        pairs = self.pairs if len(self.pairs) <= _MOST_PAIRS else self.enough
        words = on_arguments(pairs, left.columns, right.columns)
        return join_command_line(left.name, right.name, [*words, "--by", "equal"], index)

    def report(self) -> Report:
        return predicate_report(self)

    def _repr_html_(self) -> str:
        return render_html(self.report(), self.table(_ROWS_SHOWN))

    @cached_property
    def _inner(self) -> Join:
        return self.join()

    def _check_names(self, names: Sequence[str]) -> None:
        if names and len(names) != len(self.tables.sides):
            raise InputError(f"give a name for each of the {len(self.tables.sides)} tables")


@dataclass(frozen=True, eq=False, repr=False)
class Predicates(AnswerBase[JoinPredicate]):
    """The best predicates, best first; empty if no rows of the tables can match.

    With several preferences, those of the first come first, and `best` has them by preference.
    `complete` is false if the search was cut short, so that there may be better ones. If there are
    no predicates, `none` says why.

    >>> found = lakejoin.predicates({"id": [1, 2, 3]}, {"caller": [2, 2, 3, 1]})
    >>> len(found), found[0].pairs
    (1, (('id', 'caller'),))
    """

    results: tuple[JoinPredicate, ...]
    best: dict[str, tuple[JoinPredicate, ...]]
    preferences: tuple[Preference, ...]
    tables: PredicateTables
    looked_at: int = 0
    complete: bool = True
    notes: tuple[str, ...] = ()
    none: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Predicates:
        """Read the JSON of `lakejoin predicates --json`."""
        sides = tuple(JoinInput(table["table"], _refuse_rows) for table in data["tables"])
        labels = _unique_labels(sides)
        tables = PredicateTables(sides, labels, None, PredicateOptions(data["prefer"]))
        sizes = tuple(table["rows"] for table in data["tables"])
        results = tuple(
            JoinPredicate.from_dict(fields, tables, sizes) for fields in data["predicates"]
        )
        preferences = find_preferences(data["prefer"])
        return cls(
            results,
            {preferences[0].name: results},
            preferences,
            tables,
            data.get("looked_at", 0),
            data.get("complete", True),
            tuple(data["notes"]),
            data.get("why", ""),
        )

    @property
    def winner(self) -> JoinPredicate:
        """The best by the first preference; raises `NoJoin` if there is none."""
        if not self:
            raise NoJoin(self.none)
        return self[0]

    def to_dict(self, rows: int = _ROWS_SHOWN, index: str | None = None) -> dict[str, Any]:
        """The predicates with the keys of `lakejoin predicates --json`; see `JoinPredicate`."""
        tables = [
            {"table": label, "rows": side.size, "columns": len(side.columns)}
            for label, side in zip(self.tables.labels, self.tables.sides, strict=True)
        ]
        searched = {"looked_at": self.looked_at, "complete": self.complete}
        return {
            "tables": tables,
            "prefer": self.preferences[0].name,
            "predicates": [predicate.to_dict(rows, index) for predicate in self],
            **(searched if self else {"why": self.none}),
            "notes": list(self.notes),
        }

    def report(self) -> Report:
        return predicates_report(self)


def best_predicates(
    sides: Sequence[JoinInput],
    options: PredicateOptions | None = None,
    progress: Progress | None = None,
) -> Predicates:
    """Find the best predicates over these tables.

    >>> from lakejoin.joins.join_inputs import loaded_input
    >>> people = pa.table({"id": [1, 2, 3], "boss": [3, 3, 1]})
    >>> calls = pa.table({"caller": [2, 2, 3, 1, 3], "minutes": [1, 3, 3, 2, 1]})
    >>> found = best_predicates([loaded_input("people", people), loaded_input("calls", calls)])
    >>> found[0].pairs, found[0].facts.inner
    ((('id', 'caller'),), 5)
    """
    options = options or PredicateOptions()
    preferences = find_preferences(options.prefer)
    if options.most is not None and options.most < 1:
        raise InputError(f"`most` must be at least 1, or None to look at all; got {options.most}")
    if len(sides) < 2:
        raise InputError("a predicate needs at least two tables: name another one")
    report = progress or (lambda doing: None)
    report("reading values")
    coded = encode_sides(sides, options.rules)
    tables = PredicateTables(tuple(sides), _unique_labels(sides), coded, options)
    report("looking for predicates")
    found = find_predicates(coded, options, report)
    best = {
        name: tuple(JoinPredicate(predicate, tables) for predicate in predicates)
        for name, predicates in found.best.items()
    }
    ranked = (predicate for preference in preferences for predicate in best[preference.name])
    distinct = {predicate.found.pairs: predicate for predicate in ranked}
    results = tuple(distinct.values())
    answer = Predicates(results, best, preferences, tables, found.looked_at, found.complete)
    none = no_predicate_reason(answer)
    return replace(answer, notes=tuple(search_notes(answer)), none=none)


def _listed(pairs: Iterable[Iterable[str | tuple[str, str]]]) -> list[list[str | list[str]]]:
    """Pairs as lists; with more than two tables, each column is a list of table and column name."""
    return [
        [column if isinstance(column, str) else list(column) for column in pair] for pair in pairs
    ]


def _unique_labels(sides: Iterable[JoinInput]) -> tuple[str, ...]:
    return tuple(make_names_unique((side.name for side in sides), rename="{} ({})".format))


def _refuse_rows() -> NoReturn:
    raise InputError("the rows of these tables are on the server: use join of the connected lake")


def _first(batches: Iterator[list[Array]], limit: int | None, tables: int) -> list[Array]:
    """The row indices of all rows, or of the first ones."""
    taken, count = [], 0
    for batch in batches:
        if limit is not None and count >= limit:
            break
        taken.append(batch)
        count += len(batch[0])
    if not taken:
        return [np.empty(0, np.int64)] * tables
    return [np.concatenate(batches)[:limit] for batches in zip(*taken, strict=True)]
