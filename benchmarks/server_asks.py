"""What users ask a server for: the same every time, each request about other tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx

from server_load import PATIENCE, Ask

WINDOW = 200
_FEWEST_ROWS = 20
_WIDEST = 60


class Asks:
    """Requests about the tables of a lake."""

    def __init__(self, url: str, seed: int = 1) -> None:
        self._http = httpx.Client(base_url=f"{url}/api/v1", timeout=PATIENCE)
        self._random = random.Random(seed)
        tables = list(self._all())
        fit = [
            one for one in tables if one["rows"] >= _FEWEST_ROWS and 2 <= one["columns"] <= _WIDEST
        ]
        keyed = [one for one in fit if self._has_key(one["id"])]
        self.tables: list[dict[str, Any]] = self._random.sample(keyed, len(keyed))
        self.words = sorted({word for one in tables for word in _words(one["table"])})

    def _all(self) -> Iterator[dict[str, Any]]:
        begin = 0
        while found := self._http.get("/tables", params={"begin": begin, "limit": 1000}).json()[
            "tables"
        ]:
            yield from found
            begin += len(found)

    def _has_key(self, id: str) -> bool:
        """Whether there is something to search by; without, a search is answered by saying so."""
        columns = self._http.get("/table", params={"table": id}).json()["columns"]
        return any(one["suggested"] and one["type"] in ("text", "integer") for one in columns)

    def rows(self, count: int) -> list[Ask]:
        """Windows somewhere in tables, as one who scrolls asks for them."""
        found = []
        for one in self._cycled(count):
            begin = self._random.randrange(max(1, one["rows"] - WINDOW))
            query = {"table": one["id"], "begin": begin, "end": begin + WINDOW}
            found.append(Ask("/rows", query))
        return found

    def find(self, count: int) -> list[Ask]:
        """Parts of words, as one who types asks for them."""
        words = (self._random.choice(self.words) for _ in range(count))
        return [Ask("/find", {"text": word[: self._random.randint(3, 8)]}) for word in words]

    def table(self, count: int) -> list[Ask]:
        """What a table is."""
        return [Ask("/table", {"table": one["id"]}) for one in self._cycled(count)]

    def search(self, count: int) -> list[Ask]:
        """Fused searches, each with another table; fewer where there are no more tables."""
        some = self.tables[:count]
        self.tables = self.tables[count:] + some  # the next ones are others
        return [Ask("/search", body={"table": one["id"]}) for one in some]

    def preview(self, searches: list[Ask], most: int) -> list[Ask]:
        """Previews of the joins that searches found, each of another pair of tables."""
        found: dict[tuple[str, str], Ask] = {}
        for search in searches:
            if len(found) >= most:
                break
            assert search.body is not None
            left = search.body["table"]
            answer = self._http.post("/search", json=search.body)
            for result in answer.json()["results"] if answer.status_code == 200 else []:
                join = result["ways"][0]["join"]
                found[left, join["right"]] = Ask("/join", body={"left": left, **join})
        return list(found.values())[:most]

    def _cycled(self, count: int) -> list[dict[str, Any]]:
        return [self.tables[place % len(self.tables)] for place in range(count)]


def _words(name: str) -> list[str]:
    plain = "".join(letter if letter.isalpha() else " " for letter in name)
    return [word for word in plain.split() if len(word) > 3]
