"""Which parts of pieces, one after the other, make all goals? The fewest; among those the plainest.

Best-first search. A node is a place in every example's goal. An edge leads from it over the next
characters of all goals, which are a constant or a part of a piece. Texts are code points in one
array; a goal or a piece is where it begins and ends in it for every example.

An edge is a row of five numbers: the piece (`CONSTANT` for none), where its part begins in the
first example (for a constant: how many characters), whether that is counted from the end, the
part's length (`REST`: all that follows), and how many characters are left out at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

CONSTANT = -1
REST = -1
CUT = 2.0  # the effort of a part that does not begin, or does not end, where its piece does

# Columns of the entries of the queue: the edge that leads to it, the entry that it came from, the
# number of steps, the next entry in a chain, and its node.
_PIECE, _START, _BACK, _LENGTH, _DROP, _PARENT, _STEPS, _AFTER, _NODE = range(9)
_EDGE = 5  # of these, the first make up the edge
_MOST_CUTS = 3  # of a piece at a place
_SHORT_CUT = 3  # characters: of what is as short, one alone is looked at as well
_BUCKETS = 256  # of characters
_CHAINS = 1024  # of nodes with the same hash
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


@kernel
def best_path(
    chars: Array,
    alnum: Array,
    goals: Array,
    firsts: Array,
    lasts: Array,
    efforts: Array,
    formed: Array,
    most_steps: int,
    most_nodes: int,
    longest_cut: int,
) -> Array:
    """The edges of the best path, none if there is none within the limits.

    `goals` are begins and ends; `firsts` and `lasts` those of the pieces, for every example. Of
    `formed` pieces only the whole is taken.
    """
    examples = len(goals)
    heads, where, places = _index(chars, goals, firsts, lasts, formed)
    entries, costs = np.zeros((512, _NODE + examples), np.int64), np.zeros(512, np.float64)
    heap = np.zeros(512, np.int64)
    count = np.zeros(2, np.int64)  # of entries, and of those in the queue
    # The entries that were gone on from, in chains of the same hash.
    done, done_after = np.full(_CHAINS, -1, np.int64), np.full(most_nodes, -1, np.int64)
    done_entry = np.zeros(most_nodes, np.int64)
    chains = np.full(_CHAINS, -1, np.int64)  # of the entries that one node leads to
    edge, node = np.zeros(_EDGE, np.int64), np.empty(examples, np.int64)
    for e in range(examples):
        node[e] = goals[e, 0]
    _push(entries, costs, heap, count, -1, edge, node, 0.0)
    finished = 0
    while count[1] > 0 and finished < most_nodes:
        entry = _pop(entries, costs, heap, count)
        ended = 0
        for e in range(examples):
            node[e] = entries[entry, _NODE + e]
            ended += node[e] == goals[e, 1]
        if ended == examples:
            return _path(entries, entry)
        constant = entries[entry, _PIECE] == CONSTANT
        chain = _chain(node, constant)
        if entries[entry, _STEPS] == most_steps or _is_done(
            entries, done, done_after, done_entry, chain, node, constant
        ):
            continue
        done_entry[finished] = entry
        done_after[finished] = done[chain]
        done[chain] = finished
        finished += 1
        if ended > 0:
            continue
        bucket = chars[node[0]] % _BUCKETS
        begin, end = heads[bucket], heads[bucket + 1]
        room = count[0] + 2 * _MOST_CUTS * (end - begin) + goals[0, 1] - goals[0, 0]
        if room > len(costs):
            entries, costs, heap = _longer(entries, costs, heap, count, 2 * room)
        _push_parts(
            chars, goals, firsts, lasts, efforts, formed, where, places, begin, end,
            entry, node, longest_cut, entries, costs, heap, count, chains,
            done, done_after, done_entry,
        )  # fmt: skip
        if not constant:
            _push_constants(
                chars, alnum, goals, entry, node, entries, costs, heap, count,
                done, done_after, done_entry,
            )  # fmt: skip
    return np.zeros((0, _EDGE), np.int64)


@njit(nogil=True)
def _push_parts(
    chars: Array, goals: Array, firsts: Array, lasts: Array, efforts: Array, formed: Array,
    where: Array, places: Array, at: int, end: int, entry: int, node: Array, longest_cut: int,
    entries: Array, costs: Array, heap: Array, count: Array, chains: Array,
    done: Array, done_after: Array, done_entry: Array,
) -> None:  # fmt: skip
    """The parts of pieces that all goals have next."""
    examples = len(node)
    starts, shared = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    rests, moved = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    cuts = np.zeros((_MOST_CUTS, 2), np.int64)  # length, and what is left out
    edge = np.zeros(_EDGE, np.int64)
    begin, before, next_char = count[0], costs[entry], chars[node[0]]
    for i in range(at, end):
        piece, place = where[i], places[i]
        if chars[firsts[piece, 0] + place] != next_char:
            continue
        edge[_PIECE], edge[_START] = piece, place
        for back in range(2):
            if not _starts(firsts, lasts, piece, place, back == 1, starts):
                continue
            if not _shared(chars, goals, lasts, piece, node, starts, shared, rests):
                continue
            edge[_BACK] = back
            effort = efforts[piece]
            for e in range(examples):
                if starts[e] != firsts[piece, e]:
                    effort = efforts[piece] + CUT
            for k in range(_cuts(firsts, piece, formed, starts, shared, rests, longest_cut, cuts)):
                length, drop = cuts[k, 0], cuts[k, 1]
                for e in range(examples):
                    whole = shared[e] if length == REST else min(shared[e] + rests[e], length)
                    moved[e] = node[e] + whole
                cost = before + (effort if length == REST and drop == 0 else effort + CUT)
                chain = _chain(moved, False)
                if _is_done(entries, done, done_after, done_entry, chain, moved, False):
                    continue
                if _is_pushed(entries, costs, chains[chain], begin, moved, cost):
                    continue
                edge[_LENGTH], edge[_DROP] = length, drop
                pushed = _push(entries, costs, heap, count, entry, edge, moved, cost)
                entries[pushed, _AFTER] = chains[chain]
                chains[chain] = pushed


@njit(nogil=True)
def _push_constants(
    chars: Array, alnum: Array, goals: Array, entry: int, node: Array,
    entries: Array, costs: Array, heap: Array, count: Array,
    done: Array, done_after: Array, done_entry: Array,
) -> None:  # fmt: skip
    """What all goals have next, up to each end of a word."""
    edge, moved = np.zeros(_EDGE, np.int64), np.zeros(len(node), np.int64)
    longest = _common(chars, goals, node)
    letters = 0
    for length in range(1, longest + 1):
        at = node[0] + length
        letters += alnum[at - 1]
        if length < longest and alnum[at - 1] == alnum[at]:
            continue
        for e in range(len(node)):
            moved[e] = node[e] + length
        chain = _chain(moved, True)
        if not _is_done(entries, done, done_after, done_entry, chain, moved, True):
            edge[_PIECE], edge[_START] = CONSTANT, length
            cost = costs[entry] + 0.5 + 1.0 * letters
            _push(entries, costs, heap, count, entry, edge, moved, cost)


@njit(nogil=True)
def _push(
    entries: Array, costs: Array, heap: Array, count: Array,
    parent: int, edge: Array, node: Array, cost: float,
) -> int:  # fmt: skip
    """One more entry, which there must be room for."""
    entry, at = count[0], count[1]
    for i in range(_EDGE):
        entries[entry, i] = edge[i]
    for e in range(len(node)):
        entries[entry, _NODE + e] = node[e]
    entries[entry, _PARENT] = parent
    entries[entry, _STEPS] = entries[parent, _STEPS] + 1 if parent >= 0 else 0
    costs[entry] = cost
    while at > 0:
        above = (at - 1) // 2
        if not _comes_first(entries, costs, entry, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = entry
    count[0] += 1
    count[1] += 1
    return entry


@njit(nogil=True)
def _pop(entries: Array, costs: Array, heap: Array, count: Array) -> int:
    """The best entry of the queue, which is taken from it."""
    first, size = heap[0], count[1] - 1
    last, at = heap[size], 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _comes_first(entries, costs, heap[below + 1], heap[below]):
            below += 1
        if not _comes_first(entries, costs, heap[below], last):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    count[1] = size
    return first


@njit(nogil=True)
def _comes_first(entries: Array, costs: Array, one: int, other: int) -> bool:
    """The entry with fewer steps, then with less effort, then the earlier one."""
    if entries[one, _STEPS] != entries[other, _STEPS]:
        return entries[one, _STEPS] < entries[other, _STEPS]
    if costs[one] != costs[other]:
        return costs[one] < costs[other]
    return one < other


@njit(nogil=True)
def _index(
    chars: Array, goals: Array, firsts: Array, lasts: Array, formed: Array
) -> tuple[Array, Array, Array]:
    """Where characters of the first goal occur in the first example's pieces, by their buckets."""
    wanted = np.zeros(_BUCKETS, np.bool_)
    for i in range(goals[0, 0], goals[0, 1]):
        wanted[chars[i] % _BUCKETS] = True
    heads = np.zeros(_BUCKETS + 1, np.int64)
    for piece in range(len(firsts)):
        begin = firsts[piece, 0]
        for i in range(begin, begin + 1 if formed[piece] else lasts[piece, 0]):
            bucket = chars[i] % _BUCKETS
            heads[bucket + 1] += wanted[bucket]
    for bucket in range(_BUCKETS):
        heads[bucket + 1] += heads[bucket]
    where = np.empty(heads[_BUCKETS], np.int64)
    places = np.empty(heads[_BUCKETS], np.int64)
    at = heads.copy()
    for piece in range(len(firsts)):
        begin = firsts[piece, 0]
        for i in range(begin, begin + 1 if formed[piece] else lasts[piece, 0]):
            bucket = chars[i] % _BUCKETS
            if wanted[bucket]:
                where[at[bucket]], places[at[bucket]] = piece, i - begin
                at[bucket] += 1
    return heads, where, places


