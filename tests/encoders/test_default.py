"""The wordllama wheel: its tokens are those of its own tokenizer, and failing is plain."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.encoders import open_encoder, wordllama
from lakejoin.errors import MissingDependency

needs_wheel = pytest.mark.skipif(
    find_spec("wordllama") is None, reason="wordllama is missing: lakejoin[meaning] has it"
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="comes with lakejoin[meaning]")
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        pytest.skip("wordllama is missing: lakejoin[meaning] has it")
    folder = Path(found.submodule_search_locations[0])
    return tokenizers.Tokenizer.from_file(str(folder / wordllama.VOCABULARY))


letters = st.text(st.characters(categories=["Ll", "Lo", "Nd", "Mn", "So"]), min_size=1, max_size=20)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(letters, st.text("aeiourstlnmz", min_size=1, max_size=14)), min_size=1))
def test_tokens_are_those_of_the_tokenizer(tokenizer: Any, words: list[str]) -> None:
    found = wordllama.open_words(128).look_up(pa.array(words, pa.large_string()))
    for number, word in enumerate(words):
        plain = tokenizer.encode(word, add_special_tokens=False).ids
        capital = (
            word[0].upper() if len(word[0].upper()) == 1 and ord(word[0]) < 0x2000 else word[0]
        )
        named = tokenizer.encode(capital + word[1:], add_special_tokens=False).ids
        expected = named if len(named) < len(plain) else plain
        assert found.rows[found.offsets[number] : found.offsets[number + 1]].tolist() == expected


@needs_wheel
def test_vectors_are_sums_of_the_tokens(tokenizer: Any) -> None:
    """The half of meaning, computed again with numpy in float64."""
    table = wordllama.open_words(128).table.astype(np.float64)
    word_sums = [table[tokenizer.encode(word, add_special_tokens=False).ids].sum(0) for word in
                 ("red", "wine")]  # fmt: skip
    expected = sum(total / np.sqrt(np.linalg.norm(total)) for total in word_sums)
    expected /= np.linalg.norm(expected)
    found = open_encoder().encode(["red wine"])[0, :128].astype(np.float64)
    assert np.abs(found / np.linalg.norm(found) - expected).max() < 1e-6


@needs_wheel
def test_weights_are_opened_once() -> None:
    assert wordllama.open_words(128) is wordllama.open_words(128)


def test_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama, "find_spec", lambda name: None)
    wordllama.open_words.cache_clear()
    with pytest.raises(MissingDependency, match=r"wordllama: pip install 'lakejoin\[meaning\]'$"):
        open_encoder()


@pytest.mark.parametrize("damage", ["none", "short", "header", "vocabulary"])
def test_a_damaged_wheel(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (wordllama._WEIGHTS, wordllama.VOCABULARY):
        (tmp_path / name).parent.mkdir(parents=True)
    header = json.dumps({"e": {"dtype": "F16", "shape": [4, 256], "data_offsets": [0, 2048]}})
    raw = len(header).to_bytes(8, "little") + header.encode() + bytes(2048)
    if damage == "short":
        raw = raw[:-100]
    elif damage == "header":
        raw = b"no header at all" * 8
    if damage != "none":
        (tmp_path / wordllama._WEIGHTS).write_bytes(raw)
    (tmp_path / wordllama.VOCABULARY).write_text('{"model": {}}')
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(wordllama, "find_spec", lambda name: found)
    wordllama.open_words.cache_clear()
    with pytest.raises(
        MissingDependency, match=r"cannot read the .* weights .*lakejoin\[meaning\]"
    ):
        open_encoder()
