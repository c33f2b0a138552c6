"""Learn programs from examples of joining rows, and score them.

A program builds the target from left to right, so its operators are the steps of a path: a node is
a position in every example's target, and an operator that gives the next characters of all
examples leads to the node behind them. The path with the fewest steps, and among those the
simplest, is found by A* search (thesis, section 4.4.2, where it is greedy with backtracking). Case
is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import has_agreed_case
from lakejoin.codegen.programs import Casing, Constant, Extract, Operator, Program, merge_constants
from lakejoin.joins.learned.row_samples import Sample
from lakejoin.joins.learned.substrings import (
    ChosenExamples,
    Examples,
    RewriteCache,
    RewrittenSubstrings,
    Substring,
    Substrings,
    choose_examples,
    find_deeper_substrings,
    find_substrings,
    rewrite_substrings,
)
from lakejoin.joins.learned.written_values import ColumnValues, written_values
from lakejoin.kernels.shared_substrings import (
    count_fewest_substrings,
    find_possible_sets,
    find_shared_columns,
)
from lakejoin.kernels.shortest_program import find_shortest_program
from lakejoin.kernels.text_tables import build_hash_table, hash_plain_texts, look_up_hashes
from lakejoin.model import Array
from lakejoin.values.text_arrays import read_only, text_buffers

MOST_OPERATORS = 16
_MOST_NODES = 240
_MOST_VARIANTS = 16
_MOST_STRETCHES = 31
_LONGEST_CUT = 10


# One operator of a learned program: all variants that the examples allow.
ProgramStep = tuple[Operator, ...]


@dataclass(frozen=True, slots=True)
class _SubstringPart:
    """A part of a substring: its start in each example, and its length (None: all the rest).

    The last `drop` characters are dropped.
    """

    substring: Substring
    starts: tuple[int, ...]
    length: int | None
    drop: int = 0

    @property
    def whole(self) -> bool:
        return self.length is None and not self.drop and not any(self.starts)


_Edge = Constant | _SubstringPart


@dataclass(eq=False)
class Learner:
    """Learns from any few of many examples; rows and columns are given by index.

    >>> from lakejoin.joins.learned.substrings import examples_of
    >>> from lakejoin.codegen.programs import Program
    >>> names = ["Obama, Barack", "Bush, George W.", "Clinton, Bill"]
    >>> targets = ["Barack Obama", "George W. Bush", "Bill Clinton"]
    >>> steps = Learner(examples_of({"n": names}, targets)).steps(np.arange(3), np.arange(1))
    >>> print(Program(tuple(step[0] for step in steps)))
    split(n, ", ")[1] + " " + split(n, ",")[0]
    """

    examples: Examples
    memory: RewriteCache = field(default_factory=RewriteCache)

    def possible(self, sets: Array, columns: Array) -> Array:
        """The sets of rows for which a short program may exist; see `find_possible_sets`."""
        if not len(self.examples):
            return np.zeros(len(sets), bool)
        options = sets, columns, MOST_OPERATORS
        return np.asarray(find_possible_sets(*self.examples.arrays, self._sharing, *options))

    def steps(self, rows: Array, columns: Array) -> tuple[ProgramStep, ...] | None:
        """The steps that make these rows' targets from these columns; None if impossible."""
        useful = columns[self._sharing[rows][:, columns].all(axis=0)]
        edges = _best_path(choose_examples(self.examples, rows, useful), self.memory)
        if edges is None or all(isinstance(edge, Constant) for edge in edges):
            return None
        return tuple(tuple(_operators_of(edge)) for edge in edges)

    @cached_property
    def _sharing(self) -> Array:
        return np.asarray(find_shared_columns(*self.examples.arrays))


def fewest_substrings(examples: Examples) -> Array:
    """The fewest substrings of its row and of the previous target that make up each target.

    >>> from lakejoin.joins.learned.substrings import examples_of
    >>> examples = examples_of({"name": ["Barack Obama", "Bush"]}, ["Obama, B", ", "])
    >>> fewest_substrings(examples).tolist()
    [3.0, 1.0]
    """
    counts = count_fewest_substrings(*examples.arrays, _MOST_STRETCHES)
    return np.where(counts < 0, np.inf, counts)


def _best_path(few: ChosenExamples, memory: RewriteCache) -> list[_Edge] | None:
    substrings = find_substrings(few)
    search = _Search(few, substrings, rewrite_substrings(substrings, memory))
    edges = search.run()
    if edges is None or not all(isinstance(edge, Constant) or edge.whole for edge in edges):
        # Many programs need only one split, which is found faster among fewer substrings. But
        # whole substrings after two splits are simpler than cut ones.
        search.add_deeper()
        edges = search.run() or edges
    return edges


