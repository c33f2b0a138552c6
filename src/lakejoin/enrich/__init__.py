"""What can the lake add to a table so that a column of it is predicted better?"""

from __future__ import annotations

from typing import Any

from lakejoin.errors import MissingPart


def joiner() -> Any:
    """The class `LakeJoiner`; scikit-learn is loaded only now."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingPart("this needs scikit-learn: pip install 'lakejoin[ml]'") from None
    from lakejoin.enrich.transformer import LakeJoiner

    return LakeJoiner
