"""Open an encoder by name, path, function or spec."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakejoin.encoders.protocol import BaseEncoder, Encoder, EncoderSpec
from lakejoin.errors import InputError

if TYPE_CHECKING:
    from lakejoin.encoders.mixed_encoder import Mix

ENCODER_NAMES = ("default", "small", "wide", "model", "characters")
ENCODER_VARIABLE = "LAKEJOIN_ENCODER"  # names the encoder of an index that was built with a path
EncoderChoice = str | Path | Encoder | EncoderSpec | Callable[[Sequence[str]], Any] | None


def open_encoder(spec: EncoderChoice = None, *, mix: Mix | None = None) -> Encoder:
    """Open the encoder that `spec` names.

    - `None` or `"default"`: word vectors of the wordllama wheel joined with character n-grams;
    - `"small"`: the same at half the dimension;
    - `"wide"`: the same at twice the dimension;
    - `"model"`: the sentence model all-MiniLM-L6-v2 beside the default, but slow;
    - `"characters"`: hashed character n-grams alone, which need no other package;
    - a path: a fastText `.bin` or `.vec`, a GloVe or word2vec file, a sentence-transformers folder,
      or an ONNX model;
    - a function from strings to vectors, an encoder, or the spec of one.

    `mix` says how words and characters are mixed, for encoders that have both.

    >>> open_encoder("characters").encode(["", "bern"]).shape
    (2, 256)
    >>> open_encoder("no/such/file.vec")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: no encoder no/such/file.vec: use "default", "small", \
"wide", "model", "characters", or the path of a model or a file of word vectors
    """
    if isinstance(spec, EncoderSpec):
        return spec.open()
    if spec is not None and not isinstance(spec, str | Path):
        from lakejoin.encoders.function_encoders import CheckedEncoder, FunctionEncoder

        if isinstance(spec, BaseEncoder):
            return spec
        if isinstance(spec, Encoder):
            return CheckedEncoder(spec)
        if not callable(spec):
            raise InputError(f"an encoder is a name, a path or a function, not {spec!r}")
        return FunctionEncoder(spec)
    if spec is None or spec == "default":
        from lakejoin.encoders.wordllama import open_default

        return open_default(mix=mix)
    if spec == "small":
        from lakejoin.encoders.wordllama import open_small

        return open_small(mix)
    if spec == "wide":
        from lakejoin.encoders.wordllama import open_wide

        return open_wide(mix)
    if spec == "model":
        from lakejoin.encoders.sentence_model import ModelEncoder
        from lakejoin.encoders.wordllama import open_default

        return ModelEncoder(open_default(mix=mix))
    if spec == "characters":
        from lakejoin.encoders.mixed_encoder import open_characters

        return open_characters(mix)
    return _open_path(Path(spec), mix)


def find_named_encoder(recorded: str) -> str:
    """The name or path of the encoder to open for an index that records this one. A path is not
    opened unless the user names it: an index from elsewhere could name any file, or a model that
    runs code.

    >>> find_named_encoder("small")
    'small'
    """
    if recorded in ENCODER_NAMES:
        return recorded
    named = os.environ.get(ENCODER_VARIABLE)
    if named:
        return named
    path = shlex.quote(recorded)
    raise InputError(
        f"the vectors of this index were made by the encoder {path}, and a path in an index is "
        f"opened only if you name it: set {ENCODER_VARIABLE}={path}, or pass it as --encoder or "
        "encoder="
    )


def _open_path(path: Path, mix: Mix | None) -> Encoder:
    if not path.exists():
        raise InputError(
            f'no encoder {path}: use "default", "small", "wide", "model", "characters", or the path'
            " of a model or a file of word vectors"
        )
    path = path.resolve()
    if path.is_dir() or path.suffix == ".onnx":
        return _open_model(path)
    from lakejoin.encoders.word_files import FASTTEXT_MAGIC, open_fasttext, open_wordfile

    with path.open("rb") as file:
        fasttext = file.read(len(FASTTEXT_MAGIC)) == FASTTEXT_MAGIC
    return open_fasttext(path, mix) if fasttext else open_wordfile(path, mix)


def _open_model(path: Path) -> Encoder:
    from lakejoin.encoders.function_encoders import open_onnx, open_sentences

    if path.is_dir() and (path / "modules.json").exists():
        return open_sentences(path)
    if path.is_file() or any(path.rglob("*.onnx")):
        return open_onnx(path)
    raise InputError(
        f"no model in {path}: expected modules.json (sentence-transformers) or a file that ends in"
        " .onnx"
    )