class _Search:
    """The search for a path over substrings, their rewritten forms, and deeper substrings."""

    def __init__(
        self, few: ChosenExamples, substrings: Substrings, made: RewrittenSubstrings
    ) -> None:
        self.few = few
        self.substrings = substrings
        self.made = made
        self.new = list(made.new.items())
        self.deeper: Substrings | None = None
        self.firsts, self.lasts, self.efforts = (
            substrings.firsts,
            substrings.lasts,
            substrings.efforts,
        )
        if self.new:
            goals = few.goals[:, 0]
            whole = few.examples.texts
            begins = [
                [whole.index(text, goal) for text, goal in zip(texts, goals, strict=True)]
                for texts, _ in self.new
            ]
            sizes = [[len(text) for text in texts] for texts, _ in self.new]
            efforts = [paths[0].effort for _, paths in self.new]
            self._add(np.array(begins), np.array(begins) + np.array(sizes), np.array(efforts))

    def add_deeper(self) -> None:
        self.deeper = find_deeper_substrings(self.few, self.firsts, self.lasts)
        self._add(self.deeper.firsts, self.deeper.lasts, self.deeper.efforts)

    def _add(self, firsts: Array, lasts: Array, efforts: Array) -> None:
        self.firsts = np.concatenate((self.firsts, firsts))
        self.lasts = np.concatenate((self.lasts, lasts))
        self.efforts = np.concatenate((self.efforts, efforts))

    def run(self) -> list[_Edge] | None:
        formed = np.zeros(len(self.firsts), np.bool_)
        formed[len(self.substrings) : len(self.substrings) + len(self.new)] = True
        examples = self.few.examples
        path = find_shortest_program(
            examples.chars, examples.alnum, self.few.begins, self.few.ends, self.few.goals,
            self.firsts, self.lasts, self.efforts, formed,
            MOST_OPERATORS, _MOST_NODES, _LONGEST_CUT,
        )  # fmt: skip
        if not len(path):
            return None
        edges: list[_Edge] = []
        position = 0  # in the first example's target
        for index, start, back, length, drop in path.tolist():
            if index < 0:
                target = examples.targets[self.few.rows[0]]
                edges.append(Constant(target[position : position + start]))
                position += start
            else:
                part = self._part(index, start, bool(back), length, drop)
                edges.append(part)
                size = len(part.substring.texts[0]) - start - drop
                position += min(size, length) if length >= 0 else size
        return edges

    def _part(self, index: int, start: int, back: bool, length: int, drop: int) -> _SubstringPart:
        substring = self._substring(index)
        sizes = [len(text) for text in substring.texts]
        starts = tuple(size - sizes[0] + start if back else start for size in sizes)
        return _SubstringPart(substring, starts, None if length < 0 else length, drop)

    def _substring(self, index: int) -> Substring:
        if index < len(self.substrings):
            texts = self.substrings.texts(index)
            return Substring(texts, self.substrings.paths(index), self.made.also_for(texts))
        index -= len(self.substrings)
        if index < len(self.new):
            texts, paths = self.new[index]
            return Substring(texts, tuple(paths))
        index -= len(self.new)
        assert self.deeper is not None
        return Substring(self.deeper.texts(index), self.deeper.paths(index))


def _operators_of(edge: _Edge) -> Iterator[Operator]:
    """The operators that produce this edge, simplest first."""
    if isinstance(edge, Constant):
        yield edge
        return
    if edge.drop:
        for path in edge.substring.paths:
            yield Extract(path.column, path.splits, edge.starts[0], None, edge.drop)
        return
    backs = {
        start - len(text) for text, start in zip(edge.substring.texts, edge.starts, strict=True)
    }
    offsets: list[int] = []
    if len(set(edge.starts)) == 1:
        offsets.append(edge.starts[0])
    if len(backs) == 1 and edge.starts != (0,) * len(edge.starts):
        offsets.append(backs.pop())
    sizes = {
        len(text) - start for text, start in zip(edge.substring.texts, edge.starts, strict=True)
    }
    lengths: list[int | None] = [edge.length]
    if edge.length is None and len(sizes) == 1 and not edge.substring.is_rewritten:
        lengths.append(sizes.pop())
    made = 0
    for length in lengths:
        for offset in offsets:
            for path in edge.substring.paths:
                yield Extract(
                    path.column, path.splits, offset, length, form=path.form, width=path.width
                )
                made += 1
                if made == _MOST_VARIANTS:
                    return
    if edge.whole and not edge.substring.is_rewritten:
        yield from _pad_with_zeros(edge.substring)
        for path in edge.substring.also:
            yield Extract(path.column, path.splits, form=path.form, width=path.width)


def _pad_with_zeros(substring: Substring) -> Iterator[Operator]:
    """Numbers of one length may be zero-padded; then shorter ones elsewhere need zeros."""
    sizes = {len(text) for text in substring.texts}
    if len(sizes) == 1 and all(text.isdigit() for text in substring.texts):
        for path in substring.paths[:2]:
            yield Extract(path.column, path.splits, width=sizes.copy().pop())


