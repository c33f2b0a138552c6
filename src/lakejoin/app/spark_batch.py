"""Search with many tables on a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.opened import Lake
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.spark.asking import Done
    from lakejoin.spark.tasks import Listener


@dataclass(frozen=True, eq=False, repr=False)
class WorkerAnswer:
    """A fused answer that a worker sent: as JSON, and as text."""

    document: dict[str, Any]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values."""
        return self.document

    def __repr__(self) -> str:
        return self.text


def on_spark(lake: Lake, master: str | None, conf: Sequence[str]) -> Callable[..., Iterator[Any]]:
    """A function that does what `lake.search_many` does, on the cluster at `master`."""
    from lakejoin.app.cluster import settings_of

    settings = settings_of(conf)

    def search_many(
        queries: Iterable[str], on: Any = None, *, listener: Listener, **options: Any
    ) -> Iterator[Answer | Answers | Failed | WorkerAnswer]:
        from lakejoin.search.needed_part import check_part
        from lakejoin.search.parted import check_parted
        from lakejoin.spark.searching import options_of, search_batch
        from lakejoin.spark.session import session
        from lakejoin.spark.tasks import Progress

        search_options = options_of(**options)
        check_part(lake.snapshot, search_options.by)
        check_parted(search_options)
        names: list[str] = []

        def requests() -> Iterator[Any]:
            for name in queries:
                names.append(name)
                yield name, on, search_options

        listener(Progress("starting Spark"))
        with session(None, master, settings) as spark:
            answers = search_batch(spark, lake.snapshot, requests(), None, listener)
            for position, done in enumerate(answers):
                yield _as_answer(names[position], on, done)

    return search_many


def _as_answer(name: str, on: Any, done: Done) -> Answer | Answers | Failed | WorkerAnswer:
    from lakejoin.search.answer import Answers, Failed

    if done.error is not None:
        return Failed(name, on, done.error)
    if done.fused is not None:
        return WorkerAnswer(*done.fused)
    return Answers(done.answers)
