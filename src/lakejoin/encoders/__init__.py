"""Encoders: strings in, unit vectors out.

>>> from lakejoin.encoders import open_encoder
>>> encoder = open_encoder("characters")
>>> vectors = encoder.encode(["mississippi", "missisippi", "ohio"])
>>> vectors.shape[0], bool(vectors[0] @ vectors[1] > 0.6), bool(vectors[0] @ vectors[2] < 0.4)
(3, True, True)

`open_encoder()` alone opens the default, which needs `pip install 'lakejoin[meaning]'`.
"""

from lakejoin.encoders.factory import open_encoder
from lakejoin.encoders.protocol import Encoder, EncoderSpec

__all__ = ["Encoder", "EncoderSpec", "open_encoder"]
