"""The most similar texts by the tokens they share: an inverted index, and the k best for each
query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

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
def _keep_best(found: Array, score: Array, k: int, count: int, text: int, value: float) -> int:
    """Insert a text into the k best so far, in order; of equally good ones the first wins."""
    if count == k and (value < score[k - 1] or (value == score[k - 1] and text > found[k - 1])):
        return count
    at = min(count, k - 1)
    while at > 0 and (score[at - 1] < value or (score[at - 1] == value and found[at - 1] > text)):
        score[at] = score[at - 1]
        found[at] = found[at - 1]
        at -= 1
    score[at] = value
    found[at] = text
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
    found = np.full((queries.shape[0], k), -1, np.int32)
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
        kept = 0
        for i in range(touched):
            member = touched_texts[i]
            value = sums[member]
            sums[member] = 0
            if member != text - begin and (kept < room or value >= spare_score[room - 1]):
                kept = _keep_best(spare, spare_score, room, kept, member, value)
        if not all_read:
            measured = 0
            for i in range(start[text], start[text + 1]):
                query_weights[tokens[i]] = weights[i]
            for i in range(kept):
                value = np.float32(0)
                for j in range(start[spare[i] + begin], start[spare[i] + begin + 1]):
                    value += query_weights[tokens[j]] * weights[j]
                measured = _keep_best(best, best_score, k, measured, spare[i], value)
            for i in range(start[text], start[text + 1]):
                query_weights[tokens[i]] = 0
            kept = measured
            spare[:kept] = best[:kept]
            spare_score[:kept] = best_score[:kept]
        for i in range(kept):
            found[q, i] = spare[i]
            score[q, i] = spare_score[i]
    return found, score


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