@njit(nogil=True)
def _starts(firsts: Array, lasts: Array, piece: int, place: int, back: bool, starts: Array) -> bool:
    """The same place in every example, from the begin or from the end; whether all have it.

    From the end only where that is another place in some example.
    """
    differs = False
    offset = firsts[piece, 0] + place - lasts[piece, 0]
    for e in range(len(starts)):
        first, last = firsts[piece, e], lasts[piece, e]
        starts[e] = last + offset if back else first + place
        if starts[e] < first or starts[e] >= last:
            return False
        differs |= starts[e] - first != place
    return differs or not back


@njit(nogil=True)
def _shared(
    chars: Array, goals: Array, lasts: Array, piece: int, node: Array, starts: Array,
    shared: Array, rests: Array,
) -> bool:  # fmt: skip
    """How far goal and piece agree in every example and what remains; whether any does not."""
    for e in range(len(starts)):
        at, start, size = node[e], starts[e], np.int64(0)
        most = min(goals[e, 1] - at, lasts[piece, e] - start)
        while size < most and chars[at + size] == chars[start + size]:
            size += 1
        if size == 0:
            return False
        shared[e] = size
        rests[e] = lasts[piece, e] - start - size
    return True


@njit(nogil=True)
def _cuts(
    firsts: Array, piece: int, formed: Array, starts: Array, shared: Array, rests: Array,
    longest_cut: int, cuts: Array,
) -> int:  # fmt: skip
    """The parts from these places on that fit every example: how many, lengths and left out."""
    longest = np.int64(-1)
    same_rest, same_start, same_size = True, True, True
    for e in range(len(starts)):
        if rests[e] > 0 and (longest < 0 or shared[e] < longest):
            longest = shared[e]
        same_rest &= rests[e] == rests[0]
        same_start &= starts[e] - firsts[piece, e] == starts[0] - firsts[piece, 0]
        same_size &= shared[e] == shared[0]
    if longest < 0:  # nothing remains in any
        cuts[0, 0], cuts[0, 1] = REST, 0
        return 1
    if formed[piece]:
        return 0
    found = 0
    if same_rest and same_start and not same_size:
        cuts[0, 0], cuts[0, 1] = REST, rests[0]
        found = 1
    if longest > longest_cut:
        return found  # where a long text is cut is told by what stands there, not by counting
    if longest > 1 and longest <= _SHORT_CUT:
        cuts[found, 0], cuts[found, 1] = 1, 0
        found += 1
    cuts[found, 0], cuts[found, 1] = longest, 0
    return found + 1


