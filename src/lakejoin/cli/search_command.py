"""The command `search`: find the tables of the lake that join best; and how searches are run."""

from __future__ import annotations

from typing import Any

import click

from lakejoin import api
from lakejoin.cli.options import RESULTS_PER_ANSWER, SearchRun, query_options, run_options
from lakejoin.cli.terminal import explain_long_wait
from lakejoin.search.options import DEFAULT_K, SearchOptions


@click.command("search")
@query_options(
    "A column of TABLE: name or zero-based index. Repeat it for a composite key; COLUMN=OTHER "
    "then allows only OTHER as its partner.  [default: every column that may be a key]",
    f"How many tables to show.  [default: {DEFAULT_K}]",
)
@run_options("Show the evidence for result N, in nats; without N, for all results.")
def search_command(run: SearchRun) -> None:
    """Find the tables of the lake that join best with TABLE, and what they add.

    TABLE is a file or a table of the lake. Every engine that applies searches with every column
    that may be a key; coincidental overlap is listed separately. To search with one engine, use
    lakejoin overlap, containment, composite, similar or nearby.

    \b
    Examples:
      lakejoin search mine.csv
      lakejoin search mine.csv --on city --explain 1
      lakejoin search mine.csv --on first_name --on last_name --on country=land
      lakejoin search --batch folder/ -k 1
    """
    k = max(run.k or DEFAULT_K, run.explain or 0)
    show_answers(run, SearchOptions("fused", k))


def show_answers(run: SearchRun, options: SearchOptions) -> None:
    """Search and show the answer, or with --batch all answers."""
    from lakejoin.cli.engine_output import TypedQuery, show_engine_answer

    run.check()
    lake = api.open(run.index)
    if run.batch is not None:
        from lakejoin.cli.search_batch import on_spark, run_batch

        on_cluster = run.master is not None or run.conf
        search_many = on_spark(lake, run.master, run.conf) if on_cluster else None
        run_batch(lake, run, options, search_many)
        return
    typed = TypedQuery(str(run.table), run.index, len(lake))
    if options.by == "fused":
        from lakejoin.cli.fused_output import search_live, show_fused

        k = options.k or DEFAULT_K
        found = search_live(lake, typed, run.on or None, k, quiet=run.as_json)
        show_fused(found, typed, run.explain, run.as_json)
        return
    with explain_long_wait():
        answer: Any = lake.search_with(typed.table, run.on or None, options)
    limit = run.k or RESULTS_PER_ANSWER
    show_engine_answer(answer, typed, limit, run.explain, run.as_json)
