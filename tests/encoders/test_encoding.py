"""What every static encoder promises: unit length, the same bits in any batch, no surprises."""

from __future__ import annotations

import doctest
import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.encoders import Encoder, EncoderSpec, open_encoder
from lakejoin.encoders.mixed_encoder import Mix
from lakejoin.errors import InputError

needs_wheel = pytest.mark.skipif(
    find_spec("wordllama") is None, reason="wordllama is missing: lakejoin[meaning] has it"
)
WHEEL = [pytest.param(name, marks=needs_wheel) for name in ("default", "small")]


@pytest.fixture(params=["characters", *WHEEL], scope="module")
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return open_encoder(request.param)


TEXTS = [
    "", " \t\u00a0", "?!", "+", "bern", "12 main st", "東京都", "مرحبا بالعالم", "שלום",
    "हिन्दी भाषा", "e\u0301cole", "école", "😀", "\U0001f469\u200d\U0001f467 family", "ﬁn", "ＡＢＣ",
    "\x00\x01", "a" * 5000, "straße", "İstanbul", "ке|03", "1,234.50", "\u0301", "\U0010ffff",
    "\u200b",
]  # fmt: skip


def test_unit_length_but_for_nothing(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), encoder.dimension)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    nothing = np.array([not text.strip() for text in TEXTS])
    assert (vectors[nothing] == 0).all()
    assert np.abs(lengths[~nothing] - 1).max() < 1e-6


def test_nulls_slices_and_other_kinds_of_arrays(encoder: Encoder) -> None:
    expected = encoder.encode(["a b", "", "c"])
    whole = pa.array(["x", "a b", None, "c", "y"], pa.large_string())
    kinds = [whole.slice(1, 3), whole.cast(pa.string()).slice(1, 3), whole.slice(1, 3).to_pylist()]
    kinds += [pa.chunked_array([whole.slice(1, 1), whole.slice(2, 2)])]
    kinds += [whole.dictionary_encode().slice(1, 3)]
    for kind in kinds:
        assert np.array_equal(encoder.encode(kind), expected)
    assert encoder.encode([]).shape == (0, encoder.dimension)
    assert encoder.encode(pa.array([], pa.large_string())).shape == (0, encoder.dimension)
    assert (encoder.encode([None]) == 0).all()


def test_half_a_surrogate_is_no_reason_to_fail(encoder: Encoder) -> None:
    assert np.linalg.norm(encoder.encode(["x\ud800y"])) == pytest.approx(1)


def test_canonical_and_original_alike(encoder: Encoder) -> None:
    from lakejoin.values.canonical_values import canonical

    originals = ["ZÜRICH\u00a0 HB", "Straße 5", "ΟΔΟΣ", "New   York ", "São Tomé", "É́cole"]
    canonicals = [canonical(text) for text in originals]
    assert np.array_equal(encoder.encode(originals), encoder.encode(canonicals))


texts = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(TEXTS[:16])), max_size=8)


@settings(max_examples=60, deadline=None)
@given(texts, texts, st.integers(0, 8))
def test_a_text_has_the_same_bits_in_every_batch(
    encoder: Encoder, some: list[str], others: list[str], at: int
) -> None:
    together = encoder.encode(others[:at] + some + others[at:])
    start = len(others[:at])
    apart = [encoder.encode([text]) for text in some]
    if some:
        assert np.concatenate(apart).tobytes() == together[start : start + len(some)].tobytes()