@njit(nogil=True)
def _common(chars: Array, goals: Array, node: Array) -> int:
    """How many characters all goals have alike from the node on."""
    longest = goals[0, 1] - node[0]
    for e in range(1, len(node)):
        longest = min(longest, goals[e, 1] - node[e])
        for i in range(longest):
            if chars[node[0] + i] != chars[node[e] + i]:
                longest = i
                break
    return longest


@njit(nogil=True)
def _chain(node: Array, constant: bool) -> int:
    h = np.uint64(constant)
    for e in range(len(node)):
        h = (h + np.uint64(node[e])) * _PRIME
    return np.int64((h >> _HIGH) % np.uint64(_CHAINS))


@njit(nogil=True)
def _is_done(
    entries: Array, done: Array, done_after: Array, done_entry: Array, chain: int,
    node: Array, constant: bool,
) -> bool:  # fmt: skip
    """Whether a node was gone on from, after a constant or not."""
    at = done[chain]
    while at >= 0:
        entry = done_entry[at]
        if (entries[entry, _PIECE] == CONSTANT) == constant and _same(entries, entry, node):
            return True
        at = done_after[at]
    return False


@njit(nogil=True)
def _is_pushed(entries: Array, costs: Array, at: int, begin: int, node: Array, cost: float) -> bool:
    """Whether another part has led from this node to that one already, with the same effort."""
    while at >= begin:
        if costs[at] == cost and _same(entries, at, node):
            return True
        at = entries[at, _AFTER]
    return False


@njit(nogil=True)
def _same(entries: Array, entry: int, node: Array) -> bool:
    e = 0
    while e < len(node) and entries[entry, _NODE + e] == node[e]:
        e += 1
    return e == len(node)


@njit(nogil=True)
def _longer(
    entries: Array, costs: Array, heap: Array, count: Array, room: int
) -> tuple[Array, Array, Array]:
    used = count[0]
    more = np.empty((room, entries.shape[1]), np.int64)
    more_costs, more_heap = np.empty(room, np.float64), np.empty(room, np.int64)
    for i in range(used):
        for k in range(entries.shape[1]):
            more[i, k] = entries[i, k]
        more_costs[i] = costs[i]
        more_heap[i] = heap[i]
    return more, more_costs, more_heap


@njit(nogil=True)
def _path(entries: Array, entry: int) -> Array:
    steps = entries[entry, _STEPS]
    path = np.empty((steps, _EDGE), np.int64)
    for step in range(steps - 1, -1, -1):
        for i in range(_EDGE):
            path[step, i] = entries[entry, i]
        entry = entries[entry, _PARENT]
    return path
