"""Split a few example texts into substrings: by every separator, from both ends, each once.

Texts are code points in one array; a substring is given by where it begins and ends for every
example. Substrings with the same texts are one substring with several paths. A path is a row of
eight numbers: the substring, the column, and the first and the second split, each as where the
separator is, its length (0: no split, negative: runs of a kind), and which field is taken.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

MOST_FIELDS = 5  # counted from each end
MOST_SEPARATORS = 8
MOST_PATHS = 8
LONGEST_SEPARATOR = 3
DIGITS, LETTERS, WORDS = -1, -2, -3  # the kinds of runs

_FIELDS = MOST_SEPARATORS * 2 * MOST_FIELDS
_RUNS = 3 * 2 * MOST_FIELDS
_UNDERSCORE = np.uint32(95)
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
# Columns of a path; a new path is followed by where every example's text begins and ends.
_SUBSTRING, _COLUMN, _SEPARATOR, _LENGTH, _FIELD = range(5)
_SECOND = 3  # the columns of the second split come this much later
_PATH = 8


@kernel
def split_once(
    chars: Array, alnum: Array, begins: Array, ends: Array
) -> tuple[Array, Array, Array, Array]:
    """Find the substrings of the examples' columns: whole, split by separators, and runs.

    Returns their begins and ends, all paths, and the index of each substring's first path.
    """
    examples, columns = begins.shape
    paths = np.empty((columns * (1 + _FIELDS + _RUNS), _PATH + 2 * examples), np.int64)
    separators = np.empty((_separator_room(begins, ends), 4), np.int64)
    fields = np.empty((2, examples, _longest(begins, ends) + 2), np.int64)
    first, last = np.empty(examples, np.int64), np.empty(examples, np.int64)
    field_counts, path = np.zeros(examples, np.int64), np.zeros(_PATH, np.int64)
    size = np.int64(0)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        size = _add(paths, size, path, first, last)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        for i in range(_separators(chars, alnum, first, last, separators)):
            path[_SEPARATOR], path[_LENGTH] = separators[i, 0], separators[i, 1]
            _split(chars, first, last, separators[i, 0], separators[i, 1], fields, field_counts)
            size = _add_fields(paths, size, path, np.int64(_FIELD), fields, field_counts)
    path[_SEPARATOR] = 0
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, first, last)
        for kind in (DIGITS, LETTERS, WORDS):
            path[_LENGTH] = kind
            if _find_runs(chars, first, last, kind, fields, field_counts):
                size = _add_fields(paths, size, path, np.int64(_FIELD), fields, field_counts)
    nothing = np.empty((0, examples), np.int64)
    return _distinct(chars, paths, size, nothing, nothing)


@kernel
def split_twice(
    chars: Array, alnum: Array, begins: Array, ends: Array, known_firsts: Array, known_lasts: Array
) -> tuple[Array, Array, Array, Array]:
    """Find the substrings of substrings that are not known; their numbers follow the known."""
    examples, columns = begins.shape
    paths = np.empty((columns * _FIELDS * _FIELDS, _PATH + 2 * examples), np.int64)
    outer_separators = np.empty((_separator_room(begins, ends), 4), np.int64)
    inner_separators = np.empty((len(outer_separators), 4), np.int64)
    outer = np.empty((2, examples, _longest(begins, ends) + 2), np.int64)
    inner = np.empty((2, examples, outer.shape[2]), np.int64)
    outer_counts, inner_counts = np.zeros(examples, np.int64), np.zeros(examples, np.int64)
    whole, end = np.empty(examples, np.int64), np.empty(examples, np.int64)
    first, last = np.empty(examples, np.int64), np.empty(examples, np.int64)
    path = np.zeros(_PATH, np.int64)
    size = np.int64(0)
    for column in range(columns):
        path[_COLUMN] = column
        _column(begins, ends, column, whole, end)
        for i in range(_separators(chars, alnum, whole, end, outer_separators)):
            separator, length = outer_separators[i, 0], outer_separators[i, 1]
            path[_SEPARATOR], path[_LENGTH] = separator, length
            _split(chars, whole, end, separator, length, outer, outer_counts)
            fewest = _fewest(outer_counts)
            for turn in range(2 * fewest):
                path[_FIELD] = turn if turn < fewest else fewest - 1 - turn
                if not _take(outer, outer_counts, path[_FIELD], first, last):
                    continue
                for j in range(_separators(chars, alnum, first, last, inner_separators)):
                    second, second_length = inner_separators[j, 0], inner_separators[j, 1]
                    if _contains(chars, separator, length, second, second_length):
                        continue
                    path[_SEPARATOR + _SECOND], path[_LENGTH + _SECOND] = second, second_length
                    _split(chars, first, last, second, second_length, inner, inner_counts)
                    size = _add_fields(
                        paths, size, path, np.int64(_FIELD + _SECOND), inner, inner_counts
                    )
    return _distinct(chars, paths, size, known_firsts, known_lasts)


@njit(nogil=True)
def _distinct(
    chars: Array, candidates: Array, size: int, known_firsts: Array, known_lasts: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the substrings that are not known, and up to `MOST_PATHS` paths to each."""
    known, examples = known_firsts.shape
    room = known + size
    slots = 64
    while slots < 2 * room:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    firsts, lasts = np.empty((room, examples), np.int64), np.empty((room, examples), np.int64)
    used = np.zeros(room, np.int64)
    count = np.int64(0)
    for i in range(known):
        for e in range(examples):
            firsts[i, e], lasts[i, e] = known_firsts[i, e], known_lasts[i, e]
        count = max(count, _number(chars, table, firsts, lasts, count) + 1)
    paths, path_count = np.empty((size, _PATH), np.int64), 0
    first_paths = np.empty(room, np.int64)
    for i in range(size):
        for e in range(examples):
            firsts[count, e] = candidates[i, _PATH + e]
            lasts[count, e] = candidates[i, _PATH + examples + e]
        substring = _number(chars, table, firsts, lasts, count)
        count = max(count, substring + 1)
        if substring >= known and used[substring] < MOST_PATHS:
            if used[substring] == 0:
                first_paths[substring] = path_count
            used[substring] += 1
            paths[path_count, _SUBSTRING] = substring
            for k in range(1, _PATH):
                paths[path_count, k] = candidates[i, k]
            path_count += 1
    return (
        firsts[known:count].copy(),
        lasts[known:count].copy(),
        paths[:path_count].copy(),
        first_paths[known:count].copy(),
    )