def test_pieces_join_without_a_seam(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = encoder.encode(TEXTS)
    monkeypatch.setattr("lakejoin.encoders.mixed_encoder.MOST_TEXTS", 3)
    monkeypatch.setattr("lakejoin.encoders.mixed_encoder.MOST_BYTES", 40)
    assert np.array_equal(encoder.encode(TEXTS), expected)


def test_very_long_texts(encoder: Encoder) -> None:
    word, many = "x" * 1_000_000, "main street " * 90_000
    vectors = encoder.encode([word, "short", many, "main street"])
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert vectors[2] @ vectors[3] == pytest.approx(1, abs=1e-3)
    assert np.array_equal(vectors[1], encoder.encode(["short"])[0])


def test_a_million_rows_take_little_more_than_their_vectors() -> None:
    psutil = pytest.importorskip("psutil")
    encoder = open_encoder("characters", mix=Mix(characters=16, share=1.0))
    numbers = pa.array(np.arange(1_000_000)).cast(pa.large_string())
    encoder.encode(numbers.slice(0, 40_000))
    process = psutil.Process()
    before = process.memory_info().rss
    vectors = encoder.encode(numbers)
    assert process.memory_info().rss - before < vectors.nbytes + (64 << 20)
    assert np.array_equal(vectors[999_990:], encoder.encode(numbers.slice(999_990)))


def test_threads_share_an_encoder(encoder: Encoder) -> None:
    batches = [[f"{text} {i}" for text in TEXTS] for i in range(16)]
    expected = [encoder.encode(batch) for batch in batches]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(encoder.encode, batches))
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_identity_and_opening_again(encoder: Encoder) -> None:
    assert isinstance(encoder, Encoder)
    for again in (
        pickle.loads(pickle.dumps(encoder)),
        pickle.loads(pickle.dumps(encoder.spec)).open(),
    ):
        assert again.identity == encoder.identity
        assert np.array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    assert open_encoder(encoder) is encoder
    assert open_encoder(encoder.spec).identity == encoder.identity
    assert isinstance(encoder.spec, EncoderSpec)


def test_the_page_is_right() -> None:
    page = Path(__file__).parents[2] / "docs" / "encoders.md"
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_every_setting_is_part_of_the_identity() -> None:
    mixes = [
        Mix(256, share=1.0), Mix(128, share=1.0), Mix(256, (2, 3), share=1.0),
        Mix(256, share=1.0, expand=False),
    ]  # fmt: skip
    assert len({open_encoder("characters", mix=mix).identity for mix in mixes}) == len(mixes)
    assert open_encoder("characters").identity == open_encoder("characters", mix=mixes[0]).identity


def cosine(encoder: Encoder, one: str, other: str) -> float:
    a, b = encoder.encode([one, other])
    return float(a @ b)


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("missisippi", "mississippi", 0.6),
        ("clinton, bill", "bill clinton", 0.99999),
        ("12 main st", "12 main street", 0.99999),
        ("sao tome", "são tomé", 0.4),
        ("new-york", "New York", 0.99999),
        ("ＡＢＣ", "abc", 0.99999),
    ],
)
def test_near(encoder: Encoder, one: str, other: str, least: float) -> None:
    assert cosine(encoder, one, other) >= least


RANDOM = ["orange juice", "quarterly report", "blue whale", "7 dwarfs", "steel", "potato soup"]


@needs_wheel
@pytest.mark.parametrize(
    ("one", "other"),
    [("new york", "nyc"), ("car", "automobile"), ("physician", "doctor"), ("film", "movie")],
)
def test_the_default_knows_what_words_mean(one: str, other: str) -> None:
    encoder = open_encoder()
    a, b, *rest = encoder.encode([one, other, *RANDOM])
    assert a @ b > max(float(a @ other) for other in rest)


def test_n_grams_that_cancel_out_do_not_make_a_zero() -> None:
    encoder = open_encoder("characters", mix=Mix(16, (1,), share=1.0))
    vectors = encoder.encode(
        ["ab", "qx", "zzzz"] + [f"{a}{b}" for a in "abcdefgh" for b in "klmnop"]
    )
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("bern", "encode takes a list of texts: put a single text in a list"),
        ([1, 2], "encode takes texts, not int"),
        (["a", b"\xff"], "encode takes texts, not bytes"),
        (pa.array([[1]]), r"encode takes texts, not list<item: int64>"),
    ],
)
def test_what_is_no_text_is_refused(texts: object, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}$"):
        open_encoder("characters").encode(texts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"characters": 100}, {"characters": 8192}, {"share": 1.5}, {"share": 0.0},
        {"characters": 0}, {"sizes": ()}, {"sizes": (0,)}, {"sizes": (9,)}, {"power": 0.3},
    ],
)  # fmt: skip
def test_mixes_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Mix(**wrong)  # type: ignore[arg-type]
