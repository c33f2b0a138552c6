"""Which texts share a rare stretch? The suffixes of two columns in one sorted order.

All texts of both columns lie in one array of bytes, each ended by `END`, which no UTF-8 text holds;
those of the first column come first. `sa` is its suffix array. `common[i]` is how many bytes the
suffixes i-1 and i of that order share before either text ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

END = np.uint8(255)


@kernel
def joined_texts(
    first_offsets: Array, first: Array, second_offsets: Array, second: Array
) -> tuple[Array, Array]:
    """The bytes of all texts, each ended, and the number of the text of every byte."""
    firsts, seconds = len(first_offsets) - 1, len(second_offsets) - 1
    size = (first_offsets[firsts] - first_offsets[0]) + firsts
    size += (second_offsets[seconds] - second_offsets[0]) + seconds
    data = np.empty(size, np.uint8)
    owner = np.empty(size, np.int32)
    place = 0
    for text in range(firsts + seconds):
        if text < firsts:
            begin, end = first_offsets[text], first_offsets[text + 1]
        else:
            begin, end = second_offsets[text - firsts], second_offsets[text - firsts + 1]
        for i in range(begin, end):
            data[place] = first[i] if text < firsts else second[i]
            owner[place] = text
            place += 1
        data[place] = END
        owner[place] = text
        place += 1
    return data, owner


@kernel
def common_prefixes(data: Array, sa: Array) -> Array:
    """`common` by Kasai's algorithm: linear, as one byte less is shared one place further on."""
    size = len(data)
    rank = np.empty(size, np.int32)
    for i in range(size):
        rank[sa[i]] = i
    common = np.zeros(size, np.int32)
    shared = 0
    for i in range(size):
        if rank[i] == 0:
            shared = 0
            continue
        j = sa[rank[i] - 1]
        while (
            i + shared < size
            and j + shared < size
            and data[i + shared] == data[j + shared]
            and data[i + shared] != END
        ):
            shared += 1
        common[rank[i]] = shared
        if shared > 0:
            shared -= 1
    return common


@kernel
def best_matches(
    data: Array, sa: Array, common: Array, owner: Array, firsts: int, shortest: Array
) -> tuple[Array, Array, Array, Array]:
    """For each text of the first column, the rarest stretch that it shares with the second.

    For every suffix of a text the longest stretch from its begin that the second column holds is
    looked at, if it has `shortest` bytes or more and begins and ends between characters: there may
    be several such bounds, and the results have a row for each. A stretch occurs
    n times in the first column and m times in the second; the best has the smallest n * m, then
    the most bytes, then comes first in the sorted order. Gives n * m (0 for none), the bytes, and
    where the stretch begins and ends in the sorted order.

    The stretches are the nodes of the suffix tree, gone through from the leaves up: one that
    occurs in the second column is the longest one for all suffixes below it that have none yet.
    Those wait in lists that are handed upwards, so that all takes linear time.
    """
    size = len(sa)
    bounds = len(shortest)
    product = np.zeros((bounds, firsts), np.int64)
    length = np.zeros((bounds, firsts), np.int32)
    begin = np.zeros((bounds, firsts), np.int32)
    end = np.zeros((bounds, firsts), np.int32)
    # The open nodes: depth, first place, suffixes of the first and second column, who waits.
    depth = np.zeros(size + 2, np.int32)
    left = np.zeros(size + 2, np.int32)
    count_first = np.zeros(size + 2, np.int64)
    count_second = np.zeros(size + 2, np.int64)
    head = np.full(size + 2, -1, np.int32)
    tail = np.full(size + 2, -1, np.int32)
    after = np.full(size, -1, np.int32)
    top = 0
    for i in range(size + 1):
        shared = common[i] if i < size else np.int32(0)
        opened = np.int32(i)  # where a node of depth `shared` would begin
        carried_first, carried_second = np.int64(0), np.int64(0)
        carried_head, carried_tail = np.int32(-1), np.int32(-1)
        if i > 0:  # the leaf before, not yet in any node
            opened = np.int32(i - 1)
            if owner[sa[i - 1]] < firsts:
                carried_first = np.int64(1)
                carried_head = np.int32(i - 1)
                carried_tail = np.int32(i - 1)
            else:
                carried_second = np.int64(1)
            if shared <= depth[top]:  # it belongs to the open node
                count_first[top] += carried_first
                count_second[top] += carried_second
                if carried_head >= 0:
                    if head[top] < 0:
                        head[top] = carried_head
                    else:
                        after[tail[top]] = carried_head
                    tail[top] = carried_tail
                carried_first, carried_second = np.int64(0), np.int64(0)
                carried_head, carried_tail = np.int32(-1), np.int32(-1)
        while top > 0 and depth[top] > shared:
            # Close the node: it is [left, i).
            if count_second[top] > 0:
                deep = depth[top]
                whole = _whole_characters(data, sa[left[top]], deep)
                score = count_first[top] * count_second[top]
                waiting = head[top]
                while waiting >= 0:
                    text = owner[sa[waiting]]
                    for b in range(bounds):
                        if whole >= shortest[b] and (
                            product[b, text] == 0
                            or score < product[b, text]
                            or (score == product[b, text] and whole > length[b, text])
                        ):
                            product[b, text] = score
                            length[b, text] = whole
                            begin[b, text] = left[top]
                            end[b, text] = i
                    waiting = after[waiting]
                head[top] = np.int32(-1)
                tail[top] = np.int32(-1)
            opened = left[top]
            closed_first, closed_second = count_first[top], count_second[top]
            closed_head, closed_tail = head[top], tail[top]
            top -= 1
            if depth[top] >= shared:  # the parent is open already
                count_first[top] += closed_first
                count_second[top] += closed_second
                if closed_head >= 0:
                    if head[top] < 0:
                        head[top] = closed_head
                    else:
                        after[tail[top]] = closed_head
                    tail[top] = closed_tail
            else:
                carried_first, carried_second = closed_first, closed_second
                carried_head, carried_tail = closed_head, closed_tail
        if i < size and shared > depth[top]:
            top += 1
            depth[top] = shared
            left[top] = opened
            count_first[top] = carried_first
            count_second[top] = carried_second
            head[top] = carried_head
            tail[top] = carried_tail
    return product, length, begin, end


