"""Weighted words and q-grams of folded texts, and the most similar texts by shared tokens."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import finish, mix
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# The similarity of two texts is the sum, over the tokens that both have, of the products of their
# weights. The lists of a query's tokens are read from the shortest on, as long as that takes no
# more than `budget` entries; if some stay unread, the best of the texts seen are measured in full.

_SPARE = 32  # at least this many texts are measured in full if lists stay unread


@kernel
def build_token_lists(
    start: Array, tokens: Array, weights: Array, begin: int, distinct: int
) -> tuple[Array, Array, Array]:
    """List the texts from `begin` on by token: (start of each list, texts - `begin`, weights)."""
    texts = start.shape[0] - 1
    lists = np.zeros(distinct + 1, np.int64)
    for i in range(start[begin], start[texts]):
        lists[tokens[i] + 1] += 1
    for token in range(distinct):
        lists[token + 1] += lists[token]
    fill = lists[:-1].copy()
    members = np.empty(lists[distinct], np.int32)
    weight = np.empty(lists[distinct], np.float32)
    for text in range(begin, texts):
        for i in range(start[text], start[text + 1]):
            at = fill[tokens[i]]
            fill[tokens[i]] = at + 1
            members[at] = text - begin
            weight[at] = weights[i]
    return lists, members, weight


@njit
def _shortest_first(order: Array, count: int, tokens: Array, begin: int, lists: Array) -> None:
    """Sort the tokens from `begin` on by the length of their lists; few, so by insertion."""
    for i in range(count):
        token = tokens[begin + i]
        length = lists[token + 1] - lists[token]
        j = i
        while j > 0:
            other = tokens[order[j - 1]]
            if lists[other + 1] - lists[other] <= length:
                break
            order[j] = order[j - 1]
            j -= 1
        order[j] = begin + i


@njit
def _keep_best(texts: Array, score: Array, k: int, count: int, text: int, value: float) -> int:
    """Insert a text into the k best so far, in order; of equally good ones the first wins."""
    if count == k and (value < score[k - 1] or (value == score[k - 1] and text > texts[k - 1])):
        return count
    at = min(count, k - 1)
    while at > 0 and (score[at - 1] < value or (score[at - 1] == value and texts[at - 1] > text)):
        score[at] = score[at - 1]
        texts[at] = texts[at - 1]
        at -= 1
    score[at] = value
    texts[at] = text
    return min(count + 1, k)


@njit
def _similarity(start: Array, tokens: Array, weights: Array, a: int, b: int) -> float:
    """Compute the similarity of two texts in full; their tokens ascend."""
    i, j = start[a], start[b]
    total = np.float32(0)
    while i < start[a + 1] and j < start[b + 1]:
        if tokens[i] == tokens[j]:
            total += weights[i] * weights[j]
            i += 1
            j += 1
        elif tokens[i] < tokens[j]:
            i += 1
        else:
            j += 1
    return total


@kernel
def compute_similarities(start: Array, tokens: Array, weights: Array, a: Array, b: Array) -> Array:
    """Compute the similarity of pairs of texts."""
    out = np.empty(a.shape[0], np.float32)
    for i in range(a.shape[0]):
        out[i] = _similarity(start, tokens, weights, a[i], b[i])
    return out


@kernel
def find_nearest_texts(
    start: Array,
    tokens: Array,
    weights: Array,
    queries: Array,
    begin: int,
    lists: Array,
    members: Array,
    member_weights: Array,
    k: int,
    budget: int,
) -> tuple[Array, Array]:
    """Find for each query (an index of a text) the k most similar texts from `begin` on.

    Returns texts and similarities, best first; -1 where fewer share a token. A text is not its own
    neighbour.
    """
    indexed = start.shape[0] - 1 - begin
    nearest = np.full((queries.shape[0], k), -1, np.int32)
    score = np.zeros((queries.shape[0], k), np.float32)
    sums = np.zeros(indexed, np.float32)
    touched_texts = np.empty(indexed, np.int32)
    longest = 0
    for text in range(start.shape[0] - 1):
        longest = max(longest, start[text + 1] - start[text])
    order = np.empty(longest, np.int64)
    spare = np.empty(max(_SPARE, 4 * k), np.int32)
    spare_score = np.empty(spare.shape[0], np.float32)
    query_weights = np.zeros(lists.shape[0] - 1, np.float32)  # the weights of a query, by token
    best = np.empty(k, np.int32)
    best_score = np.empty(k, np.float32)
    for q in range(queries.shape[0]):
        text = queries[q]
        count = start[text + 1] - start[text]
        _shortest_first(order, count, tokens, start[text], lists)
        left = budget
        touched = 0
        all_read = True
        for o in range(count):
            token = tokens[order[o]]
            stop = lists[token + 1]
            if stop - lists[token] > left:
                all_read = False
                if o > 0:
                    break
                stop = lists[token] + left
            left -= stop - lists[token]
            weight = weights[order[o]]
            for i in range(lists[token], stop):
                member = members[i]
                if sums[member] == 0:
                    touched_texts[touched] = member
                    touched += 1
                sums[member] += weight * member_weights[i]
        # Room for the k best, or for some more where these are yet to be measured in full.
        room = k if all_read else spare.shape[0]
        spare_count = 0
        for i in range(touched):
            member = touched_texts[i]
            value = sums[member]
            sums[member] = 0
            if member != text - begin and (spare_count < room or value >= spare_score[room - 1]):
                spare_count = _keep_best(spare, spare_score, room, spare_count, member, value)
        if not all_read:
            measured = 0
            for i in range(start[text], start[text + 1]):
                query_weights[tokens[i]] = weights[i]
            for i in range(spare_count):
                value = np.float32(0)
                for j in range(start[spare[i] + begin], start[spare[i] + begin + 1]):
                    value += query_weights[tokens[j]] * weights[j]
                measured = _keep_best(best, best_score, k, measured, spare[i], value)
            for i in range(start[text], start[text + 1]):
                query_weights[tokens[i]] = 0
            spare_count = measured
            spare[:spare_count] = best[:spare_count]
            spare_score[:spare_count] = best_score[:spare_count]
        for i in range(spare_count):
            nearest[q, i] = spare[i]
            score[q, i] = spare_score[i]
    return nearest, score


@kernel
def compute_leads(groups: Array, values: Array, count: int) -> Array:
    """Return each value minus the largest other value of its group, or minus 0 if it is alone."""
    best = np.zeros(count)
    second = np.zeros(count)
    for i in range(groups.shape[0]):
        group, value = groups[i], values[i]
        if value > best[group]:
            second[group] = best[group]
            best[group] = value
        elif value > second[group]:
            second[group] = value
    out = np.empty(groups.shape[0])
    for i in range(groups.shape[0]):
        group, value = groups[i], values[i]
        out[i] = value - (second[group] if value == best[group] else best[group])
    return out


# Texts come as one array of code points, with `starts` (texts + 1) between them; words are
# separated by blanks. A q-gram never spans two words: each word is padded with a blank on either
# side, so that its first and last letters count as such and the order of words does not matter.

_BLANK = np.uint64(32)


@kernel
def cut_words(points: Array, starts: Array, most: int) -> tuple[Array, Array, Array]:
    """Find the first `most` words of every text: (first word of each text, begins, ends)."""
    texts = starts.shape[0] - 1
    count = 0
    for i in range(points.shape[0]):
        count += points[i] == 32
    begins = np.empty(count + texts, np.int64)
    ends = np.empty(count + texts, np.int64)
    first = np.zeros(texts + 1, np.int64)
    word_count = 0
    for text in range(texts):
        stop = starts[text + 1]
        at = starts[text]
        while at < stop and word_count - first[text] < most:
            while at < stop and points[at] == 32:
                at += 1
            begin = at
            while at < stop and points[at] != 32:
                at += 1
            if at > begin:
                begins[word_count] = begin
                ends[word_count] = at
                word_count += 1
        first[text + 1] = word_count
    return first, begins[:word_count].copy(), ends[:word_count].copy()


@kernel
def hash_words(points: Array, begins: Array, ends: Array) -> Array:
    """Hash every word; equal words have equal hashes."""
    out = np.empty(begins.shape[0], np.uint64)
    for word in range(begins.shape[0]):
        h = np.uint64(ends[word] - begins[word])
        for at in range(begins[word], ends[word]):
            h = mix(h, np.uint64(points[at]))
        out[word] = finish(h)
    return out


@kernel
def mark_words_with(points: Array, marked: Array, begins: Array, ends: Array) -> Array:
    """Mark the words that contain a marked code point."""
    out = np.zeros(begins.shape[0], np.bool_)
    for word in range(begins.shape[0]):
        for at in range(begins[word], ends[word]):
            out[word] |= marked[at]
    return out


@kernel
def hash_grams(
    points: Array, first: Array, begins: Array, ends: Array, size: int
) -> tuple[Array, Array]:
    """Hash every q-gram of every text: (first of each text, hashes)."""
    texts = first.shape[0] - 1
    start = np.zeros(texts + 1, np.int64)
    for text in range(texts):
        count = 0
        for word in range(first[text], first[text + 1]):
            count += max(ends[word] - begins[word] + 3 - size, 1)
        start[text + 1] = start[text] + count
    out = np.empty(start[texts], np.uint64)
    at = 0
    for word in range(begins.shape[0]):
        begin, end = begins[word], ends[word]
        for p in range(begin - 1, max(end + 2 - size, begin)):
            h = np.uint64(size)
            for j in range(p, min(p + size, end + 1)):
                h = mix(h, np.uint64(points[j]) if begin <= j < end else _BLANK)
            out[at] = finish(h)
            at += 1
    return start, out


@kernel
def index_hashes(hashes: Array) -> tuple[Array, Array]:
    """Number hashes by first appearance: (index of each, where each index appears first)."""
    width = 16
    while width < 2 * hashes.shape[0]:
        width *= 2
    mask = np.uint64(width - 1)
    slots = np.full(width, -1, np.int32)
    indices = np.empty(hashes.shape[0], np.int32)
    firsts = np.empty(hashes.shape[0], np.int64)
    count = 0
    for i in range(hashes.shape[0]):
        h = hashes[i]
        at = h & mask
        while slots[at] >= 0 and hashes[firsts[slots[at]]] != h:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = count
            firsts[count] = i
            count += 1
        indices[i] = slots[at]
    return indices, firsts[:count].copy()


@njit(inline="always")
def _sort(values: Array, begin: int, end: int) -> None:
    """Sort by insertion: a text has few tokens."""
    for i in range(begin + 1, end):
        value = values[i]
        j = i
        while j > begin and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@kernel
def count_tokens(start: Array, tokens: Array) -> tuple[Array, Array, Array]:
    """Return every text's distinct tokens, ascending, and how often each occurs in it."""
    texts = start.shape[0] - 1
    out_start = np.zeros(texts + 1, np.int64)
    sorted_tokens = tokens.copy()
    out = np.empty(tokens.shape[0], np.int32)
    counts = np.empty(tokens.shape[0], np.int32)
    total = 0
    for text in range(texts):
        _sort(sorted_tokens, start[text], start[text + 1])
        for i in range(start[text], start[text + 1]):
            if i > start[text] and sorted_tokens[i] == sorted_tokens[i - 1]:
                counts[total - 1] += 1
            else:
                out[total] = sorted_tokens[i]
                counts[total] = 1
                total += 1
        out_start[text + 1] = total
    return out_start, out[:total].copy(), counts[:total].copy()


@kernel
def compute_unit_weights(start: Array, tokens: Array, counts: Array, rarity: Array) -> Array:
    """Weigh each token in its text: count times rarity, scaled to length one per text."""
    out = np.empty(tokens.shape[0], np.float32)
    for text in range(start.shape[0] - 1):
        total = 0.0
        for i in range(start[text], start[text + 1]):
            weight = counts[i] * rarity[tokens[i]]
            total += weight * weight
        scale = 1.0 / np.sqrt(total) if total > 0 else 0.0
        for i in range(start[text], start[text + 1]):
            out[i] = counts[i] * rarity[tokens[i]] * scale
    return out
