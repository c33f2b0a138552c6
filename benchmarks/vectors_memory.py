"""How much memory does a contender hold beside the lake? The arrays that can be reached from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from vectors_data import Array, Lake

NODE = 128  # bytes of a node of scipy's tree: its bounds and pointers


def held(contender: object, lake: Lake) -> int:
    """Bytes of all arrays that a contender has made for itself; the lake's own are not counted."""
    own = {_place(array) for array in (lake.vectors, lake.ids, lake.column_of, *lake.lists)}
    found: dict[int, int] = {}
    more = 0
    for thing in _reached(contender):
        if isinstance(thing, np.ndarray):
            whole = _whole(thing)
            found[_place(whole)] = whole.nbytes
        else:
            more += _of_library(thing)
    return more + sum(size for place, size in found.items() if place not in own)


def _whole(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _place(array: Array) -> int:
    return int(_whole(array).__array_interface__["data"][0])


def _reached(start: object) -> Iterator[Any]:
    """All objects that can be reached through attributes and containers, each once."""
    seen: set[int] = set()
    stack: list[Any] = [start]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or isinstance(thing, Lake | str | bytes | type):
            continue
        seen.add(id(thing))
        yield thing
        stack.extend(_parts(thing))


def _parts(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple):
        return thing if len(thing) < 1_000 else ()
    module = type(thing).__module__
    if not module.startswith(("lakejoin", "vectors")):
        return ()
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    named = [getattr(thing, name, None) for name in slots]
    return [*named, *getattr(thing, "__dict__", {}).values()]


def _of_library(thing: Any) -> int:
    """What the trees and indexes of libraries hold."""
    module = type(thing).__module__
    if module.startswith("faiss") and hasattr(thing, "ntotal"):
        return int(thing.ntotal) * int(thing.d) * 4
    if module.startswith("sklearn"):
        return sum(np.asarray(part).nbytes for part in thing.__getstate__()[:4])
    if module.startswith("scipy.spatial"):
        return int(thing.data.nbytes + thing.indices.nbytes + thing.size * NODE)
    return 0
