"""Enrichment: finds lake columns that help to predict a column of a table."""

from __future__ import annotations

from typing import Any

from lakejoin.errors import MissingDependency


def joiner() -> Any:
    """Import the class `LakeJoiner`, and with it scikit-learn."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependency("this needs scikit-learn: pip install 'lakejoin[ml]'") from None
    from lakejoin.enrich.transformer import LakeJoiner

    return LakeJoiner
