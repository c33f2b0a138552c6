"""The search methods of a lake, opened here or on a server: one for each engine, and batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from lakejoin.errors import InputError, UnknownTable
from lakejoin.inputs import LakeTable
from lakejoin.model import FRAME_NAME
from lakejoin.search.options import (
    DEFAULT_K,
    ByDistance,
    ByMeaning,
    SearchOptions,
    VectorDistance,
)

if TYPE_CHECKING:
    from lakejoin.encoders.factory import EncoderChoice
    from lakejoin.ranking.answer import FusedAnswer
    from lakejoin.search.answer import Answer, Answers, Failed
    from lakejoin.search.query_columns import ColumnSelection

    SearchAnswer: TypeAlias = Answer | Answers | FusedAnswer

_METHODS = ("search", "overlap", "containment", "composite", "similar", "nearby")


class LakeSearch:
    """The search methods of `Lake` and `RemoteLake`, which say how one search is done."""

    _encoder: EncoderChoice = None
    _table_class: type[Any] = LakeTable
    _threads: int | None = None  # of `search_many`; None for as many as there are cores

    def table(self, name: str) -> Any:
        """The table with this name."""
        raise NotImplementedError

    def tables(self, pattern: str | None = None) -> list[Any]:
        """The tables in order of their names; `pattern` is a glob, or a part of a name."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        """The same as `table`.

        >>> lake["cities.csv"].rows, "cities.csv" in lake, "nowhere.csv" in lake
        (7, True, False)
        """
        return self.table(name)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.table(name) is not None
        except UnknownTable:
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tables())

    def search(self, table: Any, on: ColumnSelection = None, k: int = DEFAULT_K) -> FusedAnswer:
        """Find the `k` tables in the lake that join best with `table`, with every engine."""
        raise NotImplementedError

    def _search_columns(
        self, table: Any, on: ColumnSelection, options: SearchOptions, is_key: bool | None = None
    ) -> Answer | Answers:
        """Search with one engine; `is_key` says whether it takes a composite key or one column."""
        raise NotImplementedError

    @overload
    def overlap(
        self,
        table: Any,
        on: Literal["*"],
        k: int = ...,
        *,
        min_share: float | None = ...,
        skip_copies: bool = ...,
        algorithm: str = ...,
    ) -> Answers: ...
    @overload
    def overlap(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int = ...,
        *,
        min_share: float | None = ...,
        skip_copies: bool = ...,
        algorithm: str = ...,
    ) -> Answer: ...
    def overlap(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int = DEFAULT_K,
        *,
        min_share: float | None = None,
        skip_copies: bool = False,
        algorithm: str = "auto",
    ) -> Answer | Answers:
        """Find the `k` columns in the lake that share the most distinct values with a column,
        counted exactly.

        `table` is as for `search`. `on` is a column name or a zero-based index, by default the
        most key-like text column; `"*"` searches with each column and returns `Answers`.
        `min_share` leaves out columns that contain a smaller share of the values, `skip_copies` the
        table itself and its exact copies. `algorithm` affects the speed, not the answer.

        >>> [(result.table, result.matched) for result in lake.overlap("mine.csv", on="city")]
        [('cities.csv', 4), ('sights.csv', 2), ('more.csv', 1)]
        """
        options = SearchOptions("overlap", k, min_share, skip_copies, algorithm=algorithm)
        return self._search_columns(table, on, options, is_key=False)

    @overload
    def containment(
        self,
        table: Any,
        on: Literal["*"],
        *,
        min_share: float | None = ...,
        k: int | None = ...,
        skip_copies: bool = ...,
        verify: bool = ...,
    ) -> Answers: ...
    @overload
    def containment(
        self,
        table: Any,
        on: ColumnSelection = ...,
        *,
        min_share: float | None = ...,
        k: int | None = ...,
        skip_copies: bool = ...,
        verify: bool = ...,
    ) -> Answer: ...
    def containment(
        self,
        table: Any,
        on: ColumnSelection = None,
        *,
        min_share: float | None = None,
        k: int | None = None,
        skip_copies: bool = False,
        verify: bool = True,
    ) -> Answer | Answers:
        """Find every column in the lake that contains at least `min_share` (0.6) of the distinct
        values of a column, or the best `k`.

        `table`, `on` and `skip_copies` are as for `overlap`. Small queries are counted. For larger
        ones sketches find the columns and each is then counted; `verify=False` returns the
        estimates of the sketches.

        >>> [result.table for result in lake.containment("mine.csv", on="city")]
        ['cities.csv']
        >>> [result.containment for result in lake.containment("mine.csv", on="city", k=2)]
        [0.8, 0.4]
        """
        options = SearchOptions("containment", k, min_share, skip_copies, verify)
        return self._search_columns(table, on, options, is_key=False)

    def composite(
        self,
        table: Any,
        on: ColumnSelection,
        k: int | None = DEFAULT_K,
        *,
        min_share: float | None = None,
        skip_copies: bool = False,
        initial: str | int | None = None,
    ) -> Answer:
        """Find the `k` tables in the lake that contain the most combinations of several columns,
        counted exactly; with `k=None`, every table with at least `min_share` (0.6) of them.

        `table` and `skip_copies` are as for `overlap`. `on` lists the columns; the lake columns
        may have any name and order, and `{"country": "land", "name": None}` allows only the lake
        column `land` for `country`. `initial` is the column that rows are fetched by: its name or
        index, `"cardinality"` for the one with the fewest distinct values, or `"items"` (the
        default) for the cheapest. It affects the speed, not the answer.

        >>> answer = lake.composite("mine.csv", on=["city", "country"])
        >>> answer[0].table, answer[0].columns, answer[0].matched
        ('cities.csv', ('name', 'land'), 4)
        """
        by = "containment" if k is None else "overlap"
        options = SearchOptions(by, k, min_share, skip_copies, initial=initial)
        answer = self._search_columns(table, on, options, is_key=True)
        assert not isinstance(answer, tuple), "a key has one answer"
        return answer

    @overload
    def similar(
        self,
        table: Any,
        on: Literal["*"],
        k: int | None = ...,
        *,
        tau: float | str | None = ...,
        measure: str = ...,
        min_share: float | None = ...,
        skip_copies: bool = ...,
    ) -> Answers: ...
    @overload
    def similar(
        self,
        table: Any,
        on: ColumnSelection = ...,
        k: int | None = ...,
        *,
        tau: float | str | None = ...,
        measure: str = ...,
        min_share: float | None = ...,
        skip_copies: bool = ...,
    ) -> Answer: ...
    def similar(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        *,
        tau: float | str | None = None,
        measure: str = "hit",
        min_share: float | None = None,
        skip_copies: bool = False,
    ) -> Answer | Answers:
        """Find every text column in the lake in which `min_share` (0.15) of the values are expected
        to have a right match of similar meaning or spelling, or the best `k`.

        `table`, `on` and `skip_copies` are as for `overlap`. The match of a value is the nearest
        value of a column, and `result.matches()` lists those that are right with a chance of 90 %;
        `tau="sure 0.95"` sets another chance, `"judged 0.95"` has the sentence model judge too.
        With a number (`0.3` or `"30%"`), all texts match that are at most that far apart, as a
        share of the largest distance, and `min_share` is 0.6; `"auto"` chooses it (`answer.taus`).
        `measure="all"` counts pairs instead of values that match. The index must have been built
        with meaning; if its encoder is a function, pass it to `lakejoin.open`.

        >>> streets = ["12 main street", "9 oak avenue"]
        >>> lake.similar({"street": streets}, tau=0.45)[0].columns
        ('address',)
        """
        near = ByMeaning(tau, self._encoder, measure)
        options = SearchOptions("meaning", k, min_share, skip_copies, near=near)
        return self._search_columns(table, on, options, is_key=False)

    def nearby(
        self,
        table: Any,
        on: ColumnSelection = None,
        k: int | None = None,
        *,
        within: float | str | VectorDistance,
        measure: str = "hit",
        min_share: float | None = None,
        skip_copies: bool = False,
    ) -> Answer:
        """Find every lake column of numbers, coordinates or vectors in which at least
        `min_share` (0.6) of the values have a match `within` a distance, or the best `k`.

        `table`, `skip_copies` and `measure` are as for `similar`. `on` is one column, or latitude
        and longitude; by default the coordinates of the table. `within` is `"500m"`, `"2km"` or
        `"3mi"` for coordinates, `0.5` or `"1%"` for numbers, and a number for vectors, or a
        `VectorDistance` for a metric other than L2.

        >>> stations = {"lat": [46.9489, 47.3779], "lon": [7.4391, 8.5402]}
        >>> lake.nearby(stations, within="2km")[0].table
        'cities.csv'
        """
        if isinstance(within, VectorDistance):
            near = ByDistance(within.within, within.metric, measure)
        else:
            near = ByDistance(within, None, measure)
        options = SearchOptions("distance", k, min_share, skip_copies, near=near)
        answer = self._search_columns(table, on, options)
        assert not isinstance(answer, tuple), "points have one answer"
        return answer

    def search_with(self, table: Any, on: ColumnSelection, options: SearchOptions) -> SearchAnswer:
        """Search as `options` say, with any method; several columns are a composite key.

        >>> lake.search_with("mine.csv", "city", SearchOptions("overlap", k=1))[0].table
        'cities.csv'
        """
        if options.by == "fused":
            return self.search(table, on, options.k or DEFAULT_K)
        return self._search_columns(table, on, options)

    def search_many(
        self,
        queries: Iterable[Any],
        on: ColumnSelection = None,
        method: str | Callable[..., SearchAnswer] = "search",
        threads: int | None = None,
        **options: Any,
    ) -> Iterator[SearchAnswer | Failed]:
        """Search for many queries with several threads; yields the answers in order.

        A query is a table as for `search`, or a pair of a table and its column (or the columns of a
        composite key). `method` is `"search"`, `"overlap"`, `"containment"`, `"composite"`,
        `"similar"` or `"nearby"`, or a function of a table and its columns; the options are those
        of the method. A query that fails yields a `Failed` with its error and does not affect the
        others.

        >>> queries = ["mine.csv", ("mine.csv", "country"), "missing.csv"]
        >>> [str(answer.error)[:16] for answer in lake.search_many(queries, "city", "overlap")]
        ['None', 'None', 'there is no file']
        """
        from lakejoin.search.answer import search_each, split_query
        from lakejoin.search.query_columns import to_column_list

        if not callable(method) and method not in _METHODS:
            known = f"{', '.join(_METHODS[:-1])} or {_METHODS[-1]}"
            raise InputError(f"method must be {known}, not {method!r}")
        search = method if callable(method) else getattr(self, method)
        on = to_column_list(on)  # an iterator can be read only once, and every query needs it

        def search_one(query: Any) -> SearchAnswer:
            answer: SearchAnswer = search(*split_query(query, on), **options)
            return answer

        def name_of(query: Any) -> tuple[str, ColumnSelection]:
            table, columns = split_query(query, on)
            if isinstance(table, str | os.PathLike):
                return os.fspath(table), columns
            return table.name if isinstance(table, self._table_class) else FRAME_NAME, columns

        return search_each(
            queries, search_one, name_of, self._threads if threads is None else threads
        )


def check_column_count(by: str, columns: int, is_key: bool) -> None:
    """Refuse one column for a composite key, and several for a search by one column."""
    if is_key and columns < 2:
        raise InputError("a composite key has two or more columns: use overlap for one column")
    if not is_key and columns > 1:
        raise InputError(
            f"search by {by} takes one column; got {columns}: use composite for several"
        )
