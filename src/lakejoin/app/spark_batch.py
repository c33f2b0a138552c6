"""Searches with many tables on a Spark cluster: the answers of a search in this process."""

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
class Told:
    """A fused answer as a worker tells it: as JSON has it, and as text."""

    document: dict[str, Any]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return self.document

    def __repr__(self) -> str:
        return self.text


def on_spark(lake: Lake, master: str | None, conf: Sequence[str]) -> Callable[..., Iterator[Any]]:
    """Does what `lake.search_many` does, on the cluster at `master`."""
    from lakejoin.app.cluster import settings_of

    settings = settings_of(conf)

    def many(
        queries: Iterable[str], on: Any = None, *, listener: Listener, **options: Any
    ) -> Iterator[Answer | Answers | Failed | Told]:
        from lakejoin.search.needed_part import check_part
        from lakejoin.search.parted import check_parted
        from lakejoin.spark.searching import options_of, search_batch
        from lakejoin.spark.session import session
        from lakejoin.spark.tasks import Progress

        how = options_of(**options)
        check_part(lake.snapshot, how.by)
        check_parted(how)
        names: list[str] = []

        def asked() -> Iterator[Any]:
            for name in queries:
                names.append(name)
                yield name, on, how

        listener(Progress("starting Spark"))
        with session(None, master, settings) as spark:
            found = search_batch(spark, lake.snapshot, asked(), None, listener)
            for number, done in enumerate(found):
                yield _as_answer(names[number], on, done)

    return many


def _as_answer(name: str, on: Any, done: Done) -> Answer | Answers | Failed | Told:
    from lakejoin.search.answer import Answers, Failed

    if done.error is not None:
        return Failed(name, on, done.error)
    if done.fused is not None:
        return Told(*done.fused)
    return Answers(done.answers)