@njit(nogil=True)
def _number(chars: Array, table: Array, firsts: Array, lasts: Array, new: int) -> int:
    """The number of the substring that has the texts of substring `new`; `new` if none has."""
    examples = firsts.shape[1]
    h = np.uint64(0)
    for e in range(examples):
        for i in range(firsts[new, e], lasts[new, e]):
            h = (h ^ np.uint64(chars[i])) * _PRIME
            h ^= h >> _SHIFT
        h = (h + np.uint64(1)) * _PRIME
    mask = np.uint64(len(table) - 1)
    at = (h ^ (h >> _SHIFT)) & mask
    while table[at] >= 0:
        substring = table[at]
        e = 0
        while e < examples and _equal(
            chars, firsts[substring, e], lasts[substring, e], firsts[new, e], lasts[new, e]
        ):
            e += 1
        if e == examples:
            return substring
        at = (at + np.uint64(1)) & mask
    table[at] = new
    return new


@njit(nogil=True)
def _column(begins: Array, ends: Array, column: int, first: Array, last: Array) -> None:
    """Write where every example's text of a column begins and ends."""
    for e in range(len(first)):
        first[e], last[e] = begins[e, column], ends[e, column]


@njit(nogil=True)
def _add(paths: Array, size: int, path: Array, first: Array, last: Array) -> int:
    """Add a path with its texts; return how many there are then."""
    examples = len(first)
    for k in range(_PATH):
        paths[size, k] = path[k]
    for e in range(examples):
        paths[size, _PATH + e] = first[e]
        paths[size, _PATH + examples + e] = last[e]
    return size + 1


@njit(nogil=True)
def _add_fields(
    paths: Array, size: int, path: Array, path_column: int, fields: Array, field_counts: Array
) -> int:
    """Add the fields that all examples have and that are empty in none, counted from both ends."""
    first, last = np.empty(len(field_counts), np.int64), np.empty(len(field_counts), np.int64)
    fewest = _fewest(field_counts)
    for turn in range(2 * fewest):
        path[path_column] = turn if turn < fewest else fewest - 1 - turn
        if _take(fields, field_counts, path[path_column], first, last):
            size = _add(paths, size, path, first, last)
    path[path_column] = 0
    return size


@njit(nogil=True)
def _fewest(field_counts: Array) -> int:
    """Return the fewest fields of any example, at most `MOST_FIELDS`."""
    fewest = np.int64(MOST_FIELDS)
    for e in range(len(field_counts)):
        fewest = min(fewest, field_counts[e])
    return fewest


@njit(nogil=True)
def _longest(begins: Array, ends: Array) -> int:
    """Return the length of the longest text."""
    longest = np.int64(0)
    for example in range(begins.shape[0]):
        for column in range(begins.shape[1]):
            longest = max(longest, ends[example, column] - begins[example, column])
    return longest


@njit(nogil=True)
def _separator_room(begins: Array, ends: Array) -> int:
    """Bound the number of separators: each text has fewer than twice its characters."""
    return begins.shape[0] * 2 * (_longest(begins, ends) + 1)


