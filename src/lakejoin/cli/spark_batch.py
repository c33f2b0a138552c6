"""Search with many tables on a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakejoin.lake import Lake
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.pipeline.search_tasks import QueryOutcome
    from lakejoin.spark.task_runner import Listener


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
    from lakejoin.cli.options import parse_settings

    settings = parse_settings(conf)

    def search_many(
        queries: Iterable[str], on: Any = None, *, listener: Listener, **options: Any
    ) -> Iterator[Answer | Answers | Failed | WorkerAnswer]:
        from lakejoin.search.needed_part import require_part
        from lakejoin.search.partitioned_search import check_partitionable
        from lakejoin.spark.batch_search import batch_search_options, search_batch
        from lakejoin.spark.session import open_session
        from lakejoin.spark.task_runner import Progress

        search_options = batch_search_options(**options)
        require_part(lake.snapshot, search_options.by)
        check_partitionable(search_options)
        names: list[str] = []

        def requests() -> Iterator[Any]:
            for name in queries:
                names.append(name)
                yield name, on, search_options

        listener(Progress("starting Spark"))
        with open_session(None, master, settings) as spark:
            answers = search_batch(spark, lake.snapshot, requests(), None, listener)
            for position, done in enumerate(answers):
                yield _as_answer(names[position], on, done)

    return search_many


def _as_answer(name: str, on: Any, done: QueryOutcome) -> Answer | Answers | Failed | WorkerAnswer:
    from lakejoin.search.answer import Answers, Failed

    if done.error is not None:
        return Failed(name, on, done.error)
    if done.fused is not None:
        return WorkerAnswer(*done.fused)
    return Answers(done.answers)
