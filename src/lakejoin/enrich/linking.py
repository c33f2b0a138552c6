"""Finds the tables of the lake that join with the query table, as links that can be stored and
applied to other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakejoin.enrich.likeness import learned_likeness
from lakejoin.enrich.lines import KeyLines, lines_of, tokens_of
from lakejoin.enrich.more_tables import MOST_TEXTS, WORDED, alike_tables, meant_tables
from lakejoin.enrich.partners import (
    ByEqual,
    ByLikeness,
    ByMeaning,
    ByPlace,
    ByPrograms,
    Partners,
    Way,
)
from lakejoin.enrich.their_table import TheirTable
from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.fused.answer import FusedResult
    from lakejoin.discovery.fused.ways import Way as FoundWay
    from lakejoin.opened import Lake
    from lakejoin.store.snapshot import Snapshot

# The kinds of joins for each `by`, in the order in which they are tried.
BY: dict[str, tuple[str, ...]] = {
    "auto": ("equal", "rewritten", "fuzzy", "meaning", "near"),
    "equal": ("equal",),
    "fuzzy": ("equal", "rewritten", "fuzzy"),
    "meaning": ("equal", "meaning"),
}


@dataclass(frozen=True)
class Link:
    """A table of the lake, the query columns it joins on, and the ways to join: each is used for
    the keys that found no partner before."""

    table: str
    mine: tuple[str, ...]
    ways: tuple[Way, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """How values match."""
        return tuple(dict.fromkeys(way.kind for way in self.ways))

    @property
    def theirs(self) -> frozenset[str]:
        """The columns of the lake table that are joined on."""
        return frozenset(name for way in self.ways for name in way.theirs)

    def partners(self, lines: KeyLines, table: TheirTable) -> Partners:
        """Find the partners of some keys."""
        partners = self.ways[0].partners(lines, table)
        for way in self.ways[1:]:
            if partners.met.all():
                break
            partners = partners.then(way.partners(lines, table))
        return partners


def check_by(by: str) -> tuple[str, ...]:
    """The kinds of joins for `by`; raises if it is unknown."""
    if by not in BY:
        raise InputError(f"tables are joined by one of {', '.join(BY)}, not {by!r}")
    return BY[by]


@dataclass(frozen=True)
class Wanted:
    """What to search for: the key (None: any column that may be one), the kinds of joins, the
    number of tables, and the names of tables to leave out."""

    on: tuple[str, ...] | None
    by: str = "auto"
    tables: int = 30
    exclude: tuple[str, ...] = ()


def find_links(lake: Lake, mine: pa.Table, wanted: Wanted) -> list[Link]:
    """Find the tables that join with the query table, the best first."""
    kinds = check_by(wanted.by)
    on = None if wanted.on is None else list(wanted.on)
    if on is not None and len(on) == 1:
        answer = lake.search(mine, on[0], wanted.tables)
    else:
        answer = lake.search(mine, on, wanted.tables)
    lines: dict[tuple[str, ...], KeyLines] = {}
    links = []
    for result in answer:
        if result.table in wanted.exclude:
            continue
        linker = _Linker(lake.snapshot, mine, result, kinds, lines)
        link = linker.link()
        if link is not None:
            links.append(link)
    return links + _find_more(lake, mine, wanted, links)


def _find_more(lake: Lake, mine: pa.Table, wanted: Wanted, links: Sequence[Link]) -> list[Link]:
    """Find tables that the search does not return, by the requested kinds of joins."""
    if wanted.on is None or len(wanted.on) != 1:
        return []
    key, kinds = wanted.on[0], check_by(wanted.by)
    known = {link.table for link in links} | set(wanted.exclude)
    more: list[tuple[str, tuple[Way, ...]]] = []
    if "fuzzy" in kinds:
        more += alike_tables(lake, mine, key, known)
    if kinds == BY["meaning"]:
        more += meant_tables(lake, mine, key, known)
    return [Link(table, (key,), ways) for table, ways in more]


class _Linker:
    """Turns a search result into a link."""

    def __init__(
        self,
        snapshot: Snapshot,
        mine: pa.Table,
        result: FusedResult,
        kinds: Sequence[str],
        lines: dict[tuple[str, ...], KeyLines],
    ) -> None:
        self._snapshot = snapshot
        self._mine = mine
        self._result = result
        self._kinds = kinds
        self._lines = lines
        self._table = TheirTable(snapshot, result.table)

    def link(self) -> Link | None:
        """The link, or None if the table joins by none of the requested kinds."""
        usable = [way for way in self._result.ways if way.believed and way.kind in self._kinds]
        if not usable:
            return None
        mine = usable[0].columns
        same = [way for way in usable if way.columns == mine]
        first = {way.kind: way for way in reversed(same)}.values()  # the best of each kind
        ways = [way for found in first for way in self._convert(found)]
        if not ways:
            return None
        if "fuzzy" in self._kinds:
            ways += self._by_likeness(mine, ways)
        if self._kinds == BY["meaning"] and all(way.kind != "meaning" for way in ways):
            ways += self._by_text_meaning(mine, ways)
        ways.sort(key=lambda way: self._kinds.index(way.kind))
        return Link(self._result.table, mine, tuple(ways))

    def _convert(self, way: FoundWay) -> Iterator[Way]:
        """Convert a way found by a search to one that can be stored."""
        from lakejoin.discovery.fused.rewritten import Rewriting

        theirs = way.result.columns
        if way.kind == "equal":
            yield ByEqual(theirs)
        elif way.kind == "rewritten" and isinstance(way.result, Rewriting):
            yield ByPrograms(theirs, way.result.learned)
        elif way.kind == "meaning":
            yield from self._by_meaning(theirs)
        elif way.kind == "near":
            yield ByPlace(theirs, way.how.removeprefix("within "))

    def _by_meaning(self, theirs: tuple[str, ...]) -> Iterator[Way]:
        from lakejoin.search.tau import default_tau

        made = self._snapshot.manifest.options.meaning
        if made is not None and made.encoder is not None:
            yield ByMeaning(theirs, default_tau(made.identity), made.encoder)

    def _by_text_meaning(self, mine: tuple[str, ...], ways: Sequence[Way]) -> Iterator[Way]:
        """The way to join texts that mean the same, if the column contains texts."""
        theirs = self._text_column(mine, ways)
        if theirs:
            yield from self._by_meaning(theirs)

    def _by_likeness(self, mine: tuple[str, ...], ways: Sequence[Way]) -> Iterator[Way]:
        """The way to join texts that are written differently, if there are any."""
        theirs = self._text_column(mine, ways)
        if not theirs:
            return
        if mine not in self._lines:
            self._lines[mine] = lines_of(self._mine, mine)
        tokens, _ = tokens_of(self._lines[mine].table.column(0), self._table.rules)
        likeness = learned_likeness(tokens, self._table, theirs[0])
        if likeness is not None:
            yield ByLikeness(theirs, likeness)

    def _text_column(self, mine: tuple[str, ...], ways: Sequence[Way]) -> tuple[str, ...]:
        """The single lake column that is joined on, if it contains texts, and not too many."""
        theirs = next((way.theirs for way in ways if len(way.theirs) == 1), ())
        if len(mine) != 1 or not theirs:
            return ()
        profile = self._table.columns[self._table.place(theirs[0])].profile
        return theirs if profile.type in WORDED and profile.distinct <= MOST_TEXTS else ()
