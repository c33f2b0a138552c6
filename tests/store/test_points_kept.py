"""Point sets as a component of a segment: kept as the rows make them, and damage is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakejoin.errors import DamagedIndex
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.point_detection import PointSet, find_point_sets
from lakejoin.store.point_sets import PointsComponent, PointsWriter
from lakejoin.store.segment import COMPONENTS, Segment, add_components
from lakejoin.store.segment_builder import SegmentBuilder
from oracle.lakes import PlainTable, encoded

TOWNS = PlainTable(
    "towns.csv",
    {
        "name": ["Bern", "Oslo", "Thun", "Bern"],
        "people": ["134000", "709000", "43700", "134000"],
        "lat": ["46.948", "59.913", "46.758", "46.948"],
        "lon": ["7.4474", "10.7522", "7.6280", "7.4474"],
    },
)


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    builder = SegmentBuilder(Location.of(tmp_path) / "s")
    builder.add(encoded(TOWNS))
    return Segment(Location.of(tmp_path) / "s", builder.finish((*COMPONENTS, PointsComponent())))


def test_they_are_those_of_the_rows(segment: Segment) -> None:
    kinds = [segment.points.kind(s) for s in range(segment.points.count)]
    assert "place" in kinds
    assert "points match the rows" in list(segment.check())


class _Wrong:
    """Point sets that differ from what the rows make."""

    name, version, made_with = "points", 1, "wrong"

    def __init__(self, change: str) -> None:
        self._change = change

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        found = list(find_point_sets(source))
        first = found[0]
        if self._change == "points":
            first = PointSet(first.kind, first.columns, first.points + 1, first.repeats)
        elif self._change == "repeats":
            first = PointSet(first.kind, first.columns, first.points, first.repeats + 1)
        elif self._change == "column":
            first = PointSet(first.kind, (0,), first.points, first.repeats)
        sets = {"fewer": found[1:], "more": [*found, first]}.get(self._change, [first, *found[1:]])
        writer = PointsWriter(out)
        for one in sets:
            writer.add(one)
        writer.finish()


@pytest.mark.parametrize("change", ["points", "repeats", "column", "fewer", "more"])
def test_other_points_are_noticed(segment: Segment, change: str) -> None:
    record = add_components(segment, [_Wrong(change)])  # type: ignore[list-item]
    with pytest.raises(DamagedIndex, match="points match the rows"):
        list(Segment(segment.location, record).check())


def test_damage_is_found(segment: Segment, tmp_path: Path) -> None:
    path = tmp_path / "s" / segment.record.components["points"].file
    whole = path.read_bytes()
    for place in range(0, len(whole), len(whole) // 30):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(DamagedIndex, match=path.name):
            list(Segment(segment.location, segment.record).check())
