"""Expand abbreviations in dates and addresses before a text is encoded.

The rules are in `abbreviations.csv`, one per line; the first that applies wins. `when` says where
the short form must stand:

- `always`: anywhere;
- `date`: next to a number (`12 mar`, `mar 2020`, not `mar del plata`);
- `after`: after a word that is not a number, at the end or with a number somewhere before it
  (`main st`, `12 main st springfield`);
- `before`: elsewhere, before a word that is not a number (`st helens`, `dr jekyll`);
- `address`: if the text begins with a number, or another word is a street
  (`n main street`, `n main st`).

A number is a word that starts with a digit.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from lakejoin.encoders.protocol import Array
from lakejoin.encoders.texts import buffers


@dataclass(frozen=True)
class Abbreviations:
    """The rules as arrays, sorted by short form; rules of one form keep the order of the file."""

    shorts: Any  # distinct short forms
    starts: Array  # short form i has rules starts[i] .. starts[i + 1]
    when: Array
    word_starts: Array  # rule r has long words word_starts[r] .. word_starts[r + 1]
    longs: Any  # the words of all long forms
    streets: Any  # words that mark an address
    last_streets: Any  # words that mark one only at the end: `st` may be a saint
    digest: str

    def expanded(self, text_words: Array, codes: Array, distinct: Any) -> tuple[Array, Array, Any]:
        """Replace short forms by long ones; returns (text offsets, codes, distinct words)."""
        from lakejoin.kernels.split import expand_words

        which = pc.fill_null(pc.index_in(distinct, self.shorts), len(self.shorts)).to_numpy()
        if len(which) == 0 or which.min() == len(self.shorts):
            return text_words, codes, distinct
        starts = np.append(self.starts, self.starts[-1])
        rules = np.zeros(len(which) + 1, np.int64)
        # Each word has a contiguous run of rules: repeat the run word by word.
        counts = starts[which + 1] - starts[which]
        np.cumsum(counts, out=rules[1:])
        taken = np.repeat(starts[which] - rules[:-1], counts) + np.arange(rules[-1])
        spans = np.stack([self.word_starts[taken], self.word_starts[taken + 1]], axis=1)
        most = int((spans[:, 1] - spans[:, 0]).max())
        offsets, data = buffers(distinct)
        first = data[np.minimum(offsets[:-1], len(data) - 1)]
        new_text_words = np.empty_like(text_words)
        new_codes = np.empty(len(codes) * most, np.int64)
        count = expand_words(
            text_words,
            codes,
            (first >= ord("0")) & (first <= ord("9")),
            self._streets_of(distinct),
            rules,
            self.when[taken],
            spans,
            len(distinct),
            new_text_words,
            new_codes,
        )
        return new_text_words, new_codes[:count], pa.concat_arrays([distinct, self.longs])

    def _streets_of(self, distinct: Any) -> Array:
        from lakejoin.kernels.split import STREET, STREET_LAST

        kinds = np.zeros(len(distinct), np.uint8)
        for words, kind in ((self.streets, STREET), (self.last_streets, STREET_LAST)):
            kinds[pc.is_in(distinct, words).to_numpy(zero_copy_only=False)] = kind
        return kinds


@cache
def abbreviations() -> Abbreviations:
    """The rules that ship with lakejoin.

    >>> rules = abbreviations()
    >>> rules.shorts.to_pylist()[:3]
    ['apr', 'apt', 'aug']
    """
    from lakejoin.kernels import split

    text = files("lakejoin.encoders").joinpath("abbreviations.csv").read_text(encoding="utf-8")
    rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: row["short"])
    when_codes = {
        "always": split.ALWAYS,
        "date": split.DATE,
        "after": split.AFTER,
        "before": split.BEFORE,
        "address": split.ADDRESS,
    }
    shorts = sorted({row["short"] for row in rows})
    longs = [row["long"].split() for row in rows]
    street_rows = [row for row in rows if row["when"] in ("after", "always")]
    streets = {word for row in street_rows for word in (row["short"], row["long"])}
    ambiguous = {row["short"] for row in rows if row["when"] == "before"} & streets
    return Abbreviations(
        shorts=pa.array(shorts, pa.large_string()),
        starts=np.searchsorted([row["short"] for row in rows], [*shorts, "\U0010ffff"]),
        when=np.array([when_codes[row["when"]] for row in rows], np.int64),
        word_starts=np.cumsum([0, *(len(words) for words in longs)]),
        longs=pa.array([word for words in longs for word in words], pa.large_string()),
        streets=pa.array(sorted(streets - ambiguous), pa.large_string()),
        last_streets=pa.array(sorted(ambiguous), pa.large_string()),
        digest=xxhash.xxh3_64_hexdigest(text.encode()),
    )
