"""The characters on whose lower and upper case all systems agree.

We use Arrow's `utf8_lower` and `utf8_upper`, which map each character by itself. pandas, polars,
DuckDB and Spark do the same except for a few characters: those whose other case is several
characters (ß), those that depend on their neighbours (Σ), and those too new for some systems.
Learned programs change the case only of columns without such characters, so that generated code
gives the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Found by comparing all systems for every character, as tests/joins/autojoin/test_code.py does.
CONTESTED = (
    "[ßİıŉƛǄ-ǌǰǱ-ǳɤɷɼͅΐΰΣςև\u10d0-\u10ff\u13a0-\u13ff\u1c80-\u1cbf\u1e96-\u1e9e\u1f50-\u1fff"
    "\u2c2f\u2c5f\ua7ae-\ua7ff\uab53-\uabbf\ufb00-\ufb17\U00010570-\U000105bf"
    "\U00010d50-\U00010d8f\U00016ea0-\U00016eff\U0001df00-\U0001dfff]"
)


def has_agreed_case(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether all systems give this column's texts the same lower and upper case.

    >>> import pyarrow as pa
    >>> has_agreed_case(pa.array(["Zürich", None, "ΑΒΓ"])), has_agreed_case(pa.array(["Straße"]))
    (True, False)
    """
    import pyarrow.compute as pc

    return not pc.any(pc.match_substring_regex(column, CONTESTED)).as_py()
