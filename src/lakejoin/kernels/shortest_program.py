"""Find the shortest program: the fewest slices of substrings and constants that make all goals.

A* search. A node is a position in every example's goal. An edge leads over the next characters of
all goals, which are a constant or a slice of a substring of the row. What follows a node takes at
least as many steps as the example that needs the most, taking the longest stretch of its row each
time: entries are expanded by the steps that they and this bound add up to. Texts are code
points in one array; a goal or a substring is given by where it begins and ends for every example.

An edge is a row of five numbers: the substring (`CONSTANT` for none), where its slice begins in the
first example (for a constant: its length), whether that is counted from the end, the slice's length
(`REST`: all that follows), and how many characters are left out at the end.

Among programs of equally many steps the one of least effort wins.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.shared_substrings import count_steps_to_end
from lakejoin.model import Array

CONSTANT = -1
REST = -1
CUT = 2.0  # the effort of a slice that does not begin, or does not end, where its substring does

# Columns of an entry of the queue: the edge that leads to it, the entry it came from, its number of
# steps, the fewest steps of a whole path through it, the next entry in its chain, and its node.
_SUBSTRING, _START, _BACK, _LENGTH, _DROP, _PARENT, _STEPS, _WHOLE, _AFTER, _NODE = range(10)
_EDGE = 5  # the first columns make up the edge
_MOST_CUTS = 3  # slices tried of a substring at a position
_SHORT_CUT = 3  # characters: for slices up to this length, the first character alone is tried too
_BUCKETS = 256  # of characters
_CHAINS = 1024  # of nodes with the same hash
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


@kernel
def find_shortest_program(
    chars: Array,
    alnum: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    firsts: Array,
    lasts: Array,
    efforts: Array,
    formed: Array,
    most_steps: int,
    most_nodes: int,
    longest_cut: int,
) -> Array:
    """Return the edges of the best path; none if there is none within the limits.

    `goals` are begins and ends; `begins` and `ends` those of every example's columns; `firsts` and
    `lasts` those of the substrings, for every example. `formed` substrings are only used whole.
    """
    examples = len(goals)
    bounds = count_steps_to_end(chars, begins, ends, goals, firsts, lasts, formed)
    heads, substrings, offsets = _index(chars, goals, firsts, lasts, formed)
    entries, costs = np.zeros((512, _NODE + examples), np.int64), np.zeros(512, np.float64)
    heap = np.zeros(512, np.int64)
    count = np.zeros(2, np.int64)  # of entries, and of those in the queue
    # The entries already expanded, in chains of the same hash.
    expanded, expanded_after = np.full(_CHAINS, -1, np.int64), np.full(most_nodes, -1, np.int64)
    expanded_entry = np.zeros(most_nodes, np.int64)
    chains = np.full(_CHAINS, -1, np.int64)  # of the entries that the current node leads to
    edge, node = np.zeros(_EDGE, np.int64), np.empty(examples, np.int64)
    for e in range(examples):
        node[e] = goals[e, 0]
    if _bound(bounds, goals, node) > most_steps:
        return np.zeros((0, _EDGE), np.int64)
    _push(entries, costs, heap, count, -1, edge, node, 0.0, 0)
    expanded_count = 0
    while count[1] > 0 and expanded_count < most_nodes:
        entry = _pop(entries, costs, heap, count)
        ended = 0
        for e in range(examples):
            node[e] = entries[entry, _NODE + e]
            ended += node[e] == goals[e, 1]
        if ended == examples:
            return _path(entries, entry)
        constant = entries[entry, _SUBSTRING] == CONSTANT
        chain = _chain(node, constant)
        if _is_expanded(entries, expanded, expanded_after, expanded_entry, chain, node, constant):
            continue
        expanded_entry[expanded_count] = entry
        expanded_after[expanded_count] = expanded[chain]
        expanded[chain] = expanded_count
        expanded_count += 1
        if ended > 0:
            continue
        bucket = chars[node[0]] % _BUCKETS
        begin, end = heads[bucket], heads[bucket + 1]
        room = count[0] + 2 * _MOST_CUTS * (end - begin) + goals[0, 1] - goals[0, 0]
        if room > len(costs):
            entries, costs, heap = _longer(entries, costs, heap, count, 2 * room)
        _push_slices(
            chars, goals, firsts, lasts, efforts, formed, substrings, offsets, begin, end,
            entry, node, longest_cut, most_steps, bounds, entries, costs, heap, count, chains,
            expanded, expanded_after, expanded_entry,
        )  # fmt: skip
        if not constant:
            _push_constants(
                chars, alnum, goals, entry, node, most_steps, bounds, entries, costs, heap, count,
                expanded, expanded_after, expanded_entry,
            )  # fmt: skip
    return np.zeros((0, _EDGE), np.int64)


@njit(nogil=True)
def _bound(bounds: Array, goals: Array, node: Array) -> int:
    """The fewest steps from a node to the end: as many as the example that needs the most."""
    fewest = np.int64(0)
    for e in range(len(node)):
        fewest = max(fewest, bounds[e, node[e] - goals[e, 0]])
    return fewest


@njit(nogil=True)
def _push_slices(
    chars: Array, goals: Array, firsts: Array, lasts: Array, efforts: Array, formed: Array,
    substrings: Array, offsets: Array, at: int, end: int, entry: int, node: Array, longest_cut: int,
    most_steps: int, bounds: Array, entries: Array, costs: Array, heap: Array, count: Array,
    chains: Array, expanded: Array, expanded_after: Array, expanded_entry: Array,
) -> None:  # fmt: skip
    """Push the slices of substrings that all goals have next."""
    examples = len(node)
    starts, shared = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    rests, moved = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    cuts = np.zeros((_MOST_CUTS, 2), np.int64)  # length, and how much is left out at the end
    edge = np.zeros(_EDGE, np.int64)
    begin, before, next_char = count[0], costs[entry], chars[node[0]]
    for i in range(at, end):
        substring, offset = substrings[i], offsets[i]
        if chars[firsts[substring, 0] + offset] != next_char:
            continue
        edge[_SUBSTRING], edge[_START] = substring, offset
        for back in range(2):
            if not _starts(firsts, lasts, substring, offset, back == 1, starts):
                continue
            if not _shared(chars, goals, lasts, substring, node, starts, shared, rests):
                continue
            edge[_BACK] = back
            effort = efforts[substring]
            for e in range(examples):
                if starts[e] != firsts[substring, e]:
                    effort = efforts[substring] + CUT
            for k in range(
                _cuts(firsts, substring, formed, starts, shared, rests, longest_cut, cuts)
            ):
                length, drop = cuts[k, 0], cuts[k, 1]
                for e in range(examples):
                    whole = shared[e] if length == REST else min(shared[e] + rests[e], length)
                    moved[e] = node[e] + whole
                fewest = entries[entry, _STEPS] + 1 + _bound(bounds, goals, moved)
                if fewest > most_steps:
                    continue
                cost = before + (effort if length == REST and drop == 0 else effort + CUT)
                chain = _chain(moved, False)
                if _is_expanded(
                    entries, expanded, expanded_after, expanded_entry, chain, moved, False
                ):
                    continue
                if _is_pushed(entries, costs, chains[chain], begin, moved, cost):
                    continue
                edge[_LENGTH], edge[_DROP] = length, drop
                pushed = _push(entries, costs, heap, count, entry, edge, moved, cost, fewest)
                entries[pushed, _AFTER] = chains[chain]
                chains[chain] = pushed


@njit(nogil=True)
def _push_constants(
    chars: Array, alnum: Array, goals: Array, entry: int, node: Array, most_steps: int,
    bounds: Array, entries: Array, costs: Array, heap: Array, count: Array,
    expanded: Array, expanded_after: Array, expanded_entry: Array,
) -> None:  # fmt: skip
    """Push what all goals have next as constants, up to each end of a word."""
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
        fewest = entries[entry, _STEPS] + 1 + _bound(bounds, goals, moved)
        if fewest > most_steps:
            continue
        if not _is_expanded(entries, expanded, expanded_after, expanded_entry, chain, moved, True):
            edge[_SUBSTRING], edge[_START] = CONSTANT, length
            cost = costs[entry] + 0.5 + 1.0 * letters
            _push(entries, costs, heap, count, entry, edge, moved, cost, fewest)


@njit(nogil=True)
def _push(
    entries: Array, costs: Array, heap: Array, count: Array,
    parent: int, edge: Array, node: Array, cost: float, fewest: int,
) -> int:  # fmt: skip
    """Push one more entry; there must be room for it."""
    entry, at = count[0], count[1]
    for i in range(_EDGE):
        entries[entry, i] = edge[i]
    for e in range(len(node)):
        entries[entry, _NODE + e] = node[e]
    entries[entry, _PARENT] = parent
    entries[entry, _STEPS] = entries[parent, _STEPS] + 1 if parent >= 0 else 0
    entries[entry, _WHOLE] = fewest
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
    """Take the best entry off the queue."""
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
def _comes_first(entries: Array, costs: Array, left: int, right: int) -> bool:
    """Whether an entry comes before another: fewer steps in all, then less effort, then earlier."""
    if entries[left, _WHOLE] != entries[right, _WHOLE]:
        return entries[left, _WHOLE] < entries[right, _WHOLE]
    if costs[left] != costs[right]:
        return costs[left] < costs[right]
    return left < right


@njit(nogil=True)
def _index(
    chars: Array, goals: Array, firsts: Array, lasts: Array, formed: Array
) -> tuple[Array, Array, Array]:
    """Index where characters of the first goal occur in the first example's substrings."""
    needed = np.zeros(_BUCKETS, np.bool_)
    for i in range(goals[0, 0], goals[0, 1]):
        needed[chars[i] % _BUCKETS] = True
    heads = np.zeros(_BUCKETS + 1, np.int64)
    for substring in range(len(firsts)):
        begin = firsts[substring, 0]
        for i in range(begin, begin + 1 if formed[substring] else lasts[substring, 0]):
            bucket = chars[i] % _BUCKETS
            heads[bucket + 1] += needed[bucket]
    for bucket in range(_BUCKETS):
        heads[bucket + 1] += heads[bucket]
    substrings = np.empty(heads[_BUCKETS], np.int64)
    offsets = np.empty(heads[_BUCKETS], np.int64)
    at = heads.copy()
    for substring in range(len(firsts)):
        begin = firsts[substring, 0]
        for i in range(begin, begin + 1 if formed[substring] else lasts[substring, 0]):
            bucket = chars[i] % _BUCKETS
            if needed[bucket]:
                substrings[at[bucket]], offsets[at[bucket]] = substring, i - begin
                at[bucket] += 1
    return heads, substrings, offsets


