"""Find texts that share rare substrings; test whether texts are made of substrings of others."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# data        the bytes of all texts, each ended by `END`, which no UTF-8 text contains; those of
#             the first column come first
# sa          its suffix array
# common[i]   how many bytes the suffixes i-1 and i of that order share before either text ends
# n, m        how often a substring occurs in the first and in the second column
# N           the number of texts of the second column

END = np.uint8(255)


@kernel
def join_texts(
    first_offsets: Array, first: Array, second_offsets: Array, second: Array
) -> tuple[Array, Array]:
    """Join the bytes of all texts, each ended; return them with the text index of every byte."""
    firsts, seconds = len(first_offsets) - 1, len(second_offsets) - 1
    size = (first_offsets[firsts] - first_offsets[0]) + firsts
    size += (second_offsets[seconds] - second_offsets[0]) + seconds
    data = np.empty(size, np.uint8)
    owner = np.empty(size, np.int32)
    position = 0
    for text in range(firsts + seconds):
        if text < firsts:
            begin, end = first_offsets[text], first_offsets[text + 1]
        else:
            begin, end = second_offsets[text - firsts], second_offsets[text - firsts + 1]
        for i in range(begin, end):
            data[position] = first[i] if text < firsts else second[i]
            owner[position] = text
            position += 1
        data[position] = END
        owner[position] = text
        position += 1
    return data, owner


@kernel
def compute_common_prefixes(data: Array, sa: Array) -> Array:
    """Compute `common` by Kasai's algorithm, linear: one position later shares one byte less."""
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
def find_rarest_substrings(
    data: Array, sa: Array, common: Array, owner: Array, firsts: int, shortest: Array
) -> tuple[Array, Array, Array, Array]:
    """Find for each text of the first column the rarest substring that it shares with the second.

    For every suffix of a text, the longest prefix that occurs in the second column is considered,
    if it has `shortest` bytes or more and begins and ends between characters. There may be several
    such lower bounds; the results have a row for each. The best substring has the smallest n * m,
    then the most bytes, then comes first in the sorted order. Returns n * m (0 if there is none),
    the bytes, and where the substring begins and ends in the sorted order.

    The substrings are the nodes of the suffix tree, visited from the leaves up: a node that occurs
    in the second column is the longest match for all suffixes below it that have none yet. Those
    wait in lists that are passed upwards, so that everything takes linear time.
    """
    size = len(sa)
    bounds = len(shortest)
    product = np.zeros((bounds, firsts), np.int64)
    length = np.zeros((bounds, firsts), np.int32)
    begin = np.zeros((bounds, firsts), np.int32)
    end = np.zeros((bounds, firsts), np.int32)
    # The open nodes: depth, first position, suffixes of the first and second column, waiting ones.
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
        if i > 0:  # the previous leaf, not yet in any node
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
def _whole_characters(data: Array, position: int, length: int) -> int:
    """Return how many of the bytes make whole characters; 0 if they begin inside one."""
    if data[position] & np.uint8(0xC0) == np.uint8(0x80):
        return np.int64(0)
    whole = np.int64(length)
    # The next byte decides: a continuation byte means that the last character is cut.
    while whole > 0 and data[position + whole] & np.uint8(0xC0) == np.uint8(0x80):
        whole -= np.int64(1)
    return whole


@kernel
def find_rare_pairs(
    texts: Array, begin: Array, end: Array, owners: Array, firsts: int, most: int
) -> tuple[Array, Array]:
    """Pair the texts of the first column with those of the second that have their best substring.

    `texts` are tried one after the other until there are `most` pairs; `owners` are those of the
    sorted suffixes. The matches of a text come in their order, each once.
    """
    room = 64
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    pair_count = 0
    for text in texts:
        before = pair_count
        for i in range(begin[text], end[text]):
            other = np.int64(owners[i]) - firsts
            at = pair_count
            while at > before and right[at - 1] > other:
                at -= 1
            if other < 0 or (at > before and right[at - 1] == other):
                continue
            if pair_count == room:
                left, right = np.concatenate((left, left)), np.concatenate((right, right))
                room *= 2
            for k in range(pair_count, at, -1):
                right[k] = right[k - 1]
            left[pair_count], right[at] = text, other
            pair_count += 1
        if pair_count >= most:
            break
    return left[:pair_count].copy(), right[:pair_count].copy()


@kernel
def find_favoured_texts(
    begin: Array, end: Array, weights: Array, owners: Array, firsts: Array, seconds: int
) -> Array:
    """Find for each row the text of the second column that its substrings support most, -1 if none.

    A substring, per row and column, is given by where it begins and ends in `owners`, the owners of
    the sorted suffixes of all columns; owners from `firsts` on are the second column's. A substring
    that m of N texts have supports each with `weights` * log(N / m). The result must be the only
    best one, and at least two substrings must support it.
    """
    rows, columns = begin.shape
    best_texts = np.full(rows, -1, np.int64)
    support, supporters = np.zeros(seconds, np.float64), np.zeros(seconds, np.int64)
    last_substring = np.zeros(seconds, np.int64)  # that supported it, counted from 1
    substring = np.int64(0)
    for row in range(rows):
        support[:] = 0.0
        supporters[:] = 0
        for column in range(columns):
            substring += 1
            holders = 0
            for i in range(begin[row, column], end[row, column]):
                other = np.int64(owners[i]) - firsts[column]
                if other >= 0 and last_substring[other] != substring:
                    last_substring[other] = substring
                    supporters[other] += 1
                    holders += 1
            weight = weights[row, column] * np.log(seconds / max(1, holders))
            substring += 1
            for i in range(begin[row, column], end[row, column]):
                other = np.int64(owners[i]) - firsts[column]
                if other >= 0 and last_substring[other] != substring:
                    last_substring[other] = substring
                    support[other] += weight
        best = 0
        for other in range(seconds):
            if support[other] > support[best]:
                best = other
        ties = 0
        for other in range(seconds):
            ties += support[other] >= support[best] - 1e-9
        if ties == 1 and supporters[best] >= 2:
            best_texts[row] = best
    return best_texts