@njit(nogil=True)
def _whole_characters(data: Array, place: int, length: int) -> int:
    """How many of the bytes make whole characters; none if they begin inside one."""
    if data[place] & np.uint8(0xC0) == np.uint8(0x80):
        return np.int64(0)
    found = np.int64(length)
    # What follows decides: a continuation byte means that the last character is cut.
    while found > 0 and data[place + found] & np.uint8(0xC0) == np.uint8(0x80):
        found -= np.int64(1)
    return found


@kernel
def rare_pairs(
    texts: Array, begin: Array, end: Array, owners: Array, firsts: int, most: int
) -> tuple[Array, Array]:
    """Pairs of texts of the first and the second column that share the first one's best stretch.

    `texts` are asked one after the other until there are `most` pairs; `owners` are those of the
    sorted suffixes. Partners of a text come in their order, each once.
    """
    room = 64
    mine, theirs = np.empty(room, np.int64), np.empty(room, np.int64)
    found = 0
    for text in texts:
        before = found
        for i in range(begin[text], end[text]):
            other = np.int64(owners[i]) - firsts
            at = found
            while at > before and theirs[at - 1] > other:
                at -= 1
            if other < 0 or (at > before and theirs[at - 1] == other):
                continue
            if found == room:
                room *= 2
                mine, theirs = _longer(mine, room), _longer(theirs, room)
            for k in range(found, at, -1):
                theirs[k] = theirs[k - 1]
            mine[found], theirs[at] = text, other
            found += 1
        if found >= most:
            break
    return mine[:found].copy(), theirs[:found].copy()


@njit(nogil=True)
def _longer(values: Array, room: int) -> Array:
    longer = np.empty(room, np.int64)
    for i in range(len(values)):
        longer[i] = values[i]
    return longer


@kernel
def favoured(
    begin: Array, end: Array, parts: Array, owners: Array, firsts: Array, seconds: int
) -> Array:
    """For each row the text of the second column that its stretches speak for most, -1 for none.

    Row by row and column by column: a stretch is where it begins and ends in `owners`, the owners
    of the sorted suffixes of all columns, of which numbers from `firsts` on are the second
    column's. A stretch that m of N texts hold speaks for each with `parts` * log(N / m). The
    favoured one must be alone in that, and two stretches must speak for it.
    """
    rows, columns = begin.shape
    found = np.full(rows, -1, np.int64)
    favour, spoken = np.zeros(seconds, np.float64), np.zeros(seconds, np.int64)
    last = np.zeros(seconds, np.int64)  # the stretch, counted from 1, that spoke last
    stretch = np.int64(0)
    for row in range(rows):
        favour[:] = 0.0
        spoken[:] = 0
        for column in range(columns):
            stretch += 1
            held = 0
            for i in range(begin[row, column], end[row, column]):
                other = np.int64(owners[i]) - firsts[column]
                if other >= 0 and last[other] != stretch:
                    last[other] = stretch
                    spoken[other] += 1
                    held += 1
            weight = parts[row, column] * np.log(seconds / max(1, held))
            stretch += 1
            for i in range(begin[row, column], end[row, column]):
                other = np.int64(owners[i]) - firsts[column]
                if other >= 0 and last[other] != stretch:
                    last[other] = stretch
                    favour[other] += weight
        best = 0
        for other in range(seconds):
            if favour[other] > favour[best]:
                best = other
        alike = 0
        for other in range(seconds):
            alike += favour[other] >= favour[best] - 1e-9
        if alike == 1 and spoken[best] >= 2:
            found[row] = best
    return found
