"""Short forms become long ones where their place says so, and nowhere else."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from lakejoin.encoders import open_encoder
from lakejoin.encoders.mixed_encoder import (
    Mix,
    abbreviations,
    fold_for_encoding,
    split_texts,
    to_text_array,
)


def expanded(text: str) -> str:
    starts, codes, words = abbreviations().expand(
        *split_texts(fold_for_encoding(to_text_array([text])))
    )
    assert starts.tolist() == [0, len(codes)]
    return " ".join(words[int(code)].as_py() for code in codes)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("12 Main St", "12 main street"),
        ("12 Main St.", "12 main street"),
        ("Main St", "main street"),
        ("12 Main St Springfield", "12 main street springfield"),
        ("St. Helens", "saint helens"),
        ("Mount St. Helens", "mount saint helens"),
        ("12 St James Ave", "12 saint james avenue"),
        ("12 St James St", "12 saint james street"),
        ("1 st", "1 st"),
        ("st", "st"),
        ("Dr. Jekyll", "doctor jekyll"),
        ("Mill Dr", "mill drive"),
        ("12 Mar 2020", "12 march 2020"),
        ("Mar 2020", "march 2020"),
        ("Mar 3rd", "march 3rd"),
        ("Mar del Plata", "mar del plata"),
        ("mar", "mar"),
        ("Fri 13 Sep", "friday 13 september"),
        ("123 N Oak Blvd", "123 north oak boulevard"),
        ("N Main St", "north main street"),
        ("N Main Street", "north main street"),
        ("Vitamin E 400 mg", "vitamin e 400 mg"),
        ("Dr E Smith", "doctor e smith"),
        ("5th Ave", "5th avenue"),
        ("Ft Worth", "fort worth"),
        ("12 Park Pl", "12 park place"),
        ("Warsaw, PL", "warsaw pl"),
        ("12 Main St, Hartford CT", "12 main street hartford ct"),
        ("100 Main St Ste 200", "100 main street suite 200"),
        ("Ste. Anne", "saint anne"),
        ("6 ft", "6 ft"),
        ("1600 Pennsylvania Ave NW", "1600 pennsylvania avenue northwest"),
        ("", ""),
    ],
)
def test_rules(short: str, long: str) -> None:
    assert expanded(short) == long


def test_several_texts_at_once() -> None:
    starts, codes, words = abbreviations().expand(
        *split_texts(to_text_array(["main st", "", "plain", "st john", "5 mar"]))
    )
    found = [[words[int(c)].as_py() for c in codes[a:b]] for a, b in pairwise(starts)]
    assert found == [["main", "street"], [], ["plain"], ["saint", "john"], ["5", "march"]]


def test_the_file_is_sound() -> None:
    text = files("lakejoin.encoders").joinpath("abbreviations.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len({(row["short"], row["when"]) for row in rows}) == len(rows)
    for row in rows:
        assert row["when"] in {"always", "date", "after", "before", "address"}
        assert row["short"] == row["short"].strip().lower() != row["long"]
    # No long form is short for something else: expanding twice is expanding once.
    shorts = {row["short"] for row in rows}
    assert not shorts & {word for row in rows for word in row["long"].split()}


def test_expanding_can_be_switched_off() -> None:
    plain = open_encoder("characters", mix=Mix(256, share=1.0, expand=False))
    a, b = plain.encode(["12 main st", "12 main street"])
    assert a @ b < 0.95
    assert np.array_equal(
        plain.encode(["no short forms"]), open_encoder("characters").encode(["no short forms"])
    )