# All texts are code points in one array, given by where they begin and end in it.

TOO_MANY = np.int64(-1)


@kernel
def find_shared_columns(chars: Array, begins: Array, ends: Array, goals: Array) -> Array:
    """Whether each row's goal has the first character or two adjacent characters of each column."""
    rows, columns = begins.shape
    shared = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        for column in range(columns):
            shared[row, column] = _shares(
                chars, begins[row, column], ends[row, column], goals[row, 0], goals[row, 1]
            )
    return shared


@njit(nogil=True)
def _shares(chars: Array, begin: int, end: int, goal: int, goal_end: int) -> bool:
    """Whether a goal has the first character or two adjacent characters of a text."""
    if begin == end:
        return False
    for at in range(goal, goal_end):
        if chars[at] == chars[begin]:
            return True
    for i in range(begin, end - 1):
        for at in range(goal, goal_end - 1):
            if chars[at] == chars[i] and chars[at + 1] == chars[i + 1]:
                return True
    return False


@kernel
def count_fewest_substrings(
    chars: Array, begins: Array, ends: Array, goals: Array, most: int
) -> Array:
    """Count the fewest substrings of its row and of the previous goal that make each goal.

    `TOO_MANY` if there are more than `most`. Taking the longest substring each time takes the
    fewest.
    """
    rows, columns = begins.shape
    counts = np.empty(rows, np.int64)
    used = np.ones(columns, np.bool_)
    for row in range(rows):
        counts[row] = _fewest(chars, begins, ends, goals, row, (row - 1) % rows, used, most)
    return counts


@kernel
def find_possible_sets(
    chars: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    shared: Array,
    sets: Array,
    columns: Array,
    most: int,
) -> Array:
    """Test which sets of rows may have a program that makes their goals from these columns.

    A column is used if all rows of a set share something of it with their goals (`shared`, see
    `find_shared_columns`). Each goal must be made of few substrings of these columns and of
    constants, and a constant is in every goal. A set is a row of indices, -1 after the last.
    """
    possible = np.zeros(len(sets), np.bool_)
    used = np.zeros(begins.shape[1], np.bool_)
    for i in range(len(sets)):
        size = 0
        while size < sets.shape[1] and sets[i, size] >= 0:
            size += 1
        used[:] = False
        possible[i] = False
        for column in columns:
            used[column] = True
            for k in range(size):
                used[column] &= shared[sets[i, k], column]
            possible[i] |= used[column]
        for k in range(size):
            if not possible[i]:
                break
            row, other = sets[i, k], sets[i, (k - 1) % size]
            length = goals[row, 1] - goals[row, 0]
            taken = _fewest(chars, begins, ends, goals, row, other, used, most)
            possible[i] = length > 0 and taken != TOO_MANY and taken <= 3 + length / 4
    return possible


@njit(nogil=True)
def _fewest(
    chars: Array,
    begins: Array,
    ends: Array,
    goals: Array,
    row: int,
    other: int,
    used: Array,
    most: int,
) -> int:
    """Count the substrings of a row's used columns and of another row's goal that make its goal."""
    position, end = goals[row, 0], goals[row, 1]
    taken = np.int64(0)
    while position < end:
        size = find_longest(chars, position, end, goals[other, 0], goals[other, 1], np.int64(0))
        for column in range(len(used)):
            if used[column]:
                size = find_longest(
                    chars, position, end, begins[row, column], ends[row, column], size
                )
        if size == 0 or taken >= most:
            return TOO_MANY
        position += size
        taken += 1
    return taken


@njit(nogil=True)
def find_longest(chars: Array, position: int, end: int, begin: int, stop: int, size: int) -> int:
    """The longest substring of a text that the goal has at a position, if longer than `size`."""
    for start in range(begin, stop - size):
        shared = 0
        most = min(end - position, stop - start)
        while shared < most and chars[position + shared] == chars[start + shared]:
            shared += 1
        size = max(size, shared)
    return size


NEVER = 1 << 30  # steps to an end that cannot be reached


@njit(nogil=True)
def count_steps_to_end(
    chars: Array, begins: Array, ends: Array, goals: Array, firsts: Array, lasts: Array,
    formed: Array,
) -> Array:  # fmt: skip
    """Count the fewest steps from every position of each goal to its end.

    A step is a stretch of the row's columns, of a formed substring, or of another goal (a constant
    is in every goal). Taking the longest each time takes the fewest.
    """
    examples = len(goals)
    longest_goal = np.int64(0)
    for e in range(examples):
        longest_goal = max(longest_goal, goals[e, 1] - goals[e, 0])
    bounds = np.zeros((examples, longest_goal + 1), np.int64)
    for e in range(examples):
        other, end = (e - 1) % examples, goals[e, 1]
        for at in range(end - 1, goals[e, 0] - 1, -1):
            size = find_longest(chars, at, end, goals[other, 0], goals[other, 1], np.int64(0))
            for column in range(begins.shape[1]):
                size = find_longest(chars, at, end, begins[e, column], ends[e, column], size)
            for substring in range(len(firsts)):
                if formed[substring]:
                    size = find_longest(
                        chars, at, end, firsts[substring, e], lasts[substring, e], size
                    )
            place = at - goals[e, 0]
            bounds[e, place] = 1 + bounds[e, place + size] if size else NEVER
    return bounds
