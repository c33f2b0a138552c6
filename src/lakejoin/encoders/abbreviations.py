"""Short forms in dates and addresses become long ones before a text is encoded.

The rules are data: `abbreviations.csv` beside this file, one a line, the first that fits wins.
`when` says where the short form has to stand:

- `always`: everywhere;
- `date`: beside a number (`12 mar`, `mar 2020`, not `mar del plata`);
- `after`: after a word that is no number, at the end or with a number somewhere before it
  (`main st`, `12 main st springfield`);
- `before`: elsewhere, before a word that is no number (`st helens`, `dr jekyll`);
- `address`: where the text begins with a number, or another of its words is a street
  (`n main street`, `n main st`).

A number is a word that begins with a digit.
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
    """The rules as arrays: sorted by short form, in the order of the file for each."""

    shorts: Any  # distinct short forms
    starts: Array  # rules starts[i] .. starts[i + 1] are those of short form i
    when: Array
    word_starts: Array  # long words word_starts[r] .. word_starts[r + 1] are those of rule r
    longs: Any  # the words of all long forms
    streets: Any  # words that tell an address
    last_streets: Any  # those that tell one only at the end: `st` may be a saint
    digest: str

    def expanded(self, text_words: Array, codes: Array, distinct: Any) -> tuple[Array, Array, Any]:
        """(where texts begin, codes, distinct words) with long forms in place of short ones."""
        from lakejoin.kernels.words.split import expand_words

        which = pc.fill_null(pc.index_in(distinct, self.shorts), len(self.shorts)).to_numpy()
        if len(which) == 0 or which.min() == len(self.shorts):
            return text_words, codes, distinct
        starts = np.append(self.starts, self.starts[-1])
        rules = np.zeros(len(which) + 1, np.int64)
        # The rules of a word are a run of the file's: repeat them word by word.
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
        from lakejoin.kernels.words.split import STREET, STREET_LAST

        found = np.zeros(len(distinct), np.uint8)
        for words, value in ((self.streets, STREET), (self.last_streets, STREET_LAST)):
            found[pc.is_in(distinct, words).to_numpy(zero_copy_only=False)] = value
        return found


@cache
def abbreviations() -> Abbreviations:
    """The rules that ship with lakejoin.

    >>> rules = abbreviations()
    >>> rules.shorts.to_pylist()[:3]
    ['apr', 'apt', 'aug']
    """
    from lakejoin.kernels.words import split

    text = files("lakejoin.encoders").joinpath("abbreviations.csv").read_text(encoding="utf-8")
    rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: row["short"])
    kinds = {
        "always": split.ALWAYS,
        "date": split.DATE,
        "after": split.AFTER,
        "before": split.BEFORE,
        "address": split.ADDRESS,
    }
    shorts = sorted({row["short"] for row in rows})
    longs = [row["long"].split() for row in rows]
    told = [row for row in rows if row["when"] in ("after", "always")]
    streets = {word for row in told for word in (row["short"], row["long"])}
    doubtful = {row["short"] for row in rows if row["when"] == "before"} & streets
    return Abbreviations(
        shorts=pa.array(shorts, pa.large_string()),
        starts=np.searchsorted([row["short"] for row in rows], [*shorts, "\U0010ffff"]),
        when=np.array([kinds[row["when"]] for row in rows], np.int64),
        word_starts=np.cumsum([0, *(len(words) for words in longs)]),
        longs=pa.array([word for words in longs for word in words], pa.large_string()),
        streets=pa.array(sorted(streets - doubtful), pa.large_string()),
        last_streets=pa.array(sorted(doubtful), pa.large_string()),
        digest=xxhash.xxh3_64_hexdigest(text.encode()),
    )
