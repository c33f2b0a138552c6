"""SimHash of a text: the majority, bit by bit, of the hashes of its n-grams."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import hash_text
from lakejoin.kernels.jit import kernel
from lakejoin.kernels.superkey_rows import draw_word
from lakejoin.model import Array

GRAM = 3  # bytes of an n-gram
_U0 = np.uint64(0)
_U1 = np.uint64(1)


@kernel
def simhash_texts(offsets: Array, data: Array, out: Array) -> None:
    """Compute the SimHash of the texts' n-grams of bytes; a shorter text is one n-gram.

    A bit is set if more n-grams have it set in their hash than not.
    """
    words = out.shape[1]
    votes = np.zeros(64 * words, dtype=np.int64)
    for i in range(out.shape[0]):
        votes[:] = 0
        p, stop = offsets[i], offsets[i + 1]
        while True:
            h = hash_text(data, p, min(p + GRAM, stop), _U0)
            for w in range(words):
                word = draw_word(h, w)
                for b in range(64):
                    votes[64 * w + b] += 2 * np.int64((word >> np.uint64(b)) & _U1) - 1
            p += 1
            if p + GRAM > stop:
                break
        out[i] = _U0
        for bit in range(64 * words):
            if votes[bit] > 0:
                out[i, bit >> 6] |= _U1 << np.uint64(bit & 63)
