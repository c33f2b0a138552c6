"""Which role a column can have in a key, judged by its profile and name: a time, or a measure."""

from __future__ import annotations

from lakejoin.model import ColumnProfile, ColumnType
from lakejoin.signals.name_similarity import is_identifier_name

_FEW = 100  # distinct whole numbers; more are a measure, unless they are named otherwise
_YEARS = (1000, 2200)


def is_time(profile: ColumnProfile) -> bool:
    """Whether a column holds dates or years, judged by its profile."""
    if profile.type is ColumnType.DATE:
        return True
    if profile.type is not ColumnType.INTEGER or profile.max_length != 4:
        return False
    years = [text for text in profile.examples if text.isdigit()]
    return bool(years) and all(_YEARS[0] <= int(text) < _YEARS[1] for text in years)


def is_measure(name: str, profile: ColumnProfile) -> bool:
    """Whether a column measures something, as prices and counts do, instead of naming it."""
    if profile.type is ColumnType.DECIMAL:
        return True
    if profile.type is not ColumnType.INTEGER or is_time(profile) or is_identifier_name(name):
        return False
    return profile.distinct > _FEW


def are_measures(names: tuple[str, str], profiles: tuple[ColumnProfile, ColumnProfile]) -> bool:
    """Whether a pair of columns compares measures: one of them looks like one, and neither is named
    as an identifier, nor holds times."""
    if ColumnType.DECIMAL in (profiles[0].type, profiles[1].type):
        return True
    if any(map(is_identifier_name, names)) or any(map(is_time, profiles)):
        return False
    return any(map(is_measure, names, profiles))
