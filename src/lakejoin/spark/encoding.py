"""How the workers get the encoder: through a file of the build, opened once in each process."""

from __future__ import annotations

import pickle
from functools import lru_cache

from lakejoin.encoders import Encoder
from lakejoin.errors import BuildFailed, InputError, LakejoinError
from lakejoin.spark.job import Job
from lakejoin.storage import Place

_FILE = "encoder"


def hand_over(job: Job, encoder: Encoder) -> None:
    """The driver's side: leaves what opens the encoder where the tasks will find it."""
    from pyspark import cloudpickle

    try:
        body = cloudpickle.dumps(encoder.spec)
    except Exception as problem:  # noqa: BLE001 (what cannot be pickled says so in many ways)
        raise InputError(
            f"the encoder {encoder.name} cannot be sent to Spark's workers ({problem}): let it "
            "hold nothing that is open, such as a file, a lock or a connection"
        ) from None
    job.scratch.make_folder()
    (job.scratch / _FILE).replace_quickly(body)


def handed_over(job: Job) -> Encoder:
    """The task's side: the encoder."""
    return _opened((job.scratch / _FILE).uri)


@lru_cache(maxsize=1)
def _opened(uri: str) -> Encoder:
    try:
        spec = pickle.loads(Place.of(uri).read_bytes())
        found: Encoder = spec.open()
    except LakejoinError:
        raise
    except Exception as problem:
        raise BuildFailed(
            f"a worker cannot open the encoder ({type(problem).__name__}: {problem}): what it is "
            "made of must be installed on every worker"
        ) from problem
    return found
