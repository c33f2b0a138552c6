"""Word-vector files: GloVe and fastText `.vec` texts, word2vec texts and binaries, and fastText
models (`.bin`), which are memory-mapped as they are.

Any other file is converted once to flat arrays (vectors, words, sorted hashes) in the user's cache
folder; these are memory-mapped, so that opening it again is instant and workers share its pages.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from lakejoin.encoders.mixed_encoder import Mix, MixedEncoder, WordRows, fold_for_encoding
from lakejoin.encoders.protocol import EncoderSpec
from lakejoin.errors import InputError, UnreadableFile
from lakejoin.kernels.hashes import hash_strings
from lakejoin.kernels.subwords import (
    copy_spans,
    find_fasttext_entries,
    find_word2vec_entries,
    hash_subwords,
)
from lakejoin.model import Array, string_buffers

_FORM = 2
_BLOCK = 1 << 16
_PAGE = 1 << 16
_PAGES = 256
_NO_VECTORS = "not a file of word vectors"
FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_MODEL_VERSION = 12
_ARGUMENTS = "<12id"  # dimension first; buckets, shortest and longest subword at 8, 9, 10
_DICTIONARY = "<3i2q"  # size, words, labels; tokens, pruned
_NO_MODEL = "not a fastText model"


def fingerprint(path: Path) -> str:
    """Fingerprint a large file by its size and 256 pages spread over it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a"
    ...     _ = path.write_bytes(b"abc")
    ...     len(fingerprint(path))
    16
    """
    size = path.stat().st_size
    state = xxhash.xxh3_64(str(size).encode())
    with path.open("rb") as file:
        for at in np.unique(np.linspace(0, max(0, size - _PAGE), _PAGES).astype(np.int64)):
            file.seek(int(at))
            state.update(file.read(_PAGE))
    return state.hexdigest()


def cache_folder() -> Path:
    """Where converted files are cached: `LAKEJOIN_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("LAKEJOIN_CACHE")
    if chosen:
        return Path(chosen) / "vectors"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lakejoin" / "vectors"


class FileWords:
    def __init__(self, folder: Path, mark: str) -> None:
        meta = json.loads((folder / "meta.json").read_text())
        self.dimension = int(meta["dimension"])
        self.settings: dict[str, Any] = {"vectors": mark, "meaning": self.dimension}
        shape = (int(meta["rows"]), self.dimension)
        self._vectors = np.memmap(folder / "vectors.raw", np.float32, "r", shape=shape)
        words = pa.ipc.open_file(pa.memory_map(str(folder / "words.arrow"))).read_all()
        self._vocabulary = Vocabulary(
            np.load(folder / "hashes.npy", mmap_mode="r"),
            np.load(folder / "rows.npy", mmap_mode="r"),
            words.column("word").combine_chunks(),
        )

    def look_up(self, words: Any) -> WordRows:
        rows = self._vocabulary.rows_of(words)
        known = rows >= 0
        offsets = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        table = np.asarray(self._vectors[rows[known]], dtype=np.float32)
        if len(table) == 0:
            table = np.zeros((1, self.dimension), np.float32)
        weights = np.ones(len(words), np.float32)
        return WordRows(table, offsets, np.arange(offsets[-1]), weights)


# -- reading -------------------------------------------------------------------------------


def _blocks(path: Path) -> Iterator[tuple[Any, Array]]:
    """Yield (words, vectors) of a file, block by block."""
    with path.open("rb") as file:
        first = file.readline(1 << 20)
        counts = first.split()
        has_header = len(counts) == 2 and all(count.isdigit() for count in counts)
        if not has_header:
            file.seek(0)
            yield from _text_blocks(path, file)
            return
        count, dimension = int(counts[0]), int(counts[1])
        if dimension == 0 or count == 0:
            raise UnreadableFile(str(path), _NO_VECTORS, "its first line announces no vectors")
        sample = file.read(1 << 12)
        if _is_binary(sample, dimension):
            yield from _binary_blocks(path, len(first), count, dimension)
        else:
            file.seek(len(first))
            yield from _text_blocks(path, file)


def _is_binary(sample: bytes, dimension: int) -> bool:
    """Whether a word and a blank are followed by raw floats, not by numbers as text."""
    _, _, rest = sample.lstrip(b"\n").partition(b" ")
    line = rest.partition(b"\n")[0].split()[:dimension]
    try:
        return not [float(text) for text in line[: max(1, len(line) - 1)]]
    except ValueError:
        return True


def _text_blocks(path: Path, file: BinaryIO) -> Iterator[tuple[Any, Array]]:
    from pyarrow import csv

    start = file.tell()
    line = file.readline(1 << 22).rstrip(b"\r\n")
    dimension = len(line.rstrip(b" ").split(b" ")) - 1
    if dimension < 1:
        raise UnreadableFile(str(path), _NO_VECTORS, "its first line is not a word and numbers")
    file.seek(start)
    names = [str(i) for i in range(dimension)]
    ending = ["end"] if line.endswith(b" ") else []
    try:
        reader = csv.open_csv(
            file,
            csv.ReadOptions(column_names=["word", *names, *ending], block_size=1 << 24),
            csv.ParseOptions(
                delimiter=" ", quote_char=False, double_quote=False,
                # Some files have a few words with blanks in them.
                invalid_row_handler=lambda row: "skip",
            ),
            csv.ConvertOptions(
                column_types={"word": pa.large_binary(), **dict.fromkeys(names, pa.float32())},
                include_columns=["word", *names], check_utf8=False, null_values=[],
            ),
        )  # fmt: skip
        for batch in reader:
            vectors = np.empty((len(batch), dimension), np.float32)
            for i in range(dimension):
                vectors[:, i] = batch.column(i + 1).to_numpy(zero_copy_only=False)
            words, valid = valid_texts(batch.column(0))
            yield words, vectors[valid]
    except pa.ArrowInvalid as problem:
        detail = str(problem).splitlines()[0][:200]
        raise UnreadableFile(str(path), _NO_VECTORS, detail) from None


def _binary_blocks(path: Path, at: int, count: int, dimension: int) -> Iterator[tuple[Any, Array]]:
    data = np.memmap(path, np.uint8, "r")
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        begins, ends = np.empty(size, np.int64), np.empty(size, np.int64)
        at = find_word2vec_entries(data, at, 4 * dimension, begins, ends)
        if at < 0:
            raise UnreadableFile(
                str(path), _NO_VECTORS, f"it announces {count} words but ends before the last"
            )
        raw = np.empty(4 * dimension * size, np.uint8)
        copy_spans(data, ends + 1, np.full(size, 4 * dimension, np.int64), raw)
        words, valid = read_words(data, begins, ends)
        yield words, raw.view("<f4").reshape(size, dimension)[valid]


# -- converting ----------------------------------------------------------------------------


def _convert(path: Path, out: Path) -> None:
    word_blocks = []
    rows = dimension = 0
    with (out / "vectors.raw").open("wb") as file:
        for words, vectors in _blocks(path):
            if not np.isfinite(vectors).all():
                raise UnreadableFile(str(path), _NO_VECTORS, "not all numbers are finite")
            dimension = vectors.shape[1]
            vectors.tofile(file)
            word_blocks.append(words)
            rows += len(words)
    if rows == 0:
        raise UnreadableFile(str(path), _NO_VECTORS, "it contains no vectors")
    vocabulary = Vocabulary.of(pa.concat_arrays(word_blocks), np.arange(rows, dtype=np.int64))
    np.save(out / "hashes.npy", vocabulary.hashes)
    np.save(out / "rows.npy", vocabulary.rows)
    table = pa.table({"word": vocabulary.words})
    with pa.ipc.new_file(str(out / "words.arrow"), table.schema) as writer:
        writer.write_table(table)
    (out / "meta.json").write_text(json.dumps({"dimension": dimension, "rows": rows}))


def convert_file(path: Path) -> tuple[Path, str]:
    """Convert a file unless it is in the cache; returns (folder of its arrays, fingerprint)."""
    mark = fingerprint(path)
    folder = cache_folder() / f"{mark}-{_FORM}"
    if (folder / "meta.json").exists():
        return folder, mark
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as problem:
        raise InputError(
            f"cannot cache the vectors of {path} in {folder.parent} ({problem.strerror}): set"
            " LAKEJOIN_CACHE to a writable folder"
        ) from None
    try:
        _convert(path, scratch)
        try:
            scratch.rename(folder)
        except OSError:  # another process was first
            if not (folder / "meta.json").exists():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder, mark


def open_wordfile(path: Path, mix: Mix | None = None) -> MixedEncoder:
    """Open a GloVe, `.vec` or word2vec file, joined with character n-grams.

    Names missing from the file are encoded by their characters alone, so those get the larger
    share (measured: see docs/encoders.md).
    """
    mix = mix or Mix(share=0.7, power=1)
    folder, mark = convert_file(path)
    spec = EncoderSpec(open_wordfile, (path, mix))
    return MixedEncoder("wordfile+characters", FileWords(folder, mark), mix, spec)


_SEED = np.uint64(0x9D2C5680A1B2C3D4)


def compute_word_hashes(words: Any) -> Array:
    out = np.empty(len(words), np.uint64)
    offsets, data = string_buffers(words)
    hash_strings(offsets, data, _SEED, out)
    return out


def read_words(data: Array, begins: Array, ends: Array) -> tuple[Any, Array]:
    """Read the words at these spans; returns those that are valid UTF-8, and their indices."""
    lengths = ends - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    letters = np.empty(int(offsets[-1]), np.uint8)
    copy_spans(data, begins, lengths, letters)
    raw = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    )
    return valid_texts(raw)


def valid_texts(raw: Any) -> tuple[Any, Array]:
    """The binary values that are valid UTF-8 as texts, and their indices."""
    indices = np.arange(len(raw))
    try:
        return raw.cast(pa.large_string()), indices
    except pa.ArrowInvalid:  # a few words of old files are cut inside a character
        valid = [_decodes(value) for value in raw.to_pylist()]
        return raw.filter(pa.array(valid)).cast(pa.large_string()), indices[valid]


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


class Vocabulary:
    """Folded words (`fold_for_encoding`), each with a row.

    If several words fold to the same text, the one written that way wins, else the first.

    >>> words = pa.array(["Bern", "bern", "Rome"], pa.large_string())
    >>> queries = pa.array(["rome", "bern", "x"], pa.large_string())
    >>> Vocabulary.of(words, np.arange(3)).rows_of(queries)
    array([ 2,  1, -1])
    """

    def __init__(self, hashes: Array, rows: Array, words: Any) -> None:
        self.hashes = hashes  # ascending
        self.rows = rows
        self.words = words

    @classmethod
    def of(cls, words: Any, rows: Array) -> Vocabulary:
        texts = fold_for_encoding(words)
        changed = np.asarray(pc.not_equal(texts, words).to_numpy(zero_copy_only=False))
        hashes = compute_word_hashes(texts)
        order = np.lexsort((rows, changed, hashes))
        first = np.ones(len(order), bool)
        first[1:] = hashes[order][1:] != hashes[order][:-1]
        order = order[first]
        return cls(hashes[order], np.asarray(rows)[order], texts.take(pa.array(order)))

    def rows_of(self, words: Any) -> Array:
        """The row of each word, or -1."""
        if len(self.hashes) == 0:
            return np.full(len(words), -1, np.int64)
        hashes = compute_word_hashes(words)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        same = self.hashes[at] == hashes
        same &= pc.equal(self.words.take(pa.array(at)), words).to_numpy(zero_copy_only=False)
        return np.where(same, self.rows[at], -1).astype(np.int64)


class FastTextWords:
    """Word vectors of a fastText model: the row of the word, and those of its subwords."""

    def __init__(self, path: Path) -> None:
        data = np.memmap(path, np.uint8, "r")
        try:
            self._read(path, data)
        except (struct.error, ValueError, IndexError, OverflowError, MemoryError) as problem:
            raise UnreadableFile(str(path), _NO_MODEL, f"it is truncated: {problem}") from None
        self.settings: dict[str, Any] = {"vectors": fingerprint(path), "meaning": self.dimension}

    def _read(self, path: Path, data: Any) -> None:
        (version,) = struct.unpack("<i", data[4:8].tobytes())
        if version != _MODEL_VERSION:
            raise UnreadableFile(
                str(path), _NO_MODEL, f"its version is {version}, not {_MODEL_VERSION}"
            )
        at = 8
        arguments = struct.unpack_from(_ARGUMENTS, data, at)
        self.dimension, self._buckets = arguments[0], arguments[8]
        self._shortest, self._longest = arguments[9], arguments[10]
        at += struct.calcsize(_ARGUMENTS)
        size, words, _, _, pruned = struct.unpack_from(_DICTIONARY, data, at)
        at += struct.calcsize(_DICTIONARY)
        if not 0 <= words <= size <= len(data) or self.dimension <= 0:
            raise UnreadableFile(str(path), _NO_MODEL, "its header is invalid")
        begins, ends = np.empty(size, np.int64), np.empty(size, np.int64)
        labels = np.empty(size, np.uint8)
        at = find_fasttext_entries(data, at, begins, ends, labels)
        if at < 0:
            raise UnreadableFile(str(path), _NO_MODEL, "it ends inside its dictionary")
        if pruned > 0 or data[at]:
            raise UnreadableFile(
                str(path), "a compressed fastText model", "use the .bin it was made from"
            )
        rows, columns = struct.unpack_from("<2q", data, at + 1)
        if columns != self.dimension or not words <= rows <= (len(data) - at) // (4 * columns):
            raise UnreadableFile(
                str(path), _NO_MODEL, "its matrix is truncated or does not match its words"
            )
        # A model without subwords stores no rows for them.
        self._buckets = min(self._buckets, rows - words) if self._longest > 0 else 0
        self._matrix = np.memmap(path, "<f4", "r", offset=at + 17, shape=(rows, columns))
        texts, entries = read_words(data, begins, ends)
        is_word = labels[entries] == 0
        self._words = words
        self._vocabulary = Vocabulary.of(texts.filter(is_word), entries[is_word])

    def look_up(self, words: Any) -> WordRows:
        known = self._vocabulary.rows_of(words)
        text = string_buffers(words)
        offsets = np.zeros(len(words) + 1, np.int64)
        subwords = (self._words, self._shortest, self._longest, self._buckets)
        count = hash_subwords(*text, known, *subwords, offsets, np.zeros(0, np.int64))
        rows = np.empty(count, np.int64)
        hash_subwords(*text, known, *subwords, offsets, rows)
        used, positions = np.unique(rows, return_inverse=True)
        table = np.ascontiguousarray(self._matrix[used], dtype=np.float32)
        if len(table) == 0:
            table = np.zeros((1, self.dimension), np.float32)
        return WordRows(table, offsets, positions.astype(np.int64), np.ones(len(words), np.float32))


def open_fasttext(path: Path, mix: Mix | None = None) -> MixedEncoder:
    """Open a fastText model; all words weigh the same, as in fastText's own sentence vectors."""
    mix = mix or Mix(power=1)
    spec = EncoderSpec(open_fasttext, (path, mix))
    return MixedEncoder("fasttext+characters", FastTextWords(path), mix, spec)
