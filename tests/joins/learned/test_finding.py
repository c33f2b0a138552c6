"""Programs are learned back from what they make, and nothing is learned where nothing is."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from lakejoin.codegen.arrow_programs import apply_program
from lakejoin.codegen.programs import Casing, Constant, Extract, Operator, Program
from lakejoin.joins.learned.program_cover import LearnOptions
from lakejoin.joins.learned.program_finder import LearnedJoin, find_programs

SYLLABLES = ("ba", "den", "ko", "ri", "mel", "tus", "van", "gor", "pli", "sha", "ew", "um")


def word(rng: random.Random) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randrange(2, 5))).capitalize()


def people(rng: random.Random, rows: int) -> pa.Table:
    names = [f"{word(rng)}, {word(rng)} ({rng.randrange(1900, 2000)})" for _ in range(rows)]
    codes = [f"{rng.choice('ABCD')}{rng.randrange(10**5):05}-{word(rng)}" for _ in range(rows)]
    return pa.table({"name": names, "code": codes, "town": [word(rng) for _ in range(rows)]})


def random_program(rng: random.Random) -> Program:
    """Parts that tell people apart, with constants between them."""
    parts: list[Operator] = [
        Extract("name", ((", ", 0),)),
        Extract("name", ((" (", 0), (", ", 1))),
        Extract("name", ((", ", 1), (" ", 0)), 0, 1),
        Extract("name", (), -5, 4),
        Extract("code", (("-", 1),)),
        Extract("code", (("-", 0),), 1),
        Extract("town"),
        Extract("town", (), 0, 3),
    ]
    chosen = rng.sample(parts, rng.randrange(1, 4))
    if not any(part in chosen for part in (parts[0], parts[1], parts[5])):
        chosen.append(parts[rng.choice([0, 1, 5])])
    made: list[Operator] = [Constant(rng.choice(["", "No. ", "http://x.org/~"]))]
    for part in chosen:
        made += [part, Constant(rng.choice([" ", "_", ", ", "@", ": "]))]
    return Program(tuple(o for o in made[:-1] if o != Constant("")))


def shuffled(column: pa.Array, rng: random.Random) -> tuple[pa.Array, list[int]]:
    order = list(range(len(column)))
    rng.shuffle(order)
    return column.take(pa.array(order)), order


@pytest.mark.parametrize("seed", range(12))
def test_a_program_is_learned_back(seed: int) -> None:
    rng = random.Random(seed)
    source, program = people(rng, 60), random_program(rng)
    made = apply_program(program, source)
    target, order = shuffled(made, rng)
    learned = find_programs(source, pa.table({"made": target}))
    assert learned, str(program)
    where = {text: i for i, text in enumerate(target.to_pylist())}
    if len(where) == len(order):
        pairs = set(zip(learned.left_rows.tolist(), learned.right_rows.tolist(), strict=True))
        true = {(source_row, place) for place, source_row in enumerate(order)}
        right = len(pairs & true)
        assert right >= 0.97 * len(pairs) and right >= 0.97 * len(true), str(program)
    if learned.source_side == "left" and len(learned.programs) == 1:
        given = apply_program(learned.programs[0].program, source).to_pylist()
        assert given == made.to_pylist(), str(learned.programs[0].program)


def test_the_same_is_learned_every_time_and_on_either_side() -> None:
    rng = random.Random(3)
    source = people(rng, 40)
    target, _ = shuffled(apply_program(Program((Extract("name", ((",", 0),)),)), source), rng)
    other = pa.table({"last": target})
    one, again, mirrored = (
        find_programs(source, other),
        find_programs(source, other),
        find_programs(other, source),
    )
    assert [p.program for p in one.programs] == [p.program for p in again.programs]
    assert (one.source_side, mirrored.source_side) == ("left", "right")
    assert one.left_rows.tolist() == again.left_rows.tolist()
    pairs = set(zip(one.left_rows.tolist(), one.right_rows.tolist(), strict=True))
    assert pairs == set(zip(mirrored.right_rows.tolist(), mirrored.left_rows.tolist(), strict=True))


def test_the_case_is_that_of_the_target() -> None:
    names = pa.table({"name": ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Gödel"]})
    users = pa.table({"user": ["ALovelace1", "aturing", "ghopper", "kgödel"][1:]})
    learned = find_programs(names, users)
    assert (
        apply_program(learned.programs[0].program, names).to_pylist()[1:]
        == users["user"].to_pylist()
    )
    casings = {part.casing for part in learned.programs[0].program.extracts}
    assert casings == {Casing.LOWER}


def test_rows_that_need_another_program_get_one() -> None:
    rng = random.Random(5)
    plain = [(word(rng), word(rng)) for _ in range(30)]
    middle = [(word(rng), word(rng)) for _ in range(15)]
    left = [f"{last}, {first}" for first, last in plain]
    left += [f"{first} {last} (Dr)" for first, last in middle]
    right = [f"{first} {last}" for first, last in plain + middle]
    learned = find_programs(pa.table({"a": left}), pa.table({"b": right}))
    assert len(learned.programs) == 2
    assert [one.source_rows for one in learned.programs] == [30, 15]
    assert learned.left_rows.tolist() == learned.right_rows.tolist() == list(range(45))


def test_many_rows_may_meet_one_key() -> None:
    rng = random.Random(1)
    units = pa.table({"unit": [f"{word(rng)}.{rng.randrange(10, 99)}" for _ in range(20)]})
    parts = [f"{unit}.{kind}" for unit in units["unit"].to_pylist() for kind in ("MIX", "Retail")]
    learned = find_programs(pa.table({"sub": parts}), units)
    assert learned.joined == (40, 20) and len(learned.left_rows) == 40


def test_unrelated_tables_find_nothing() -> None:
    for seed in range(6):
        rng = random.Random(seed)
        mine = pa.table({"person": [word(rng) + " " + word(rng) for _ in range(50)]})
        digits = pa.table({"part": [f"{rng.randrange(10**8):08}" for _ in range(50)]})
        greek = pa.table({"λ": ["".join(rng.choices("αβγδεζηθ", k=9)) for _ in range(50)]})
        assert not find_programs(mine, digits) and not find_programs(digits, greek)
        assert not find_programs(mine, greek)


def test_scraps_of_numbers_find_nothing() -> None:
    """Keys of digits lie close together: something can always be glued together to meet some."""
    for seed in range(6):
        rng = random.Random(seed)
        months = pa.table({"month": [f"{1990 + i // 12}-{i % 12 + 1:02}-01" for i in range(300)]})
        codes = pa.table({"code": sorted({f"{rng.randrange(1000):03}" for _ in range(300)})})
        readings = pa.table(
            {
                "year": [str(rng.randrange(1985, 2020)) for _ in range(400)],
                "price": [f"{rng.random() * 100:.3f}" for _ in range(400)],
                "place": [f"S{rng.randrange(10**4)}" for _ in range(400)],
            }
        )
        assert not find_programs(readings, months)
        assert not find_programs(readings, codes)


def test_counting_numbers_prove_nothing() -> None:
    numbers = pa.table({"no": [str(i) for i in range(1, 40)]})
    assert not find_programs(numbers, numbers.rename_columns(["rank"]))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({}),
        pa.table({"a": pa.array([], pa.string())}),
        pa.table({"a": ["Bern"]}),
        pa.table({"a": [None, None, None]}),
        pa.table({"a": pa.array([None, None], pa.string())}),
        pa.table({"a": ["same"] * 20}),
        pa.table({"a": [1, 2, 3], "b": [1.5, None, 2.5]}),
        pa.table({"a": ["x" * 100_000, "y" * 100_000, "z"]}),
        pa.table([pa.array(["Bern", "Ulm"]), pa.array(["x", "y"])], names=["a", "a"]),
    ],
)
def test_tables_with_nothing_to_learn_from(table: pa.Table) -> None:
    towns = pa.table({"town": ["Bern (CH)", "Ulm (DE)", "Oslo (NO)", "Wien (AT)"]})
    for left, right in ((table, towns), (towns, table), (table, table)):
        learned = find_programs(left, right)
        assert isinstance(learned, LearnedJoin)
        if not learned:
            assert learned.joined == (0, 0) and learned.source_columns == ()


def test_samples_are_enough_for_large_tables() -> None:
    rng = random.Random(1)
    rows = 20_000  # of which 895 are looked at, and about 40 of them have their partner there
    source = people(rng, rows)
    program = Program((Extract("name", ((",", 0),)), Constant("/"), Extract("code", (("-", 0),))))
    target, order = shuffled(apply_program(program, source), rng)
    options = LearnOptions(participation=0.5)
    learned = find_programs(source, pa.table({"made": target}), options)
    true = np.empty(rows, np.int64)
    true[order] = np.arange(rows)
    assert [str(one.program) for one in learned.programs] == [str(program)]
    pairs = zip(learned.left_rows.tolist(), learned.right_rows.tolist(), strict=True)
    assert {(left, right) for left, right in pairs} >= set(enumerate(true.tolist()))


def test_numbers_are_padded_and_dates_rewritten() -> None:
    rng = random.Random(3)
    months = ("January", "February", "March", "April", "May", "June", "July", "August")
    rows = [(rng.randrange(1, 10**5), rng.randrange(1, 29), rng.randrange(8)) for _ in range(80)]
    left = pa.table(
        {
            "number": pa.array([number for number, _, _ in rows]),
            "day": [f"{day} {months[month]} 2021" for _, day, month in rows],
        }
    )
    right = pa.table({"file": [f"{n:06}_2021-{m + 1:02}-{d:02}" for n, d, m in rows]})
    learned = find_programs(left, right)
    assert learned.joined == (80, 80) and len(learned.programs) == 1
    words = str(learned.programs[0].program)
    assert "padded(number, 6)" in words and "month_number" in words
    assert apply_program(learned.programs[0].program, left).to_pylist() == right["file"].to_pylist()


def test_two_columns_together_are_a_key() -> None:
    rng = random.Random(4)
    states, towns = [word(rng) for _ in range(20)], [word(rng) for _ in range(40)]
    keys = rng.sample([(state, town) for state in states for town in towns], 72)
    left = pa.table({"state": [s for s, _ in keys], "county": [f"{t} County" for _, t in keys]})
    rows = [(s, t, word(rng)) for s, t in keys for _ in range(3)]
    right = pa.table(
        {
            "in": [s.upper() for s, _, _ in rows],
            "town": [t for _, t, _ in rows],
            "street": [street for _, _, street in rows],
        }
    )
    learned = find_programs(left, right)
    assert learned.target and learned.target.columns == ("state", "county")
    assert learned.source_side == "right"
    assert learned.joined == (72, 216) and len(learned.left_rows) == 216


def test_a_part_of_a_column_is_met_where_both_hold_more() -> None:
    rng = random.Random(6)
    names = [(word(rng), word(rng)) for _ in range(60)]
    left = [f"{last}, {first} [{word(rng)}]" for first, last in names]
    right = [f"{first} {last} ({rng.randrange(1900, 2000)})" for first, last in names]
    learned = find_programs(pa.table({"who": left}), pa.table({"name": right}))
    assert learned.joined == (60, 60)
    assert not learned.target.is_identity


def test_only_the_columns_that_are_named_are_used() -> None:
    rng = random.Random(7)
    names = [(word(rng), word(rng)) for _ in range(30)]
    left = pa.table(
        {"same": [f"{f} {n}" for f, n in names], "turned": [f"{n}, {f}" for f, n in names]}
    )
    right = pa.table({"name": [f"{f} {n}" for f, n in names]})
    learned = find_programs(left, right, on=[("turned", "name")])
    assert learned.joined == (30, 30) and set(learned.source_columns) <= {"turned", "name"}


def test_what_is_met_by_chance_is_told_and_not_joined() -> None:
    rng = random.Random(8)
    codes = [a + b + c for a in "abcdefgh" for b in "aeiou" for c in "mnopq"]
    rng.shuffle(codes)
    left = pa.table({"code": codes[:79] + codes[100:140]})
    right = pa.table({"ident": codes[:100]})  # half of all
    learned = find_programs(left, right)
    assert not learned and learned.rejected is not None
    assert "wrong" in learned.rejected.why and learned.rejected.left_rows == 79


def test_a_value_of_another_column_is_no_constant() -> None:
    """Every first name with every last one: no row can be told, and one name fits all of them."""
    names = [(f, last) for f in ("Ada", "Alan", "Grace") for last in ("Byron", "Turing", "Curry")]
    left = pa.table({"first": [f for f, _ in names], "last": [last for _, last in names]})
    right = pa.table({"who": [f"{last}, {first}" for first, last in names]})
    for one in find_programs(left, right).programs:
        assert set(one.program.columns) == {"first", "last"}


def test_the_begin_of_a_key_is_not_another_key() -> None:
    """Codes of three to five letters: what begins like a short one is another thing."""
    rng = random.Random(3)
    codes = sorted({"".join(rng.choices("ABCDEFGHKLMNPRST", k=3 + n % 3)) for n in range(300)})
    short = [code for code in codes if len(code) == 3]
    others = [code + rng.choice("UVWXYZ") for code in short[::2]]
    mine = [code for code in codes if code not in short[::2]] + others
    found = find_programs(pa.table({"a": mine}), pa.table({"b": codes}))
    met = {mine[i] for i in found.left_rows.tolist()}
    assert len(met) > 200 and not met & set(others)


def test_dates_are_not_made_up() -> None:
    """The second of some months, and days of which only the year is among them."""
    days = [f"{year}-0{1 + year % 9}-02" for year in range(1950, 2010)]
    ends = [f"{1950 + n}-1{n % 3}-{n % 18 + 10}" for n in range(60)]
    for one in find_programs(pa.table({"day": days}), pa.table({"end": ends})).programs:
        written = [part.text for part in one.program.operators if isinstance(part, Constant)]
        assert sum(letter.isdigit() for text in written for letter in text) <= 2


def test_of_many_columns_the_telling_ones_are_read() -> None:
    names = [f"{'abcdefghij'[n % 10]}{n}x{n * 37 % 91}" for n in range(60)]
    wide = {f"flag{i}": ["yes", "no"] * 30 for i in range(14)} | {"name": names}
    left = pa.table(wide)
    right = pa.table({"key": [f"<{name}>" for name in names]})
    learned = find_programs(left, right)
    assert [str(one.program) for one in learned.programs] == ['"<" + name + ">"'], learned.rejected
