"""The mapped postings of all segments as one matrix of addresses, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lakejoin.engines.overlap.postings_view import ARRAYS, CHECKED, COLUMNS, WIDTH
from lakejoin.store.arrayfile import ArrayFile, CheckedArray

Array = np.ndarray[Any, Any]


class PostingsMatrix:
    """One row per segment for `open_postings`; keeps the files mapped.

    `blocks` is how many flags the note of blocks to verify needs.
    """

    def __init__(self, files: Sequence[ArrayFile]) -> None:
        self.rows = np.zeros((len(files), WIDTH), dtype=np.int64)
        self._files = tuple(files)
        self._arrays: list[CheckedArray] = []
        self._before: list[int] = []
        self.blocks = 1  # the first flag says whether any block is noted
        for row, file in zip(self.rows, files, strict=True):
            self._enter(row, file)

    def _enter(self, row: Array, file: ArrayFile) -> None:
        short = file.array("lists").raw.itemsize == 2
        for index, name in enumerate(ARRAYS):
            if name == ("lists" if short else "short_lists"):
                continue  # the unused of the two stays empty: its length is zero
            array = file.array("lists" if name == "short_lists" else name)
            self._arrays.append(array)
            row[3 * index : 3 * index + 3] = array.raw.ctypes.data, len(array.raw), array.offset
        row[COLUMNS] = len(file.array("set_size"))
        verified = file.verified
        row[CHECKED : CHECKED + 3] = verified.ctypes.data, len(verified), self.blocks
        self._before.append(self.blocks)
        self.blocks += len(verified)

    def verify(self, pending: Array) -> None:
        """Verify the blocks that were read unverified; raise if one is damaged."""
        if not pending[0]:
            return
        try:
            for row, file, before in zip(self.rows, self._files, self._before, strict=True):
                blocks = np.flatnonzero(pending[before : before + len(file.verified)])
                if len(blocks):
                    file.check_blocks(blocks)
                    if file.verified.all():
                        row[CHECKED + 1] = 0  # nothing left to note
        finally:
            pending[:] = 0