@njit(nogil=True)
def _starts(
    firsts: Array, lasts: Array, substring: int, position: int, back: bool, starts: Array
) -> bool:
    """Find the same offset in every example, from the begin or the end; return whether all have it.

    From the end only if that is another position in some example.
    """
    differs = False
    end_offset = firsts[substring, 0] + position - lasts[substring, 0]
    for e in range(len(starts)):
        first, last = firsts[substring, e], lasts[substring, e]
        starts[e] = last + end_offset if back else first + position
        if starts[e] < first or starts[e] >= last:
            return False
        differs |= starts[e] - first != position
    return differs or not back


@njit(nogil=True)
def _shared(
    chars: Array, goals: Array, lasts: Array, substring: int, node: Array, starts: Array,
    shared: Array, rests: Array,
) -> bool:  # fmt: skip
    """Measure how far goal and substring agree, and what remains; False if any example differs."""
    for e in range(len(starts)):
        at, start, size = node[e], starts[e], np.int64(0)
        most = min(goals[e, 1] - at, lasts[substring, e] - start)
        while size < most and chars[at + size] == chars[start + size]:
            size += 1
        if size == 0:
            return False
        shared[e] = size
        rests[e] = lasts[substring, e] - start - size
    return True


@njit(nogil=True)
def _cuts(
    firsts: Array, substring: int, formed: Array, starts: Array, shared: Array, rests: Array,
    longest_cut: int, cuts: Array,
) -> int:  # fmt: skip
    """Find the slices from these positions that fit every example; return how many."""
    longest = np.int64(-1)
    same_rest, same_start, same_size = True, True, True
    for e in range(len(starts)):
        if rests[e] > 0 and (longest < 0 or shared[e] < longest):
            longest = shared[e]
        same_rest &= rests[e] == rests[0]
        same_start &= starts[e] - firsts[substring, e] == starts[0] - firsts[substring, 0]
        same_size &= shared[e] == shared[0]
    if longest < 0:  # nothing remains in any example
        cuts[0, 0], cuts[0, 1] = REST, 0
        return 1
    if formed[substring]:
        return 0
    cut_count = 0
    if same_rest and same_start and not same_size:
        cuts[0, 0], cuts[0, 1] = REST, rests[0]
        cut_count = 1
    if longest > longest_cut:
        return cut_count  # a long text is cut at what it contains, not by counting
    if longest > 1 and longest <= _SHORT_CUT:
        cuts[cut_count, 0], cuts[cut_count, 1] = 1, 0
        cut_count += 1
    cuts[cut_count, 0], cuts[cut_count, 1] = longest, 0
    return cut_count + 1


