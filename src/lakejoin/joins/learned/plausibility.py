"""Decide whether the matches of learned programs are more than coincidence."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Constant, Program, is_cut, takes_all
from lakejoin.joins.learned.program_cover import LearnedProgram, LearningTables
from lakejoin.joins.learned.program_learner import KeyTable
from lakejoin.joins.learned.row_samples import sample_rows
from lakejoin.joins.row_keys import NO_KEY, KeyColumn
from lakejoin.model import Array, ColumnType, ValueRules
from lakejoin.signals.chance import evidence, match_chance_by
from lakejoin.values.column_encoder import encode_query

_NATS = 20.0
_NATS_IF_RARE = 12.0
_RARE = 0.05  # chance up to which wrong values almost never match
_SHORT = 5.0  # characters on average
# The share that must match, by least mean length; and if the key itself is cut.
_SHARES = ((20.0, 0.15), (8.0, 0.3), (_SHORT, 0.5), (0.0, 0.65))
_SHARE_IF_CUT = 0.9
_NEARLY_ALL, _FEW_NATS = 0.8, 6.0  # of a tiny table
_MOSTLY_DISTINCT = 0.8
_OFTEN = 0.2
_LOOKED_AT = 500
_WORD = 2  # least letters of a constant that may be a value
_MOSTLY = 0.5  # of the characters
_HALF = 0.5  # of the numbers in a range
_SYNTAX = '{}"\\'  # of JSON, and of other languages
_CENTURY = 2  # digits that may be added before the year of a date
_ENDS = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class ProgramEvidence:
    """Evidence for programs: values of the smaller side, the share that matches, and by chance."""

    values: int
    share: float
    chance: float
    length: float  # of the matching texts, on average
    shared_dates: bool  # whether they are dates that rows share
    cut: bool  # whether only a part of the key is matched
    fragments: bool  # whether short texts are matched by fragments of longer ones
    writes_data: bool = False  # whether a constant is the value of an unused column
    writes_dates: bool = False  # whether constants supply parts of dates
    invented: str = ""  # why no such program is worth considering

    @property
    def nats(self) -> float:
        return evidence(self.values, self.share, self.chance)

    @property
    def why_spurious(self) -> str:
        """Why the matches prove nothing, however many there are; "" if they do."""
        if self.invented:
            return self.invented
        if self.shared_dates:
            return "dates match in any two tables"
        if self.writes_dates:
            return "the rule supplies parts of the dates itself, and dates match in any two tables"
        if self.writes_data:
            return "the rule writes one value of another column into every row"
        if self.fragments and self.chance > _OFTEN:
            return f"{self.chance:.0%} of other fragments this short would match too"
        return ""

    @property
    def is_telling(self) -> bool:
        """Whether the matches are evidence even if they are a small share of the values."""
        return not self.why_spurious and (
            self.share >= self._least or (self.length >= _SHORT and not self.cut)
        )

    @property
    def why_not(self) -> str:
        """Why the programs are not believed; "" if they are."""
        if made_up := self.why_spurious:
            return made_up
        if self.share < self._least:
            return f"only {self.share:.0%} of the values match"
        if self.share >= _NEARLY_ALL and self.chance <= 2 * _RARE and self.nats >= _FEW_NATS:
            return ""
        rare = self.chance <= _RARE and self.length >= _SHORT
        if self.nats < (_NATS_IF_RARE if rare else _NATS):
            if self.chance <= _RARE:
                return "too few values match to rule out coincidence"
            return f"{self.chance:.0%} of deliberately wrong values would match too"
        return ""

    @property
    def _least(self) -> float:
        least = next(share for length, share in _SHARES if self.length >= length)
        return max(least, _SHARE_IF_CUT) if self.cut else least


def weigh_programs(
    tables: LearningTables, target: Program, programs: list[LearnedProgram]
) -> ProgramEvidence:
    hashes, matches = tables.first_matches(programs)
    outputs, keys = KeyTable(hashes), tables.keys
    shared = int(np.count_nonzero(np.bincount(matches[matches >= 0], minlength=len(keys))))
    fewer = min(len(outputs), len(keys))
    share = shared / max(1, fewer)
    rows = np.flatnonzero(matches >= 0)
    some = tables.source.take(rows[sample_rows(len(rows), _LOOKED_AT, 2)])
    texts = _lower(apply_program(programs[0].program, some))
    if len(outputs) <= len(keys):
        chance = match_chance_by(texts.unique().drop_null(), keys.contains)
    else:
        sample = _lower(tables.target.take(sample_rows(len(tables.target), _LOOKED_AT, 2)))
        chance = match_chance_by(sample.unique().drop_null(), outputs.contains)
    mixed = programs[0].by_chance * len(rows) / max(1, int(np.count_nonzero(hashes)))
    length = _mean_length(texts)
    dates = _are_dates(tables)
    return ProgramEvidence(
        fewer,
        share,
        max(chance, mixed),
        length,
        dates and _are_shared(outputs, hashes),
        not all(takes_all(part) and not part.splits for part in target.extracts),
        length < _SHORT and is_cut(programs[0].program),
        _writes_data(programs[0].program, tables.source),
        dates and any(_digits(believed.program) > _CENTURY for believed in programs),
        _find_invention(programs[0].program, texts),
    )


def _find_invention(program: Program, texts: pa.LargeStringArray) -> str:
    """Why a program invents its results: it builds syntax, or writes most of every text itself."""
    constants = [o.text for o in program.operators if isinstance(o, Constant)]
    if any(sign in text for text in constants for sign in _SYNTAX):
        return "the rule builds syntax around the values"
    share = sum(map(len, constants)) / max(1.0, _mean_length(texts))
    rest = texts
    for text in constants:
        rest = pc.replace_substring(rest, text.lower(), "")
    if share > (_MOSTLY if _count_up(rest.unique().drop_null()) else _NEARLY_ALL):
        return "the rule writes most of every text itself"
    return ""


def _count_up(texts: pa.LargeStringArray) -> bool:
    """Whether texts are whole numbers with few gaps."""
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, r"^\d{1,15}$")).as_py():
        return False
    ends = pc.min_max(texts.cast(pa.int64()))
    return bool(len(texts) >= _HALF * (1 + ends["max"].as_py() - ends["min"].as_py()))


def _writes_data(program: Program, source: pa.Table) -> bool:
    """Whether a constant is a value of a column that the program does not use."""
    constants = (o.text for o in program.operators if isinstance(o, Constant))
    written = {_ENDS.sub("", text).lower() for text in constants}
    written = {text for text in written if len(text) >= _WORD}
    others = [name for name in source.column_names if name not in program.columns]
    rows = source.select(others).take(sample_rows(len(source), _LOOKED_AT, 2)) if written else None
    return rows is not None and any(
        pc.any(pc.equal(pc.utf8_lower(column.cast("large_string")), text)).as_py()
        for column in rows.columns
        for text in written
    )


def _lower(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return pc.utf8_trim_whitespace(pc.utf8_lower(texts))


def _mean_length(texts: pa.LargeStringArray) -> float:
    return float(pc.mean(pc.utf8_length(texts)).as_py() or 0.0)


def _are_dates(tables: LearningTables) -> bool:
    sample = tables.target.take(sample_rows(len(tables.target), _LOOKED_AT, 2))
    return encode_query(sample).profile.type is ColumnType.DATE


def _are_shared(outputs: KeyTable, hashes: Array) -> bool:
    """Whether many source rows share a key."""
    return len(outputs) < _MOSTLY_DISTINCT * max(1, int(np.count_nonzero(hashes)))


def _digits(program: Program) -> int:
    """The number of digits in the constants of a program."""
    constants = [o.text for o in program.operators if isinstance(o, Constant)]
    return sum(letter.isdigit() for text in constants for letter in text)


def match_keys(
    tables: LearningTables, program: Program, key: KeyColumn, rules: ValueRules
) -> Array:
    """The key that each source row matches, `NO_KEY` for none."""
    texts = apply_program(program, tables.source)
    codes = _match_exactly(tables, program, texts, key)
    return key.codes_of(encode_query(texts, rules)) if codes is None else codes


def _match_exactly(
    tables: LearningTables, program: Program, made: pa.LargeStringArray, key: KeyColumn
) -> Array | None:
    """The keys that the results equal exactly; None if any result equals no key."""
    hashes, key_codes = tables.result_hashes(program), tables.matched_keys(program)
    if ((key_codes < 0) & (hashes != 0)).any():
        return None
    rows = np.flatnonzero(key_codes >= 0)
    partners = tables.keys.first_rows[key_codes[rows]]
    some = made if len(rows) == len(made) else made.take(pa.array(rows))
    if not pc.all(pc.equal(some, tables.target.take(pa.array(partners)))).as_py():
        return None
    codes = np.full(len(made), NO_KEY, np.int64)
    codes[rows] = key.codes[partners]
    return codes
