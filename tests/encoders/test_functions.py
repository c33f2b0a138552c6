"""Functions and models as encoders: checked, normalised, and asked for by their extra's name."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from lakejoin.encoders import open_encoder
from lakejoin.errors import InputError, MissingDependency


def counts(texts: list[str]) -> Any:
    return [[text.count("a"), text.count("b"), 1] for text in texts]


class Versioned:
    name, version, settings = "mine", "3", {"size": 2}

    def __call__(self, texts: list[str]) -> Any:
        return np.ones((len(texts), 2))


def test_a_function_is_an_encoder() -> None:
    encoder = open_encoder(counts)
    vectors = encoder.encode(["ab", "", None, " ", "aab"])
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 0, 0, 1])
    assert vectors[4] == pytest.approx(np.array([2, 1, 1]) / np.sqrt(6))
    assert encoder.dimension == 3
    assert encoder.identity == f"{counts.__module__}.counts unversioned {{}}"
    assert open_encoder(Versioned()).identity == 'mine 3 {"size":2}'
    assert pickle.loads(pickle.dumps(open_encoder(Versioned()))).identity == 'mine 3 {"size":2}'


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: [1.0] * len(texts), r"shape \(1, dimension\) for 1 texts, not \(1,\)"),
        (lambda texts: np.ones((len(texts) + 1, 3)), "for 1 texts, not"),
        (lambda texts: np.ones((len(texts), 0)), "must return a matrix"),
        (lambda texts: np.full((len(texts), 3), np.nan), "not finite"),
        (lambda texts: None, "did not return vectors|must return"),
        (lambda texts: [["x"]], "did not return vectors"),
        (lambda texts: [[1, 2], [3]], "did not return vectors"),
    ],
)
def test_what_a_function_gives_is_checked(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_encoder(function)


def test_a_function_that_changes_its_mind() -> None:
    encoder = open_encoder(lambda texts: np.ones((len(texts), 2 if texts == ["lakejoin"] else 3)))
    with pytest.raises(InputError, match="vectors of dimension 2 before, and 3 now"):
        encoder.encode(["x"])


def test_settings_that_are_no_json() -> None:
    class Odd(Versioned):
        settings = {"size": object()}  # noqa: RUF012

    with pytest.raises(InputError, match="the settings of mine must be JSON"):
        open_encoder(Odd())


def test_a_function_that_fails_is_not_hidden() -> None:
    def fails(texts: list[str]) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        open_encoder(fails)


@pytest.mark.parametrize("nothing", [5, 5.0, object(), ["characters"]])
def test_what_is_no_encoder(nothing: Any) -> None:
    with pytest.raises(InputError, match="an encoder is a name, a path or a function, not"):
        open_encoder(nothing)


# -- models by path ----------------------------------------------------------------------------


@pytest.fixture
def sentence_folder(tmp_path: Path) -> Path:
    (tmp_path / "modules.json").write_text("[]")
    return tmp_path


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.onnx").write_bytes(b"onnx")
    return tmp_path / "model.onnx"


def without(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # type: ignore[arg-type]


def test_a_missing_library_is_named_with_its_extra(
    sentence_folder: Path, onnx_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "sentence_transformers")
    with pytest.raises(MissingDependency, match=r"pip install 'lakejoin\[sentences\]'$"):
        open_encoder(sentence_folder)
    without(monkeypatch, "onnxruntime")
    with pytest.raises(MissingDependency, match=r"pip install 'lakejoin\[onnx\]'$"):
        open_encoder(onnx_file)


def test_sentence_transformers(sentence_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in that has the two calls which are used."""
    calls = []

    class Model:
        def __init__(self, path: str, local_files_only: bool) -> None:
            assert local_files_only
            calls.append(path)

        def encode(self, text: str, show_progress_bar: bool) -> Any:
            assert not show_progress_bar
            return np.array([len(text), 1.0], np.float32)

    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    encoder = open_encoder(sentence_folder)
    assert calls == [str(sentence_folder.resolve())]
    assert encoder.encode(["abc", ""]) == pytest.approx(np.array([[3, 1], [0, 0]]) / np.sqrt(10))
    assert pickle.loads(pickle.dumps(encoder)).identity == encoder.identity
    (sentence_folder / "weights.bin").write_bytes(b"other")
    assert open_encoder(sentence_folder).identity != encoder.identity


@pytest.mark.parametrize("pooled", [True, False])
def test_onnx(onnx_file: Path, pooled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against stand-ins: one vector a token, which are averaged, or one a text."""

    class Session:
        def __init__(self, path: str, providers: list[str]) -> None:
            assert providers == ["CPUExecutionProvider"]

        def get_inputs(self) -> Any:
            return [SimpleNamespace(name="input_ids"), SimpleNamespace(name="attention_mask")]

        def get_outputs(self) -> Any:
            names = ["last_hidden_state", "sentence_embedding"][: 2 if pooled else 1]
            return [SimpleNamespace(name=name) for name in names]

        def run(self, outputs: list[str], feed: dict[str, Any]) -> Any:
            assert set(feed) == {"input_ids", "attention_mask"}
            tokens = np.stack([feed["input_ids"][0], np.ones(feed["input_ids"].shape[1])], axis=1)
            return [tokens.mean(0)[None]] if outputs == ["sentence_embedding"] else [tokens[None]]

    class Tokenizer:
        @staticmethod
        def from_file(path: str) -> Any:
            assert json.loads(Path(path).read_text()) == {}
            return Tokenizer()

        def enable_truncation(self, most: int) -> None:
            assert most == 512

        def encode(self, text: str) -> Any:
            ids = [ord(c) for c in text]
            return SimpleNamespace(ids=ids, attention_mask=[1] * len(ids), type_ids=[0] * len(ids))

    runtime, tokenizers = ModuleType("onnxruntime"), ModuleType("tokenizers")
    runtime.InferenceSession = Session  # type: ignore[attr-defined]
    tokenizers.Tokenizer = Tokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "tokenizers", tokenizers)
    encoder = open_encoder(onnx_file)
    mean = np.array([(97 + 98) / 2, 1])
    assert encoder.encode(["ab"])[0] == pytest.approx(mean / np.linalg.norm(mean))
    assert pickle.loads(pickle.dumps(encoder)).identity == encoder.identity
    assert open_encoder(onnx_file.parent).encode(["ab"])[0] == pytest.approx(
        encoder.encode(["ab"])[0]
    )
    (onnx_file.parent / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"has no tokenizer\.json next to it"):
        open_encoder(onnx_file)


class _Mine:
    """An encoder that somebody else wrote."""

    name, version, identity, dimension = "mine", "1", "mine kept", 2
    settings: ClassVar[dict[str, Any]] = {}
    spec = None

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    def encode(self, texts: Any) -> Any:
        return np.array([self._vectors] * len(texts), dtype=np.float32)


def test_an_encoder_of_somebody_else_is_checked() -> None:
    encoder = open_encoder(_Mine([3.0, 4.0]))  # type: ignore[arg-type]
    assert (encoder.identity, encoder.dimension) == ("mine kept", 2)
    assert np.allclose(encoder.encode(["a", ""]), [[0.6, 0.8], [0, 0]])
    assert encoder.spec.open().identity == encoder.identity
    with pytest.raises(InputError, match="not finite"):
        open_encoder(_Mine([np.nan, 1.0]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must return a matrix"):
        open_encoder(_Mine([[1.0], [2.0]]))  # type: ignore[arg-type]