@njit(nogil=True)
def _common(chars: Array, goals: Array, node: Array) -> int:
    """Count the characters that all goals share from the node on."""
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
    """Hash a node to a chain."""
    h = np.uint64(constant)
    for e in range(len(node)):
        h = (h + np.uint64(node[e])) * _PRIME
    return np.int64((h >> _HIGH) % np.uint64(_CHAINS))


@njit(nogil=True)
def _is_expanded(
    entries: Array, expanded: Array, expanded_after: Array, expanded_entry: Array, chain: int,
    node: Array, constant: bool,
) -> bool:  # fmt: skip
    """Whether a node was expanded already, after a constant or not."""
    at = expanded[chain]
    while at >= 0:
        entry = expanded_entry[at]
        if (entries[entry, _SUBSTRING] == CONSTANT) == constant and _same(entries, entry, node):
            return True
        at = expanded_after[at]
    return False


@njit(nogil=True)
def _is_pushed(entries: Array, costs: Array, at: int, begin: int, node: Array, cost: float) -> bool:
    """Whether another slice already leads from the current node to that one at the same cost."""
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
    """Copy the queue into longer arrays."""
    used = count[0]
    more = np.empty((room, entries.shape[1]), np.int64)
    more_costs, more_heap = np.empty(room, np.float64), np.empty(room, np.int64)
    more[:used], more_costs[:used], more_heap[:used] = entries[:used], costs[:used], heap[:used]
    return more, more_costs, more_heap


@njit(nogil=True)
def _path(entries: Array, entry: int) -> Array:
    """Return the edges that lead to an entry."""
    steps = entries[entry, _STEPS]
    path = np.empty((steps, _EDGE), np.int64)
    for step in range(steps - 1, -1, -1):
        for i in range(_EDGE):
            path[step, i] = entries[entry, i]
        entry = entries[entry, _PARENT]
    return path
