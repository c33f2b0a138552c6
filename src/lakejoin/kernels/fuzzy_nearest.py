"""The most alike texts by the tokens that they share: an inverted index, and its k best.

The likeness of two texts is the sum, over the tokens that both hold, of the products of their
weights. The lists of a query's tokens are read from the shortest on, as long as that takes no more
than `budget` entries; where it leaves some unread, the best of what was met are measured in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_SPARE = 32  # at least: how many are measured again where lists were left unread


@kernel
def invert(
    start: Array, tokens: Array, weights: Array, begin: int, distinct: int
) -> tuple[Array, Array, Array]:
    """The texts from `begin` on by token: (start of each list, texts less `begin`, weights)."""
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
    """Orders the tokens `begin` and on by the length of their lists; few, so by insertion."""
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
def _keep_best(found: Array, score: Array, k: int, held: int, text: int, value: float) -> int:
    """Puts a text into the k best so far, in order; of equally good ones the first comes first."""
    if held == k and (value < score[k - 1] or (value == score[k - 1] and text > found[k - 1])):
        return held
    at = min(held, k - 1)
    while at > 0 and (score[at - 1] < value or (score[at - 1] == value and found[at - 1] > text)):
        score[at] = score[at - 1]
        found[at] = found[at - 1]
        at -= 1
    score[at] = value
    found[at] = text
    return min(held + 1, k)


@njit
def _likeness(start: Array, tokens: Array, weights: Array, a: int, b: int) -> float:
    """Of two texts, in full: their tokens ascend."""
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
def likenesses(start: Array, tokens: Array, weights: Array, a: Array, b: Array) -> Array:
    """The likeness of pairs of texts."""
    out = np.empty(a.shape[0], np.float32)
    for i in range(a.shape[0]):
        out[i] = _likeness(start, tokens, weights, a[i], b[i])
    return out


@kernel
def nearest(
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
    """For each query (a text's number) the k most alike texts from `begin` on, and how alike.

    Best first; -1 where fewer share a token with it. A text is not its own neighbour.
    """
    indexed = start.shape[0] - 1 - begin
    found = np.full((queries.shape[0], k), -1, np.int32)
    score = np.zeros((queries.shape[0], k), np.float32)
    sums = np.zeros(indexed, np.float32)
    met = np.empty(indexed, np.int32)
    longest = 0
    for text in range(start.shape[0] - 1):
        longest = max(longest, start[text + 1] - start[text])
    order = np.empty(longest, np.int64)
    spare = np.empty(max(_SPARE, 4 * k), np.int32)
    spare_score = np.empty(spare.shape[0], np.float32)
    own = np.zeros(lists.shape[0] - 1, np.float32)  # the weights of a query, by token
    best = np.empty(k, np.int32)
    best_score = np.empty(k, np.float32)
    for q in range(queries.shape[0]):
        text = queries[q]
        count = start[text + 1] - start[text]
        _shortest_first(order, count, tokens, start[text], lists)
        left = budget
        touched = 0
        whole = True
        for o in range(count):
            token = tokens[order[o]]
            stop = lists[token + 1]
            if stop - lists[token] > left:
                whole = False
                if o > 0:
                    break
                stop = lists[token] + left
            left -= stop - lists[token]
            weight = weights[order[o]]
            for i in range(lists[token], stop):
                member = members[i]
                if sums[member] == 0:
                    met[touched] = member
                    touched += 1
                sums[member] += weight * member_weights[i]
        # Room for the k best, or for some more where these are yet to be measured in full.
        room = k if whole else spare.shape[0]
        held = 0
        for i in range(touched):
            member = met[i]
            value = sums[member]
            sums[member] = 0
            if member != text - begin and (held < room or value >= spare_score[room - 1]):
                held = _keep_best(spare, spare_score, room, held, member, value)
        if not whole:
            again = 0
            for i in range(start[text], start[text + 1]):
                own[tokens[i]] = weights[i]
            for i in range(held):
                value = np.float32(0)
                for j in range(start[spare[i] + begin], start[spare[i] + begin + 1]):
                    value += own[tokens[j]] * weights[j]
                again = _keep_best(best, best_score, k, again, spare[i], value)
            for i in range(start[text], start[text + 1]):
                own[tokens[i]] = 0
            held = again
            spare[:held] = best[:held]
            spare_score[:held] = best_score[:held]
        for i in range(held):
            found[q, i] = spare[i]
            score[q, i] = spare_score[i]
    return found, score


@kernel
def leads(groups: Array, values: Array, count: int) -> Array:
    """Each value less the largest other one of its group, or less 0 where it stands alone."""
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
