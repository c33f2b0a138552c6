"""Kept kernels are renewed whenever any kernel source changes."""

from __future__ import annotations

from typing import Any, cast

from lakejoin.kernels import fold, text
from lakejoin.kernels.compiled import sources_stamp


def test_the_stamp_of_a_kernel_covers_all_sources() -> None:
    for kernel in (fold.fold_texts, text.number_texts):
        cache = cast(Any, kernel)._cache
        assert cache._cache_file._source_stamp == sources_stamp()
