"""How answers by meaning and by distance look: pairs with their distances, the choice of tau."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lakejoin.app.printing import clip, counted, print_listed, say_more
from lakejoin.errors import InputError
from lakejoin.search.display import percent
from lakejoin.search.near_evidence import BETWEEN

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.answer import Answer
    from lakejoin.search.reach import Reach
    from lakejoin.search.result import Result
    from lakejoin.search.tau import Taus

_OR = " | "  # between examples
_SHORTEST = 24  # what is left of one
_EXPLAINED = 12  # of each: the nearest pairs, the farthest, my values without a partner


def near_cells(result: Result, reach: Reach) -> tuple[Text, Text]:
    """How many pairs a result has, and the median distance of the nearest partners."""
    from lakejoin.search.result import NearResult

    assert isinstance(result, NearResult)
    return Text(f"{result.pairs:,}"), Text(reach.shown(result.distance))


def near_looked_for(answer: Answer, tables: int) -> str:
    """What was searched for, in words."""
    assert answer.reach is not None
    pairs = answer.measure == "all"
    best = f"the {counted(answer.k, 'column')}" if answer.k else "the columns"
    wanted = _wanted_pairs(answer) if pairs else _wanted_partners(answer)
    has = "has" if answer.k == 1 else "have"
    return f"{best} of {counted(tables, 'table')} that {has} {wanted} {answer.reach.said}"


def _wanted_partners(answer: Answer) -> str:
    share = percent(answer.min) if answer.min else ""
    if not answer.k:
        return f"partners for at least {share} of them" if share else "any partner"
    return "partners for the most of them" + (f", at least {share}," if share else "")


def _wanted_pairs(answer: Answer) -> str:
    least = f"at least {percent(answer.min)} as many" if answer.min else ""
    if not answer.k:
        return f"{least} pairs as there are values" if least else "any pair"
    return "the most pairs" + (f", {least} as there are values," if least else "")


def print_pairs_hint(screen: Console, result: Result) -> None:
    """How to see what is paired with what, where it can be listed."""
    from lakejoin.search.result import NearResult

    assert isinstance(result, NearResult)
    if result.listed:
        add = f"add: --explain {result.rank} (with --json, all of them)"
        screen.print()
        screen.print(
            Text(f"to see the pairs of number {result.rank}, {add}", "dim"), soft_wrap=True
        )


def print_near_examples(screen: Console, result: Result, indent: str) -> None:
    """Values with their partners, and those without one, each in a line of their own."""
    for mark, style, kind in (("✓", "green", "matched"), ("✗", "red", "unmatched")):
        found = result.examples[kind]
        if found:
            room = screen.width - cell_len(f"{indent}{mark} ")
            each = max(_SHORTEST, (room - len(_OR) * (len(found) - 1)) // len(found))
            line = Text.assemble(indent, (f"{mark} ", style))
            line.append(_OR.join(clip_pair(text, each) for text in found), "dim")
            line.truncate(screen.width, overflow="ellipsis")
            screen.print(line, soft_wrap=True)


def clip_pair(text: str, width: int) -> str:
    """An example in so much room: of both values something is left.

    >>> clip_pair("Saint Barthélemy ~ Saint Barthelemy", 23), clip_pair("Rom ~ Rome (Italy)", 11)
    ('Saint Bar… ~ Saint Bar…', 'Rom ~ Rome…')
    """
    mine, between, theirs = text.partition(BETWEEN)
    room = width - len(between)
    if len(mine) + len(theirs) <= room or not between:
        return clip(text, width)
    half = max(room // 2, room - len(theirs))
    mine = clip(mine, half)
    return f"{mine}{between}{clip(theirs, room - len(mine))}"


def print_taus(screen: Console, taus: Taus) -> None:
    """How many columns would qualify at each tau, as a plot; a note says which was taken."""
    from lakejoin.search.tau_plot import as_text

    screen.print()
    for line in as_text(taus):
        screen.print(Text(f"  {line}"), soft_wrap=True)
    screen.print()


def print_near_values(screen: Console, result: Result, reach: Reach) -> None:
    """The nearest pairs that differ, those that are only just near enough, and my values without
    a partner."""
    from lakejoin.search.result import NearResult

    assert isinstance(result, NearResult)
    equal = result.equal
    others = result.pairs - equal
    screen.print()
    if equal:
        screen.print(Text(f"{counted(equal, 'pair')} of equal values", "bold"))
        screen.print()
    noun = "other pair" if equal else "pair"
    head = f"{counted(others, noun)}, the nearest first" if others else "no other pairs"
    screen.print(Text(head, "bold"))
    few = others <= 2 * _EXPLAINED
    _print_pairs(result.matches(others if few else _EXPLAINED, differing=True), reach)
    if not few:
        screen.print(Text(f"… and the farthest {reach.said}", "bold"))
        farthest = result.farthest(_EXPLAINED, differing=True)
        _print_pairs(farthest.take([*range(len(farthest))][::-1]), reach)
        say_more(screen, others - 2 * _EXPLAINED)
    missing = result.unmatched(_EXPLAINED)
    screen.print()
    screen.print(Text("values of mine without a partner", "bold"), "" if len(missing) else "none")
    print_listed(missing)
    say_more(screen, result.query_size - result.matched - len(missing))


def print_near_sql(screen: Console, result: Result, by: str) -> None:
    """The join through the pairs as SQL, where they are few; by distance there is none."""
    from lakejoin.search.near_sql import MOST
    from lakejoin.search.result import NearResult

    assert isinstance(result, NearResult)
    if by != "meaning" or result.pairs > MOST:
        return
    screen.print()
    if result.pairs > 2 * _EXPLAINED:
        screen.print(Text("to join them in DuckDB, --json has the SQL", "dim"))
        return
    try:
        sql = result.sql()
    except InputError as problem:
        screen.print(Text(f"there is no SQL: {problem}", "dim"), soft_wrap=True)
        return
    screen.print(Text("to join them in DuckDB:", "dim"))
    screen.print(Text(sql), soft_wrap=True)


def _print_pairs(pairs: pa.Table, reach: Reach) -> None:
    shown = [reach.shown(distance) for distance in pairs["distance"].to_pylist()]
    place = pairs.column_names.index("distance")
    print_listed(pairs.set_column(place, "distance", [shown]))
