"""How must texts be spelt to meet as canonical values do? A common form, and the exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.joins.autojoin.applying import apply
from lakejoin.joins.autojoin.casing import agreed
from lakejoin.joins.autojoin.programs import Program
from lakejoin.joins.keys import NO_KEY
from lakejoin.joins.ways import LISTED, NO_WAY, Found

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]
Text = tuple[Program, "pa.Table"]
# A text, and the key that it means; None: it means none. Numbers where numbers are compared.
Respelt = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Normal:
    """A form in which texts are compared; all systems give the same, see `casing`."""

    trim: bool = False  # of blanks, and of nothing else
    lower: bool = False

    def of(self, texts: pa.Array) -> pa.Array:
        """The texts in that form."""
        import pyarrow.compute as pc

        texts = pc.utf8_trim(texts, " ") if self.trim else texts
        return pc.utf8_lower(texts) if self.lower else texts


FORMS = (Normal(), Normal(trim=True), Normal(lower=True), Normal(trim=True, lower=True))


@dataclass(frozen=True, slots=True)
class Spelling:
    """A form, and the texts that in this form have another key than they should.

    `rows` are the source rows, by way, and `key_rows` the other table's, that such texts concern.
    """

    normal: Normal
    key: Respelt
    ways: tuple[Respelt, ...]
    rows: tuple[int, ...]
    key_rows: int
    stands: tuple[pa.Array, Array]  # texts, and the place of the one that stands for each key

    def texts_of(self, keys: Array) -> tuple[str, ...]:
        """The texts that keys are written as, where they are any."""
        texts, chosen = self.stands
        places = chosen[keys]
        return tuple(texts.take(places[places >= 0]).to_pylist())

    @property
    def exceptions(self) -> int:
        """How many texts have to be listed beside the form."""
        return len(self.key) + sum(map(len, self.ways))


def spelling_of(found: Found, ways: Sequence[Text], key: Text) -> Spelling:
    """The form with the fewest exceptions; the plainest of equals."""
    target = _Texts.of(apply(*key), found.codes, np.ones(len(found.codes), bool))
    sources = []
    for place, text in enumerate(ways):
        # A row that joins in an earlier way never comes to this one.
        asked = (found.way_of == NO_WAY) | (found.way_of >= place)
        wanted = np.where(found.way_of == place, found.ways[place].codes, NO_KEY)
        sources.append(_Texts.of(apply(*text), wanted, asked))
    folds = all(agreed(one.texts) for one in (target, *sources))
    best: Spelling | None = None
    for normal in FORMS:
        if normal.lower and not folds:
            continue
        listed = [way.kind in LISTED for way in found.ways]
        spelling = _spelling(normal, target, sources, listed, found.count)
        if spelling and (best is None or spelling.exceptions < best.exceptions):
            best = spelling
        if best and not best.exceptions:
            break
    assert best is not None, "texts as they are never contradict each other"
    return best


@dataclass(frozen=True, eq=False)
class _Texts:
    """Distinct texts, the key that each should have, and in how many rows it stands."""

    texts: pa.Array
    codes: Array
    rows: Array

    @staticmethod
    def of(texts: pa.Array, codes: Array, asked: Array) -> _Texts:
        import pyarrow as pa

        asked = asked & texts.is_valid().to_numpy(zero_copy_only=False)
        encoded = texts.filter(pa.array(asked)).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        wanted = np.full(len(encoded.dictionary), NO_KEY, np.int64)
        np.maximum.at(wanted, numbers, codes[asked])
        rows = np.bincount(numbers, minlength=len(wanted))
        return _Texts(encoded.dictionary, wanted, rows)

    def formed(self, normal: Normal) -> _Formed:
        """The same in a form, by its distinct texts."""
        encoded = normal.of(self.texts).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return _Formed(encoded.dictionary, numbers, self.codes, self.rows)


@dataclass(frozen=True, eq=False)
class _Formed:
    """Texts in a form: `numbers` is the place of each original in the distinct `texts`."""

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
        """Whether texts that are the same in this form should have different keys."""
        return bool((self.code[self.numbers] != self.codes).any())

    @cached_property
    def count(self) -> Array:
        """In how many rows each distinct text stands."""
        return np.bincount(self.numbers, self.rows, len(self.texts)).astype(np.int64)

    def most_common(self, count: int) -> Array:
        """The text that stands for each key: that of most rows; -1 where there is none."""
        chosen = np.full(count, -1, np.int64)
        order = np.lexsort((-np.arange(len(self.texts)), self.count))
        order = order[self.code[order] >= 0]
        chosen[self.code[order]] = order
        return chosen


def _spelling(
    normal: Normal, target: _Texts, sources: Sequence[_Texts], listed: Sequence[bool], count: int
) -> Spelling | None:
    """The exceptions that a form needs; None where it says the same of different keys."""
    formed = target.formed(normal)
    mine = [source.formed(normal) for source in sources]
    if formed.contradicts or any(one.contradicts for one in mine):
        return None
    chosen = formed.most_common(count)
    stands = np.zeros(len(formed.texts), bool)
    stands[chosen[chosen >= 0]] = True
    off = (formed.code >= 0) & ~stands
    key = dict(_listed(formed, off, formed.texts, chosen))
    ways, rows = [], []
    for one, is_list in zip(mine, listed, strict=True):
        wrong = one.code >= 0 if is_list else one.code != _met(one, formed, stands)
        ways.append(dict(_listed(one, wrong, formed.texts, chosen)))
        rows.append(int(one.count[wrong].sum()))
    key_rows = int(formed.count[off].sum())
    return Spelling(normal, key, tuple(ways), tuple(rows), key_rows, (formed.texts, chosen))


def _met(source: _Formed, target: _Formed, stands: Array) -> Array:
    """The key that each text meets where the form is all that is compared.

    A text that means nothing on the other side is met as well, and there must not be: -2.
    """
    import pyarrow.compute as pc

    place = pc.index_in(source.texts, value_set=target.texts).fill_null(-1)
    places = place.to_numpy(zero_copy_only=False).astype(np.int64)
    code = np.where(target.code < 0, -2, np.where(stands, target.code, NO_KEY))
    return np.asarray(np.append(code, NO_KEY)[places])


def _listed(
    formed: _Formed, wrong: Array, keys: pa.Array, chosen: Array
) -> Iterator[tuple[str, str | None]]:
    places = np.flatnonzero(wrong)
    texts = formed.texts.take(places).to_pylist()
    for text, code in zip(texts, formed.code[places], strict=True):
        yield text, keys[int(chosen[code])].as_py() if code >= 0 else None
