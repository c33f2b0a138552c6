"""Hands the encoder to the workers in a file of the build; each process opens it once."""

from __future__ import annotations

import pickle
from functools import lru_cache

from lakejoin.encoders import Encoder
from lakejoin.errors import BuildFailed, InputError, LakejoinError
from lakejoin.locations import Location
from lakejoin.pipeline.job import Job, TaskRunner

_FILE = "encoder"


def send_encoder(job: Job, encoder: Encoder, runner: TaskRunner) -> None:
    """Driver: write the encoder's spec to the scratch folder."""
    try:
        body = runner.dumps(encoder.spec)
    except Exception as problem:  # noqa: BLE001 (pickling fails with any type of exception)
        raise InputError(
            f"the encoder {encoder.name} cannot be sent to the workers ({problem}): it must not "
            "hold an open file, a lock or a connection"
        ) from None
    job.scratch.make_folder()
    (job.scratch / _FILE).replace_quickly(body)


def receive_encoder(job: Job) -> Encoder:
    """Task: open the encoder that the driver handed over."""
    return _opened((job.scratch / _FILE).uri)


@lru_cache(maxsize=1)
def _opened(uri: str) -> Encoder:
    try:
        spec = pickle.loads(Location.of(uri).read_bytes())
        encoder: Encoder = spec.open()
    except LakejoinError:
        raise
    except Exception as problem:
        raise BuildFailed(
            f"a worker cannot open the encoder ({type(problem).__name__}: {problem}): install its "
            "packages and files on every worker"
        ) from problem
    return encoder
