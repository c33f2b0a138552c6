"""Match texts with keys by 64-bit hashes, ignoring case and extra blanks.

Learning compares the results of hundreds of programs with the same keys by hash; the joined rows
are finally found by canonical values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.values.text_arrays import read_only, text_buffers

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]


def hashes_of(texts: pa.LargeStringArray) -> Array:
    """The hash of every text, 0 if it is null or empty.

    >>> import pyarrow as pa
    >>> hashes = hashes_of(pa.array(["Züg  A", " züg a ", "", None], pa.large_string()))
    >>> bool(hashes[0] == hashes[1]), hashes[2:].tolist()
    (True, [0, 0])
    """
    import pyarrow.compute as pc

    from lakejoin.kernels.text_tables import hash_plain_texts

    flat = text_buffers(texts)
    if flat.data[flat.offsets[0] : flat.offsets[-1]].max(initial=0) >= 128:  # beyond ASCII
        flat = text_buffers(pc.utf8_lower(texts))
    return np.asarray(hash_plain_texts(*flat))


class KeyTable:
    """The distinct keys of a column.

    >>> import pyarrow as pa
    >>> keys = KeyTable(hashes_of(pa.array(["Bern", "Ulm", None, "bern"], pa.large_string())))
    >>> len(keys), keys.counts.tolist()
    (2, [2, 1])
    >>> keys.places(hashes_of(pa.array(["ulm ", "Bonn"], pa.large_string()))).tolist()
    [1, -1]
    """

    def __init__(self, hashes: Array) -> None:
        from lakejoin.kernels.text_tables import build_hash_table

        self._slots, self._distinct, self.counts, self.first_rows = build_hash_table(read_only(hashes))

    def __len__(self) -> int:
        return len(self._distinct)

    def places(self, hashes: Array) -> Array:
        """The code of the key that each text matches, -1 for none."""
        from lakejoin.kernels.text_tables import look_up_hashes

        return np.asarray(look_up_hashes(self._slots, self._distinct, read_only(hashes)))
