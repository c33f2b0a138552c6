"""The choice of tau: the knee of a curve, curves that have none, and how it looks."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakejoin.lake import Lake
from lakejoin.search.tau_choice import (
    TAU_GRID,
    TAU_SAMPLE,
    TauCounts,
    choose_tau,
    default_tau,
    find_knee,
    plot_svg,
    plot_text,
    sample_positions,
)
from oracle.lakes import PlainTable
from search.near_lakes import FEW, LIKE_THEM, STREETS, by_hand, meaning_lake, with_encoder

EXPLODES = [1] * 10 + [2] * 10 + [3, 3, 4, 5, 7, 10, 30, 90, 270, 800] + [1000] * 20


def taken(counts: list[int]) -> tuple[float, str]:
    found = choose_tau(counts, 6, 10, 0.3)
    return found.taken, found.why


def test_before_the_curve_explodes() -> None:
    tau, why = taken(EXPLODES)
    assert tau == 0.27
    assert why == (
        "tau 27%: 30 columns qualify; beyond this knee the number rises faster, to 1,000 at 31%"
    )


@pytest.mark.parametrize(
    ("counts", "tau", "why"),
    [
        ([0] * 50, 0.3, "no column qualifies at any tau up to 50%; using the encoder's default"),
        ([7] * 50, 0.01, "tau 1%: 7 columns qualify, and no more up to 50%"),
        ([0] * 20 + [1] * 30, 0.21, "tau 21%: 1 column qualifies, and no more up to 50%"),
        ([0] * 49 + [5], 0.5, "tau 50%: 5 columns qualify, and"),
        (list(range(1, 51)), 0.01, "tau 1%: the smallest at which 1 column qualifies; the"),
        ([0, 40, 44, 45] + [46] * 46, 0.02, "tau 2%: the smallest at which 40 columns qualify"),
        ([0] * 10 + [2] * 10 + [500] * 30, 0.2, "tau 20%: 2 columns qualify; beyond this knee"),
    ],
)
def test_curves(counts: list[int], tau: float, why: str) -> None:
    assert taken(counts)[0] == tau and taken(counts)[1].startswith(why)


@given(st.lists(st.integers(0, 1000), min_size=50, max_size=50))
def test_what_is_taken_lets_a_column_qualify_where_any_does(steps: list[int]) -> None:
    counts = np.sort(steps)
    found = choose_tau(counts.tolist(), 1, 1, 0.3)
    at = TAU_GRID.index(found.taken)
    assert not counts.any() or counts[at] > 0
    assert counts[at] < counts[-1] or counts[at] == counts[counts > 0].min(initial=counts[-1])


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60))
def test_the_knee_is_farthest_below_the_line(steps: list[int]) -> None:
    counts = np.sort(np.array(steps, dtype=np.float64))
    knee = find_knee(counts)
    below = np.linspace(counts[0], counts[-1], len(counts)) - counts
    assert below[knee] >= below.max() - 1e-6 * max(1, counts[-1])
    assert knee == 0 or below[knee] > 0


def test_the_usual_tau_of_encoders() -> None:
    names = ["wordllama+characters 1 {}", "characters 1 {}", "wordfile+characters 1 {}", "f 1 {}"]
    assert [default_tau(name) for name in names] == [0.3, 0.3, 0.3, 0.06]


# -- how it looks ----------------------------------------------------------------------------------


def plot(counts: list[int]) -> TauCounts:
    return choose_tau(counts, 60, 100, 0.3)


def test_the_plot_has_a_bar_a_tau_and_a_mark() -> None:
    title, *bars, axis, labels = plot_text(plot(EXPLODES))
    assert title == "columns with matches for 60 of 100 values, by tau" and len(bars) == 6
    assert bars[0].startswith("1,000 │") and bars[0].endswith("█" * 20)
    assert all(len(line) <= 58 for line in (*bars, axis, labels))
    assert bars[-1].index("│") == axis.index("└") and " " not in bars[-1].partition("│")[2]
    assert axis[axis.index("└") + 27] == "▲" and axis.count("▲") == 1
    assert [labels.index(text) + len(text) for text in ("10%", "50%")] == [17, 57]


def test_a_plot_of_nothing() -> None:
    _, *bars, axis, _ = plot_text(plot([0] * 50))
    assert "█" not in "".join(bars) and axis.index("▲") - axis.index("└") == 30
    assert "no column qualifies" in repr(plot([0] * 50))


def test_the_picture_is_sound() -> None:
    root = ElementTree.fromstring(plot_svg(plot(EXPLODES)))
    space = "{http://www.w3.org/2000/svg}"
    bars = root.findall(f"{space}rect")
    assert len(bars) == 50 and bars[0].find(f"{space}title") is not None
    assert "tau 27%: 30 columns qualify" in "".join(root.itertext())
    assert plot(EXPLODES)._repr_html_() == plot_svg(plot(EXPLODES))


def test_tables_of_it() -> None:
    taus = plot(EXPLODES)
    assert len(taus) == 50 and taus.to_arrow().column_names == ["tau", "columns"]
    assert taus.to_dict()["counts"][25] == {"tau": 0.26, "columns": 10}
    pytest.importorskip("pandas")
    assert taus.to_pandas()["columns"].tolist() == EXPLODES


# -- in a search -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    tables = [
        PlainTable("offices.csv", {"addr": LIKE_THEM}),
        PlainTable("half.csv", {"c": ["12 main street", "3 elm road", "7 oak avenue"]}),
        *(
            PlainTable(f"{i}.csv", {"c": [f"{i} hill st", f"1{i} elm", f"oak {i}"]})
            for i in range(9)
        ),
    ]
    folder = tmp_path_factory.mktemp("taus")
    return with_encoder(meaning_lake(folder, tables[::2], tables[1::2], encoder=FEW), FEW)


def test_the_counts_are_those_of_brute_force(lake: Lake) -> None:
    answer = lake.similar({"q": STREETS}, tau="auto")
    taus = answer.taus
    assert taus is not None and answer.tau == taus.taken and taus.least == 3
    values = [text.lower() for text in STREETS]
    for tau, columns in list(zip(taus.tau, taus.columns, strict=True))[4::9]:
        enough = [one for one in by_hand(lake, values, tau, FEW) if one.hits >= 3]
        assert len(enough) == columns
    assert len(answer) == taus.columns[TAU_GRID.index(taus.taken)]
    assert taus.why in answer.notes and answer.to_dict()["taus"] == taus.to_dict()
    assert "▲" in repr(answer) and "<svg" in answer._repr_html_()


def test_what_is_left_out_is_not_counted(lake: Lake) -> None:
    own, others = (
        lake.similar("offices.csv", "addr", tau="auto", min_share=1.0, skip_copies=skip).taus
        for skip in (False, True)
    )
    assert own is not None and others is not None
    assert [a - b for a, b in zip(own.columns, others.columns, strict=True)] == [1] * 50


def test_without_a_share_it_is_the_usual_one(lake: Lake) -> None:
    best = lake.similar({"q": STREETS}, tau="auto", k=1)
    assert best.taus is not None and best.taus.least == 3 and len(best) == 1


def test_many_values_are_sampled(lake: Lake) -> None:
    mine = [f"{n} elm road" for n in range(300)]
    answer = lake.similar({"q": mine}, tau="auto")
    taus = answer.taus
    assert taus is not None and (taus.least, taus.values, taus.of) == (60, TAU_SAMPLE, 300)
    assert taus.why.endswith("(counted for 100 of the 300 values)")
    assert plot_text(taus)[0].startswith("columns with matches for 60 of 100 values (a sample of 3")
    chosen = sample_positions(300)
    assert len(set(chosen.tolist())) == TAU_SAMPLE and np.array_equal(chosen, sample_positions(300))


def test_nothing_qualifies(tmp_path: Path) -> None:
    lake = meaning_lake(tmp_path, [PlainTable("t.csv", {"c": ["quartz"]})])
    answer = lake.similar({"q": ["xylophone", "bern"]}, tau="auto")
    assert len(answer) == 0 and answer.tau == 0.3
    assert answer.notes == (
        "no column qualifies at any tau up to 50%; using the encoder's default, 30%",
        "no text column in the lake has matches within tau 30% for 60% of the 2 values of 'q'",
    )