Score = tuple[int, int]


@dataclass(eq=False)
class Scorer:
    """The rows of a source, and the distinct keys of a target that they should match."""

    source: Sample
    keys: KeyTable
    _scores: dict[Program, Score] = field(default_factory=dict)

    def matched_keys(self, program: Program) -> Array:
        """The key code that every source row matches, -1 for none."""
        return self.keys.codes_of(hash_texts(self.source.applier.apply(program)))

    def score(self, program: Program) -> Score:
        """The number of matched keys, and of matching rows."""
        if program not in self._scores:
            codes = self.matched_keys(program)
            codes = codes[codes >= 0]
            keys = int(np.count_nonzero(np.bincount(codes, minlength=1)))
            self._scores[program] = keys, len(codes)
        return self._scores[program]

    def fit_steps(self, steps: tuple[ProgramStep, ...]) -> Program:
        """The program whose variants, chosen step by step, match the most keys."""
        chosen = [step[0] for step in steps]
        best = self.score(merge_constants(chosen))
        for index, step in enumerate(steps):
            for variant in step[1:]:
                tried = [*chosen[:index], variant, *chosen[index + 1 :]]
                score = self.score(merge_constants(tried))
                if score > best:
                    best, chosen = score, tried
        return self.read_written(merge_constants(chosen))

    def read_written(self, program: Program) -> Program:
        """The program with columns in place of their values, where that matches as well."""
        for value in written_values(program, self._values):
            if value.is_carried(self.score(program)[0], self.score(value.reading)[0]):
                return self.read_written(value.reading)
        return program

    @cached_property
    def _values(self) -> ColumnValues:
        return ColumnValues(self.source.table)


def fit_case(program: Program, source: Sample, target: pa.Array) -> Program:
    """Change the case of parts if more results are then exactly in the target.

    Rows match without it, as equality ignores case; but generated code should give the target's
    own spelling.
    """

    def exact(operators: list[Operator]) -> int:
        made = source.applier.apply(Program(tuple(operators)))
        return int(pc.sum(pc.is_in(made, value_set=target)).as_py() or 0)

    free = {name for name in program.columns if has_agreed_case(source.table[name])}
    tried = [[_with_casing(o, casing, free) for o in program.operators] for casing in Casing]
    chosen = max(tried, key=exact)
    best = exact(chosen)
    for index, operator in enumerate(program.operators):
        for casing in Casing:  # unchanged first: the case is changed only if needed
            other = [*chosen[:index], _with_casing(operator, casing, free), *chosen[index + 1 :]]
            count = exact(other)
            if count > best or (count == best and casing is Casing.SAME):
                best, chosen = count, other
    return Program(tuple(chosen))


def _with_casing(operator: Operator, casing: Casing, free: set[str]) -> Operator:
    if isinstance(operator, Constant) or operator.column not in free:
        return operator
    return replace(operator, casing=casing)


def hash_texts(texts: pa.LargeStringArray) -> Array:
    """The hash of every text, 0 if it is null or empty.

    >>> hashes = hash_texts(pa.array(["Züg  A", " züg a ", "", None], pa.large_string()))
    >>> bool(hashes[0] == hashes[1]), hashes[2:].tolist()
    (True, [0, 0])
    """
    flat = text_buffers(texts)
    if flat.data[flat.offsets[0] : flat.offsets[-1]].max(initial=0) >= 128:  # beyond ASCII
        flat = text_buffers(pc.utf8_lower(texts))
    return np.asarray(hash_plain_texts(*flat))


class KeyTable:
    """The distinct keys of a column.

    >>> keys = KeyTable(hash_texts(pa.array(["Bern", "Ulm", None, "bern"], pa.large_string())))
    >>> len(keys), keys.counts.tolist()
    (2, [2, 1])
    >>> keys.codes_of(hash_texts(pa.array(["ulm ", "Bonn"], pa.large_string()))).tolist()
    [1, -1]
    """

    def __init__(self, hashes: Array) -> None:
        self._slots, self._distinct, self.counts, self.first_rows = build_hash_table(
            read_only(hashes)
        )

    def __len__(self) -> int:
        return len(self._distinct)

    @property
    def share(self) -> float:
        """The distinct keys per row with a key; 0 if all are the same."""
        return len(self) / int(self.counts.sum()) if len(self) > 1 else 0.0

    def codes_of(self, hashes: Array) -> Array:
        """The code of the key that each text matches, -1 for none."""
        return np.asarray(look_up_hashes(self._slots, self._distinct, read_only(hashes)))

    def contains(self, texts: pa.LargeStringArray) -> pa.BooleanArray:
        return pa.array(self.codes_of(hash_texts(texts)) >= 0)