@njit(nogil=True)
def _take(fields: Array, field_counts: Array, field: int, first: Array, last: Array) -> bool:
    """Take every example's field of that index, from the end if negative; False if one is empty."""
    for e in range(len(field_counts)):
        at = field if field >= 0 else field_counts[e] + field
        first[e], last[e] = fields[0, e, at], fields[1, e, at]
        if first[e] == last[e]:
            return False
    return True


@njit(nogil=True)
def _split(
    chars: Array,
    first: Array,
    last: Array,
    separator: int,
    length: int,
    fields: Array,
    field_counts: Array,
) -> None:
    """Find where the fields between separators begin and end, and how many each example has."""
    for e in range(len(first)):
        begin, end = first[e], last[e]
        count = np.int64(0)
        fields[0, e, 0] = begin
        at = begin
        while at + length <= end:
            if _equal(chars, at, at + length, separator, separator + length):
                fields[1, e, count] = at
                at += length
                count += 1
                fields[0, e, count] = at
            else:
                at += 1
        fields[1, e, count] = end
        field_counts[e] = count + 1


@njit(nogil=True)
def _find_runs(
    chars: Array, first: Array, last: Array, kind: int, fields: Array, field_counts: Array
) -> bool:
    """Find where runs of a kind begin and end; return whether any text is more than one run."""
    differs = False
    for e in range(len(first)):
        count = np.int64(0)
        inside = False
        for at in range(first[e], last[e]):
            if _is_kind(chars[at], kind):
                if not inside:
                    fields[0, e, count] = at
                    inside = True
            elif inside:
                fields[1, e, count] = at
                count += 1
                inside = False
        if inside:
            fields[1, e, count] = last[e]
            count += 1
        field_counts[e] = count
        if count != 1 or fields[0, e, 0] != first[e] or fields[1, e, 0] != last[e]:
            differs = True
    return differs


@njit(nogil=True)
def _is_kind(char: np.uint32, kind: int) -> bool:
    """Whether a character is of a kind; all beyond ASCII counts as letters."""
    if char >= 48 and char <= 57:
        return kind != LETTERS
    letter = char >= 128 or (char >= 65 and char <= 90) or (char >= 97 and char <= 122)
    return letter and kind != DIGITS


@njit(nogil=True)
def _separators(chars: Array, alnum: Array, first: Array, last: Array, separators: Array) -> int:
    """Find what is neither letter nor digit: single characters and whole runs, the commonest first.

    Rows of `separators`: where a separator is, its length, how many examples have it, and the last
    of them. The best come first; returns how many there are.
    """
    count = np.int64(0)
    for e in range(len(first)):
        at, end = first[e], last[e]
        while at < end:
            if alnum[at]:
                at += 1
                continue
            begin = at
            underscore = chars[at] == _UNDERSCORE
            while at < end and not alnum[at] and (chars[at] == _UNDERSCORE) == underscore:
                count = _count(chars, separators, count, at, np.int64(1), e)
                at += 1
            if at - begin > 1 and at - begin <= LONGEST_SEPARATOR:
                count = _count(chars, separators, count, begin, at - begin, e)
    best = min(count, np.int64(MOST_SEPARATORS))
    for position in range(best):
        chosen = position
        for i in range(position + 1, count):
            if _comes_first(chars, separators[i], separators[chosen]):
                chosen = i
        for k in range(4):
            separators[position, k], separators[chosen, k] = (
                separators[chosen, k],
                separators[position, k],
            )
    return best


@njit(nogil=True)
def _count(chars: Array, separators: Array, count: int, at: int, length: int, example: int) -> int:
    """Count a separator of an example; return how many distinct ones there are."""
    for i in range(count):
        if separators[i, 1] == length and _equal(
            chars, separators[i, 0], separators[i, 0] + length, at, at + length
        ):
            if separators[i, 3] != example:
                separators[i, 2] += 1
                separators[i, 3] = example
            return count
    separators[count] = at, length, 1, example
    return count + 1


@njit(nogil=True)
def _comes_first(chars: Array, left: Array, right: Array) -> bool:
    """Whether a separator comes before another: commoner, then shorter, then by its characters."""
    if left[2] != right[2]:
        return left[2] > right[2]
    if left[1] != right[1]:
        return left[1] < right[1]
    for i in range(left[1]):
        left_char, right_char = chars[left[0] + i], chars[right[0] + i]
        if left_char != right_char:
            return left_char < right_char
    return False


@njit(nogil=True)
def _contains(chars: Array, begin: int, length: int, inner: int, inner_length: int) -> bool:
    """Whether a separator contains another."""
    for at in range(begin, begin + length - inner_length + 1):
        if _equal(chars, at, at + inner_length, inner, inner + inner_length):
            return True
    return False


@njit(nogil=True)
def _equal(chars: Array, left: int, left_end: int, right: int, right_end: int) -> bool:
    """Whether two texts are equal."""
    if left_end - left != right_end - right:
        return False
    while left < left_end and chars[left] == chars[right]:
        left += 1
        right += 1
    return left == left_end
