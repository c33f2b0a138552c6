"""The key of a join with the rules by which rows get it, and the task of finding it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakejoin.joins.options import JoinOptions, Progress
from lakejoin.joins.row_keys import NO_KEY, Keys, RowLists, find_first_rows
from lakejoin.model import Array

if TYPE_CHECKING:
    from lakejoin.codegen.programs import Program
    from lakejoin.joins.agreements import Agreement


NO_RULE = -1
# The kinds that map listed values instead of computing the key.
LISTED_KINDS = ("agreeing", "fuzzy", "meaning", "nearest")


@dataclass(frozen=True, eq=False)
class KeyRule:
    """A rule by which source rows get a key: `codes` is the key of each row, or `NO_KEY`.

    The rule compares `columns` with the key, or what `program` makes of them.
    """

    kind: str  # equal, transform, agreeing, fuzzy, meaning or nearest
    columns: tuple[str, ...]
    codes: Array
    words: str
    sure: float  # 0..1
    why: str
    program: Program | None = None
    distance: Array | None = None  # of each source row to its key, if measured
    unit: str = ""  # of the distances
    target_program: Program | None = None  # what is compared in the target, if not the key


@dataclass(frozen=True, eq=False)
class KeyRefinement:
    """Texts of both tables that must be equal too, to separate rows that share a key.

    `split` says for which keys; rows of other keys match by the key alone. Equal texts have equal
    codes.
    """

    source: Program
    target: Program
    split: Array
    source_codes: Array
    target_codes: Array
    words: str = ""
    why: str = ""

    def keys_of(self, source: Array, target: Array, count: int) -> tuple[Array, Array, int]:
        """Split these keys of source and target rows; returns the finer keys and their count."""
        most = 1 + max(int(self.source_codes.max(initial=0)), int(self.target_codes.max(initial=0)))
        finer = [
            self._finer(keys, values, count, most)
            for keys, values in ((source, self.source_codes), (target, self.target_codes))
        ]
        distinct = np.unique(np.concatenate(finer))
        distinct = distinct[distinct >= count]
        source_keys, target_keys = (
            np.where(keys < count, keys, count + np.searchsorted(distinct, keys)) for keys in finer
        )
        return source_keys, target_keys, count + len(distinct)

    def _finer(self, keys: Array, values: Array, count: int, most: int) -> Array:
        split = np.append(self.split, False)[keys]
        finer = np.where(values >= 0, count + keys * most + values, NO_KEY)
        return np.where(split, finer, keys)


@dataclass(frozen=True, eq=False)
class JoinKey:
    """The key of the target table, and the rules by which source rows get it."""

    source_side: str
    columns: tuple[str, ...]  # of the key
    codes: Array  # the key of each row of that table, `NO_KEY` for none
    count: int
    key_rules: tuple[KeyRule, ...]
    program: Program | None = None  # that makes the key of the columns, if rewritten
    refinement: KeyRefinement | None = None  # separates rows that share a key
    lists: RowLists | None = None  # of all rows near each left row, beside the nearest

    @property
    def target_side(self) -> str:
        return "right" if self.source_side == "left" else "left"

    @cached_property
    def rule_of(self) -> Array:
        """The rule that gives each source row its key: the first whose key exists."""
        rule = np.full(len(self.key_rules[0].codes), NO_RULE, np.int64)
        exists = find_first_rows(self.codes, self.count) >= 0
        for index in reversed(range(len(self.key_rules))):
            rule[exists[self.key_rules[index].codes]] = index
        return rule

    @cached_property
    def source_codes(self) -> Array:
        """The key of each source row."""
        codes = np.full(len(self.rule_of), NO_KEY, np.int64)
        for index, rule in enumerate(self.key_rules):
            rows = self.rule_of == index
            codes[rows] = rule.codes[rows]
        return codes

    @cached_property
    def keys(self) -> Keys:
        """The keys of the left and right rows."""
        sides, count = (self.source_codes, self.codes), self.count
        if self.refinement is not None:
            *finer, count = self.refinement.keys_of(*sides, count)
            sides = finer[0], finer[1]
        return Keys(*(sides if self.source_side == "left" else sides[::-1]), count)

    @cached_property
    def target_joined(self) -> Array:
        """Whether each target row has a match."""
        matched = find_first_rows(self.source_codes, self.count) >= 0
        return np.asarray(matched[self.codes])

    @property
    def joined(self) -> tuple[int, int]:
        """The number of left and right rows with a match."""
        counts = int(np.count_nonzero(self.rule_of >= 0)), int(np.count_nonzero(self.target_joined))
        return counts if self.source_side == "left" else (counts[1], counts[0])

    @property
    def matched_sources(self) -> tuple[Array, Array]:
        """Each matched source row, with the first target row of its key."""
        rows = np.flatnonzero(self.rule_of >= 0)
        return rows, find_first_rows(self.codes, self.count)[self.source_codes[rows]]

    @property
    def matched_targets(self) -> tuple[Array, Array]:
        """Each matched target row, with the first source row of its key."""
        rows = np.flatnonzero(self.target_joined)
        return rows, find_first_rows(self.source_codes, self.count)[self.codes[rows]]

    @property
    def more_targets_join(self) -> bool:
        """Whether a larger share of the target rows than of the source rows is matched."""
        return bool(self.target_joined.mean() > (self.rule_of >= 0).mean())

    def with_rule(self, rule: KeyRule) -> JoinKey:
        """Add a rule, for source rows that get no key by the others."""
        return replace(self, key_rules=(*self.key_rules, rule))


NamePairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RejectedJoin:
    """A candidate join that was rejected."""

    words: str
    left_rows: int
    right_rows: int
    why: str  # it was rejected


@dataclass(frozen=True, eq=False)
class JoinTask:
    """Two tables to join, the options, and what was tried."""

    left: pa.Table
    right: pa.Table
    options: JoinOptions
    report_progress: Progress
    names: tuple[str, str] = ("", "")  # of the tables, if known
    attempts: list[RejectedJoin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agreement_cache: dict[Any, list[Agreement]] = field(default_factory=dict)  # see `agreements`

    def table(self, side: str) -> pa.Table:
        return self.left if side == "left" else self.right

    def text(self, side: str, columns: Sequence[str], program: Program | None) -> pa.Array:
        """The texts to compare: a column, or the result of a program."""
        from lakejoin.codegen.arrow_programs import apply_program
        from lakejoin.codegen.programs import identity

        return apply_program(program or identity(columns[0]), self.table(side))


def side_words(source_side: str, source: str, target: str, sign: str) -> str:
    """Source and target as text, the left side first."""
    first, second = (source, target) if source_side == "left" else (target, source)
    return f"{first} {sign} {second}"
