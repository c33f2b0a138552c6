"""Examples to learn programs from: rows and their targets, as code points.

All texts are in one lower-case array; a text is its begin and end there. So kernels can work on
any few examples without reading or splitting anything again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_ASCII = np.array([*(chr(c).isalnum() for c in range(128)), False])


@dataclass(frozen=True, eq=False)
class Examples:
    """The texts of each example's columns, and its target.

    >>> examples = examples_of({"name": ["Ulm", None]}, ["ulm (D)", "Bern (CH)"])
    >>> examples.texts, examples.begins.tolist(), examples.goals.tolist()
    ('ulmulm (d)bern (ch)', [[0], [3]], [[3, 10], [10, 19]])
    """

    columns: tuple[str, ...]
    targets: Sequence[str]
    texts: str  # all, concatenated
    chars: Array
    alnum: Array  # whether each is a letter or a digit
    begins: Array  # of each row's columns; a missing text is empty
    ends: Array
    goals: Array  # begin and end of each row's target

    def __len__(self) -> int:
        return len(self.targets)


def examples_of(columns: dict[str, list[str | None]], targets: Sequence[str]) -> Examples:
    """Examples from columns with one text per target."""
    lower = {name: [folded(text or "") for text in texts] for name, texts in columns.items()}
    return folded_examples(lower, [folded(target) for target in targets], targets)


def folded_examples(
    columns: dict[str, list[str]], goals: list[str], targets: Sequence[str]
) -> Examples:
    """Examples from texts that are already folded; missing ones are empty."""
    parts = [text for column in columns.values() for text in column]
    parts += goals
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    begins = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    texts = "".join(parts)
    chars = np.frombuffer(texts.encode("utf-32-le", "surrogatepass"), np.uint32)
    rows = len(targets)
    shape = len(columns), rows
    return Examples(
        tuple(columns),
        targets,
        texts,
        chars,
        _alnum(texts, chars),
        np.ascontiguousarray(begins[: len(parts) - rows].reshape(shape).T),
        np.ascontiguousarray(ends[: len(parts) - rows].reshape(shape).T),
        np.stack((begins, ends), axis=1)[len(parts) - rows :],
    )


def folded(text: str) -> str:
    """The text in lower case, with every character at its position.

    >>> folded("İstanbul"), folded("ÉCOLE")
    ('İstanbul', 'école')
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _alnum(texts: str, chars: Array) -> Array:
    alnum = _ASCII[np.minimum(chars, 128)]
    if not texts.isascii():
        others = [ord(c) for c in set(texts) if c > "\x7f" and c.isalnum()]
        alnum |= np.isin(chars, np.array(others, np.uint32))
    return np.asarray(alnum)
