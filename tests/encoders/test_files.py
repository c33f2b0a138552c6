"""Word vectors in files: GloVe, word2vec, fastText; small ones made here, whole and broken."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from lakejoin.encoders import open_encoder
from lakejoin.encoders.mixed_encoder import Mix
from lakejoin.errors import InputError, UnreadableFile

WORDS = ["bern", "zürich", "New", "new", "york", '"quoted', "nan", "Paris"]
VECTORS = np.random.default_rng(3).normal(size=(len(WORDS), 6)).astype(np.float32)
PLAIN = Mix(characters=0, share=0.0, power=0, expand=False)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKEJOIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vectors"


def glove(path: Path, *, head: bool = False, end: str = "") -> Path:
    lines = [
        f"{word} {' '.join(map(str, vector))}{end}"
        for word, vector in zip(WORDS, VECTORS, strict=True)
    ]
    if head:
        lines.insert(0, f"{len(WORDS)} {VECTORS.shape[1]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def word2vec(path: Path, *, newlines: bool = True, words: list[bytes] | None = None) -> Path:
    given = words or [word.encode() for word in WORDS]
    raw = f"{len(given)} {VECTORS.shape[1]}\n".encode()
    for word, vector in zip(given, VECTORS, strict=True):
        raw += word + b" " + vector.tobytes() + (b"\n" if newlines else b"")
    path.write_bytes(raw)
    return path


def fasttext(
    path: Path, *, buckets: int = 50, shortest: int = 2, longest: int = 4, version: int = 12,
    quantised: bool = False, rows: int | None = None,
) -> tuple[Path, np.ndarray]:  # fmt: skip
    matrix = np.random.default_rng(5).normal(size=(len(WORDS) + buckets, 6)).astype(np.float32)
    raw = struct.pack("<2i", 793712314, version)
    raw += struct.pack("<12id", 6, 5, 5, 1, 5, 1, 1, 1, buckets, shortest, longest, 100, 1e-4)
    raw += struct.pack("<3i2q", len(WORDS), len(WORDS), 0, 1000, -1)
    for word in WORDS:
        raw += word.encode() + b"\0" + struct.pack("<qb", 7, 0)
    raw += struct.pack("<?2q", quantised, rows if rows is not None else len(matrix), 6)
    path.write_bytes(raw + matrix.tobytes())
    return path, matrix


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("kind", ["glove", "vec", "word2vec text", "word2vec", "word2vec joined"])
def test_words_are_found_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.any"
    if kind == "glove":
        glove(path)
    elif kind == "vec":
        glove(path, head=True, end=" ")
    elif kind == "word2vec text":
        glove(path, head=True)
    else:
        word2vec(path, newlines=kind == "word2vec")
    encoder = open_encoder(path, mix=PLAIN)
    assert encoder.dimension == 6
    found = encoder.encode(["Bern", "zürich", "new york", "paris", "nan", "unknown", "quoted"])
    expected = [VECTORS[0], VECTORS[1], VECTORS[3] + VECTORS[4], VECTORS[7], VECTORS[6]]
    for row, vector in enumerate(expected):
        assert np.abs(found[row] - unit(vector)).max() < 1e-6
    assert (found[5:] == 0).all()  # no such word, and no characters to go by


def test_joined_with_characters_no_text_is_zero(tmp_path: Path) -> None:
    encoder = open_encoder(glove(tmp_path / "g.txt"))
    assert encoder.dimension == 6 + 128
    vectors = encoder.encode(["bern", "unknown words", "zürich hb", ""])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0])


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_shares_are_shares_of_the_squared_length(share: float, tmp_path: Path) -> None:
    encoder = open_encoder(glove(tmp_path / "g.txt"), mix=Mix(share=share))
    known, unknown = encoder.encode(["bern", "unknown"]).astype(np.float64)
    assert (known[:6] ** 2).sum() == pytest.approx(1 - share, abs=1e-6)
    assert (known[6:] ** 2).sum() == pytest.approx(share, abs=1e-6)
    assert (unknown[6:] ** 2).sum() == pytest.approx(1, abs=1e-6)


def test_converted_once_and_opened_again(tmp_path: Path, own_cache: Path) -> None:
    path = glove(tmp_path / "g.txt")
    encoder = open_encoder(path)
    (kept,) = own_cache.iterdir()
    times = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    again = pickle.loads(pickle.dumps(encoder))
    assert again.identity == encoder.identity == open_encoder(path.rename(tmp_path / "h")).identity
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == times
    assert np.array_equal(again.encode(["bern x"]), encoder.encode(["bern x"]))
    glove(path, head=True)
    assert open_encoder(path).identity != encoder.identity


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LAKEJOIN_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set LAKEJOIN_CACHE to a writable folder"):
        open_encoder(glove(tmp_path / "g.txt"))


def test_words_with_blanks_and_broken_words_are_passed_over(tmp_path: Path) -> None:
    path = glove(tmp_path / "g.txt")
    path.write_text(path.read_text() + ". . 1 2 3 4 5 6\n")
    assert np.linalg.norm(open_encoder(path, mix=PLAIN).encode(["bern"])) == pytest.approx(1)
    words = [b"\xff\xfe", *(word.encode() for word in WORDS[1:])]
    encoder = open_encoder(word2vec(tmp_path / "w.bin", words=words), mix=PLAIN)
    assert np.abs(encoder.encode(["york"])[0] - unit(VECTORS[4])).max() < 1e-6


def hash_of(piece: str) -> int:
    h = 2166136261
    for byte in piece.encode():
        h ^= byte if byte < 128 else byte + 0xFFFFFF00
        h = h * 16777619 % 2**32
    return h


def pieces(word: str, shortest: int, longest: int) -> list[str]:
    marked = f"<{word}>"
    return [
        marked[i : i + n]
        for i in range(len(marked))
        for n in range(shortest, longest + 1)
        if i + n <= len(marked) and not (n == 1 and i in (0, len(marked) - 1))
    ]


@pytest.mark.parametrize(("shortest", "longest"), [(2, 4), (3, 6), (1, 3), (0, 0)])
def test_fasttext(shortest: int, longest: int, tmp_path: Path) -> None:
    buckets = 50 if longest else 0
    path, matrix = fasttext(tmp_path / "m.bin", buckets=buckets, shortest=shortest, longest=longest)
    mix = Mix(characters=0, share=0.0, power=1, expand=False)
    encoder = open_encoder(path, mix=mix)

    def word(text: str) -> np.ndarray:
        rows = [WORDS.index(text)] if text in WORDS else []
        rows += [
            len(WORDS) + hash_of(p) % buckets for p in pieces(text, shortest, longest) if buckets
        ]
        return unit(matrix[rows].astype(np.float64).mean(0)) if rows else np.zeros(6)

    found = encoder.encode(["bern", "zürich", "new york", "unbekannt"])
    for row, words in enumerate((["bern"], ["zürich"], ["new", "york"], ["unbekannt"])):
        total = sum(word(text) for text in words)
        expected = unit(total) if total.any() else total
        assert np.abs(found[row] - expected).max() < 1e-5, words
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.encode(["new york"])[0], found[2])


def broken(tmp_path: Path) -> dict[str, Path]:
    """Files that are no vectors, each with what is wrong."""
    whole_text, whole_binary = glove(tmp_path / "t"), word2vec(tmp_path / "b")
    model, _ = fasttext(tmp_path / "m")
    raw = model.read_bytes()
    made = {
        "empty": b"",
        "prose": b"This is a page of prose.\nAnd nothing else.\n",
        "one word": b"bern\n",
        "no numbers": b"bern a b c\n",
        "not finite": b"bern 1 nan 3\n",
        "announces no vectors": b"0 0\n",
        "cut word2vec": whole_binary.read_bytes()[:-30],
        "png": b"\x89PNG\r\n\x1a\n" + bytes(200),
        "cut in the header": raw[:20],
        "cut in the dictionary": raw[:120],
        "cut in the matrix": raw[:-30],
        "version": fasttext(tmp_path / "v", version=11)[0].read_bytes(),
        "compressed": fasttext(tmp_path / "q", quantised=True)[0].read_bytes(),
        "rows": fasttext(tmp_path / "r", rows=3)[0].read_bytes(),
        "many rows": fasttext(tmp_path / "s", rows=1 << 60)[0].read_bytes(),
        "second line": whole_text.read_bytes() + b"x 1 2 3 4 5 six\n",
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in made}


def test_broken_files_are_refused_in_a_sentence(tmp_path: Path, own_cache: Path) -> None:
    for name, path in broken(tmp_path).items():
        with pytest.raises(UnreadableFile) as refused:
            open_encoder(path)
        message = str(refused.value)
        assert message.startswith(f"{path}: ") and "\n" not in message, name
    assert not own_cache.exists() or not list(own_cache.iterdir())


def test_paths_that_are_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"wide", "model", "characters", or the path'):
        open_encoder(tmp_path / "missing.vec")
    with pytest.raises(InputError, match=r"no model in .* expected modules\.json"):
        open_encoder(tmp_path)
