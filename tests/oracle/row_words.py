"""How much matching rows agree, by sets of words and regular expressions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

Words = frozenset[str]

_WORD = re.compile(r"\w{2,}")
_SHIFTS = (1, 2, 3, 5, 8, 13)


def words_of(texts: Sequence[str | None]) -> Words:
    """The words of a row."""
    return frozenset(word for text in texts if text is not None for word in _WORD.findall(text))


def split_words(text: str) -> Words:
    """The words of a text, and the text itself."""
    return frozenset(_WORD.findall(text)) | {text}


def remove_words(words: Words, value: str) -> Words:
    """The words of a row without those of its value, ignoring leading zeros."""
    joined = split_words(value)
    numbers = {word.lstrip("0") for word in joined}
    return frozenset(word for word in words - joined if word.lstrip("0") not in numbers)


def compare_words(
    ours: Sequence[Words],
    theirs: Sequence[Words],
    beside: Sequence[Sequence[Words | None]] = (),
) -> float:
    """How much rows agree beyond rows that do not match."""
    rows = len(theirs)
    distinctive = [
        words.difference(*filter(None, others))
        for words, *others in zip(theirs, *beside, strict=True)
    ]
    counts = Counter(word for words in distinctive for word in words)

    def of_row(words: Words, their_row: Words) -> float:
        both = words & their_row
        if not both:
            return 0.0
        rarest = max(1, min(counts[word] for word in both))
        return max(0.0, math.log(rows / rarest) - math.log1p(len(words) - 1) / 2)

    matched = math.fsum(map(of_row, ours, distinctive))
    shifted = [
        math.fsum(of_row(ours[i], distinctive[(i + by) % rows]) for i in range(rows))
        for by in _SHIFTS
        if by % rows
    ]
    for others in beside:
        pairs = zip(ours, theirs, others, strict=True)
        with_other = [(own, row - same) for own, same, row in pairs if row is not None]
        if len(with_other) >= 0.25 * rows:
            shifted.append(math.fsum(of_row(*pair) for pair in with_other) * rows / len(with_other))
    return max(0.0, matched - 1.5 * max(shifted, default=matched))
