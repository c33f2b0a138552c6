"""Find the form in which texts match like their canonical values, and the exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import apply_program, has_agreed_case
from lakejoin.codegen.join_plan import Spellings, TextForm
from lakejoin.codegen.programs import Program
from lakejoin.joins.join_key import LISTED_KINDS, NO_RULE, JoinKey
from lakejoin.joins.row_keys import NO_KEY
from lakejoin.model import Array

Text = tuple[Program, "pa.Table"]

FORMS = (TextForm(), TextForm(trim=True), TextForm(lower=True), TextForm(trim=True, lower=True))


@dataclass(frozen=True, slots=True)
class Spelling:
    """A form, and the texts that get the wrong key in this form.

    `rows` are the source rows per rule, and `key_rows` the target rows, with such texts.
    """

    normal: TextForm
    key: Spellings
    ways: tuple[Spellings, ...]
    rows: tuple[int, ...]
    key_rows: int
    key_texts: tuple[pa.Array, Array]  # texts, and the position of the text of each key

    def texts_of(self, keys: Array) -> tuple[str, ...]:
        """The texts of keys that have one."""
        texts, chosen = self.key_texts
        positions = chosen[keys]
        return tuple(texts.take(positions[positions >= 0]).to_pylist())

    @property
    def exceptions(self) -> int:
        """How many texts must be listed as exceptions."""
        return len(self.key) + sum(map(len, self.ways))


def find_spelling(found: JoinKey, ways: Sequence[Text], key: Text) -> Spelling:
    """The form with the fewest exceptions; the simplest of equals."""
    target = _Texts.of(apply_program(*key), found.codes, np.ones(len(found.codes), bool))
    sources = []
    for index, text in enumerate(ways):
        # Rows that match by an earlier rule never reach this one.
        reached = (found.rule_of == NO_RULE) | (found.rule_of >= index)
        codes = np.where(found.rule_of == index, found.key_rules[index].codes, NO_KEY)
        sources.append(_Texts.of(apply_program(*text), codes, reached))
    folds = all(has_agreed_case(side.texts) for side in (target, *sources))
    best: Spelling | None = None
    for normal in FORMS:
        if normal.lower and not folds:
            continue
        listed = [way.kind in LISTED_KINDS for way in found.key_rules]
        spelling = _spelling(normal, target, sources, listed, found.count)
        if spelling and (best is None or spelling.exceptions < best.exceptions):
            best = spelling
        if best and not best.exceptions:
            break
    assert best is not None, "unchanged texts never contradict each other"
    return best


@dataclass(frozen=True, eq=False)
class _Texts:
    """Distinct texts, the key that each should have, and its number of rows."""

    texts: pa.Array
    codes: Array
    rows: Array

    @staticmethod
    def of(texts: pa.Array, codes: Array, reached: Array) -> _Texts:
        reached = reached & texts.is_valid().to_numpy(zero_copy_only=False)
        encoded = texts.filter(pa.array(reached)).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        key_of = np.full(len(encoded.dictionary), NO_KEY, np.int64)
        np.maximum.at(key_of, numbers, codes[reached])
        rows = np.bincount(numbers, minlength=len(key_of))
        return _Texts(encoded.dictionary, key_of, rows)

    def formed(self, normal: TextForm) -> _Formed:
        encoded = normal.of(self.texts).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return _Formed(encoded.dictionary, numbers, self.codes, self.rows)


@dataclass(frozen=True, eq=False)
class _Formed:
    """Texts in a form: `numbers` is the position of each original in the distinct `texts`."""

    texts: pa.Array
    numbers: Array
    codes: Array
    rows: Array

    @cached_property
    def code(self) -> Array:
        """The key of each distinct text."""
        code = np.full(len(self.texts), NO_KEY, np.int64)
        np.maximum.at(code, self.numbers, self.codes)
        return code

    @property
    def contradicts(self) -> bool:
        """Whether texts that are equal in this form should have different keys."""
        return bool((self.code[self.numbers] != self.codes).any())

    @cached_property
    def count(self) -> Array:
        """The number of rows of each distinct text."""
        return np.bincount(self.numbers, self.rows, len(self.texts)).astype(np.int64)

    def most_common(self, count: int) -> Array:
        """The most common text of each key; -1 if it has none."""
        chosen = np.full(count, -1, np.int64)
        order = np.lexsort((-np.arange(len(self.texts)), self.count))
        order = order[self.code[order] >= 0]
        chosen[self.code[order]] = order
        return chosen


def _spelling(
    normal: TextForm, target: _Texts, sources: Sequence[_Texts], listed: Sequence[bool], count: int
) -> Spelling | None:
    """The exceptions that a form needs; None if it makes texts of different keys equal."""
    formed = target.formed(normal)
    formed_sources = [source.formed(normal) for source in sources]
    if formed.contradicts or any(source.contradicts for source in formed_sources):
        return None
    chosen = formed.most_common(count)
    stands = np.zeros(len(formed.texts), bool)
    stands[chosen[chosen >= 0]] = True
    off = (formed.code >= 0) & ~stands
    key = dict(_listed(formed, off, formed.texts, chosen))
    ways, rows = [], []
    for source, is_list in zip(formed_sources, listed, strict=True):
        wrong = source.code >= 0 if is_list else source.code != _met(source, formed, stands)
        ways.append(dict(_listed(source, wrong, formed.texts, chosen)))
        rows.append(int(source.count[wrong].sum()))
    key_rows = int(formed.count[off].sum())
    return Spelling(normal, key, tuple(ways), tuple(rows), key_rows, (formed.texts, chosen))


def _met(source: _Formed, target: _Formed, stands: Array) -> Array:
    """The key that each text matches if only the form is compared.

    -2 if it matches a text without a key on the other side, which it must not.
    """
    index = pc.index_in(source.texts, value_set=target.texts).fill_null(-1)
    positions = index.to_numpy(zero_copy_only=False).astype(np.int64)
    code = np.where(target.code < 0, -2, np.where(stands, target.code, NO_KEY))
    return np.asarray(np.append(code, NO_KEY)[positions])


def _listed(
    formed: _Formed, wrong: Array, keys: pa.Array, chosen: Array
) -> Iterator[tuple[str, str | None]]:
    positions = np.flatnonzero(wrong)
    texts = formed.texts.take(positions).to_pylist()
    for text, code in zip(texts, formed.code[positions], strict=True):
        yield text, keys[int(chosen[code])].as_py() if code >= 0 else None
