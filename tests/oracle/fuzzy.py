"""What a fuzzy join means, in plain Python, over all pairs of texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

from lakejoin.joins.fuzzy.pair_evidence import INTERCEPT, WEIGHTS

MARGIN = 1e-4  # numbers that come this near to a limit may fall on either side of it
TENS = ["", "x", "xx", "xxx", "xl"]
ONES = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]
ROMAN = {ten + one: str(10 * i + j) for i, ten in enumerate(TENS) for j, one in enumerate(ONES)}
COUNTED = [
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
]
ORDERED = [
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
]
# Words that say little, of English, the Romance languages and German.
GRAMMAR = {
    *("the", "of", "and", "a", "an", "in", "at", "on", "for", "to", "by", "with"),
    *("de", "la", "le", "les", "du", "des", "et", "el", "los", "las", "del", "y", "e"),
    *("da", "do", "dos", "di", "der", "die", "das", "den", "dem", "von", "und", "im", "am", "zu"),
}
Pair = tuple[str, str]


class Close(Exception):
    """A number is too near to a limit to compare with."""


def fold(text: str) -> str:
    for encoding in ("latin-1", "cp1252"):
        try:
            text = text.encode(encoding).decode("utf-8")
            break
        except UnicodeError:
            pass
    text = unicodedata.normalize("NFKD", text.casefold())
    text = without_dots(text)
    text = re.sub(
        r"\b(1[5-9]|20)([0-9][0-9])( ?[-–/] ?)([0-9][0-9])\b",
        lambda years: years[1] + years[2] + years[3] + years[1] + years[4],
        text,
    )
    kinds = [(c, unicodedata.category(c)) for c in text]
    kept = [
        c if k[0] == "L" or k == "Nd" else " " for c, k in kinds if k[0] != "M" and c not in "'’ʼ`´"
    ]
    return " ".join(part for word in "".join(kept).split() for part in number_parts(word))


def without_dots(text: str) -> str:
    """Two or more single letters with a dot after each are one word."""
    out, i = "", 0
    while i < len(text):
        end = i
        while text[end : end + 1].isalpha() and text[end + 1 : end + 2] == ".":
            end += 2
        begins = not (i and (text[i - 1].isalnum() or text[i - 1] == "_"))
        if begins and end - i >= 4:
            out += text[i:end].replace(".", "")
            i = end
        else:
            out += text[i]
            i += 1
    return out


def number_parts(word: str) -> list[str]:
    """A number in digits without leading zeros, and apart from the letters beside it."""
    if len(word) > 1 and word in ROMAN:
        return [ROMAN[word]]
    for words in (COUNTED, ORDERED):
        if word in words:
            return [str(words.index(word) + 1)]
    digits = set("0123456789")
    head = next((i for i, c in enumerate(word) if c in digits), len(word))
    number = word[head:]
    if head != 1 and number and set(number) <= digits and is_word(word[:head]):
        return [word[:head], number.lstrip("0") or "0"][head == 0 :]
    end = next((i for i, c in enumerate(word) if c not in digits), len(word))
    number, rest = word[:end], word[end:]
    if number and rest in ("st", "nd", "rd", "th"):
        return [number.lstrip("0") or "0"]
    if number and len(rest) >= 3 and is_word(rest):
        return [number.lstrip("0") or "0", rest]
    return [word]


def is_word(text: str) -> bool:
    """Whether a text is letters only, as regular expressions see them."""
    return all(re.fullmatch(r"[^\W\d_]", c) for c in text)


def join_words(texts: Sequence[list[str]]) -> list[list[str]]:
    """Two adjacent words are one where they are one word in any text."""
    known = {word for text in texts for word in text}
    out = []
    for text in texts:
        made, rest = [], list(text)
        while rest:
            both = "".join(rest[:2])
            if len(rest) > 1 and len(both) >= 5 and both.isalpha() and both in known:
                made.append(both)
                rest = rest[2:]
            else:
                made.append(rest.pop(0))
        out.append(made)
    return out


def beyond(value: float, limit: float) -> bool:
    if abs(value - limit) < MARGIN:
        raise Close
    return value > limit


def grams(text: str, size: int) -> list[str]:
    out = []
    for word in text.split():
        padded = f" {word} "
        out += [padded[i : i + size] for i in range(max(len(padded) - size + 1, 1))]
    return out


def rarities(left: Sequence[list[str]], right: Sequence[list[str]]) -> dict[str, float]:
    mine, theirs = (Counter(t for text in side for t in set(text)) for side in (left, right))
    texts = len(left) + len(right)
    return {token: math.log1p(texts / count) for token, count in (mine | theirs).items()}


def weight(word: str) -> float:
    length = max(4, len(word)) if is_number(word) else len(word)
    return (1 - 0.5**length) * (0.25 if word in GRAMMAR else 1.0)


def cosine(one: list[str], other: list[str], rarity: dict[str, float]) -> float:
    a, b = Counter(one), Counter(other)
    dot = sum(a[t] * b[t] * rarity[t] ** 2 for t in a.keys() & b.keys())
    sizes = [math.sqrt(sum((n * rarity[t]) ** 2 for t, n in c.items())) for c in (a, b)]
    return dot / (sizes[0] * sizes[1])


def jaro_winkler(a: str, b: str) -> float:
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken: list[int] = []
    mine: list[str] = []
    for i, letter in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if j not in taken and b[j] == letter:
                taken.append(j)
                mine.append(letter)
                break
    if not taken:
        return 0.0
    moved = sum(x != b[j] for x, j in zip(mine, sorted(taken), strict=True)) // 2
    m = len(taken)
    jaro = (m / len(a) + m / len(b) + (m - moved) / m) / 3
    same = 0
    while same < min(4, len(a), len(b)) and a[same] == b[same]:
        same += 1
    return jaro + 0.1 * same * (1 - jaro) if jaro > 0.7 else jaro


def is_number(word: str) -> bool:
    return any(c.isdigit() for c in word)


def answers(
    one: list[str], other: list[str], rarity: dict[str, float], in_keys: set[str]
) -> tuple[float, list[tuple[str, float]], list[tuple[str, float]]]:
    """The rarity that is paired, and how open each word of either text stays."""
    mine, theirs = [[w, 1.0] for w in one], [[w, 1.0] for w in other]
    mass = 0.0
    for a in mine:
        for b in theirs:
            if b[1] == 1 and a[0] == b[0]:
                a[1] = b[1] = 0.0
                mass += rarity[a[0]]
                break
    while True:
        best = (0.0, None, None)
        for a, b in product(mine, theirs):
            if a[1] == 1 and b[1] == 1 and not is_number(a[0]) and not is_number(b[0]):
                initial = min(len(a[0]), len(b[0])) == 1 and a[0][0] == b[0][0]
                least = 0.8 if a[0] in in_keys else 0.7
                alike = 0.9 if initial else jaro_winkler(a[0], b[0])
                alike = (alike - least) / (1 - least)
                if alike > best[0] + 1e-12:
                    best = (alike, a, b)
        if best[1] is None:
            return mass, [tuple(a) for a in mine], [tuple(b) for b in theirs]
        best[1][1] = best[2][1] = 1 - best[0]
        mass += best[0] * 0.5 * (rarity[best[1][0]] + rarity[best[2][0]])


def lead(values: dict[Pair, float], pair: Pair, side: int) -> float:
    others = [v for p, v in values.items() if p[side] == pair[side] and p != pair]
    return values[pair] - max(others, default=0.0)


def chances(
    left: Iterable[str], right: Iterable[str], known: Iterable[Pair] = ()
) -> dict[Pair, float]:
    """The chance of each pair of distinct texts that share a token; `known` are joined already."""
    texts, keys = list(dict.fromkeys(left)), list(dict.fromkeys(right))
    words = {("l", t): fold(t).split() for t in texts} | {("r", k): fold(k).split() for k in keys}
    words = {name: found for name, found in words.items() if found}
    words = dict(zip(words, join_words(list(words.values())), strict=True))
    texts = [t for t in texts if ("l", t) in words]
    keys = [k for k in keys if ("r", k) in words]
    threes = {name: grams(" ".join(found), 3) for name, found in words.items()}
    word_rarity, gram_rarity = (
        rarities(*([v for (s, _), v in cut.items() if s == side] for side in "lr"))
        for cut in (words, threes)
    )

    def alike(a: tuple[str, str], b: tuple[str, str]) -> float:
        return 0.5 * (
            cosine(words[a], words[b], word_rarity) + cosine(threes[a], threes[b], gram_rarity)
        )

    known = list(dict.fromkeys(known))
    claimed = {k for _, k in known}
    asked = [t for t in texts if t not in {t for t, _ in known}]
    likeness = {(t, k): alike(("l", t), ("r", k)) for t, k in product(asked, keys)}
    likeness = {pair: value for pair, value in likeness.items() if value > 0}
    rarity = {w: r * weight(w) / math.log1p(len(words)) for w, r in word_rarity.items()}
    in_keys = {word for (side, _), found in words.items() if side == "r" for word in found}
    key_lead = {pair: lead(likeness, pair, 0) for pair in likeness}
    text_lead = {
        pair: min(lead(likeness, pair, 1), likeness[pair] - 1)
        if pair[1] in claimed
        else lead(likeness, pair, 1)
        for pair in likeness
    }

    apart: Counter[str] = Counter()
    for key in keys:
        near = [(alike(("r", key), ("r", k)), -i, k) for i, k in enumerate(keys) if k != key]
        near.sort(reverse=True)
        if len(near) > 1 and near[0][0] - near[1][0] < MARGIN:
            raise Close
        if near and beyond(near[0][0], 0.4):
            _, mine, theirs = answers(words["r", key], words["r", near[0][2]], rarity, in_keys)
            apart.update(w for w, open_ in mine + theirs if open_ == 1)
    same: Counter[str] = Counter()
    for pair in [*likeness, *known]:
        if pair in likeness and not (
            beyond(likeness[pair], 0.4)
            and beyond(key_lead[pair], 0.1)
            and beyond(text_lead[pair], -1e-9)
        ):
            continue
        _, mine, theirs = answers(words["l", pair[0]], words["r", pair[1]], rarity, in_keys)
        same.update(w for w, open_ in mine + theirs if open_ == 1)
    scale = 0.5 * len(texts) / max(1, len(keys))

    def doubt(word: str) -> float:
        return min(3.0, max(-1.0, math.log((apart[word] * scale + 0.5) / (same[word] + 0.5))))

    scores: dict[Pair, float] = {}
    for pair in likeness:
        mass, mine, theirs = answers(words["l", pair[0]], words["r", pair[1]], rarity, in_keys)
        rest = sum(rarity[w] * o for w, o in mine + theirs)
        conflict = all(any(o > 0 and is_number(w) for w, o in side) for side in (mine, theirs))
        by_words = mass - sum(rarity[w] * (1 - o) for w, o in mine if is_number(w))
        if by_words < 1e-9 and all(any(o > 0 for _, o in side) for side in (mine, theirs)):
            mass = 0.0
        row = [
            mass / max(mass + 0.5 * rest, 1e-9),
            float(conflict),
            sum(doubt(w) * o for w, o in mine + theirs),
            key_lead[pair],
            text_lead[pair],
        ]
        scores[pair] = math.exp(sum(w * x for w, x in zip(WEIGHTS, row, strict=True)) + INTERCEPT)
    return with_share(scores)


def with_share(weights: dict[Pair, float]) -> dict[Pair, float]:
    """Chances for the share of texts that mean any key, as found by fifty rounds."""
    totals: Counter[str] = Counter()
    for (text, _), weight in weights.items():
        totals[text] += weight
    share = 0.8
    for _ in range(50):
        odds = share / (1 - share) / 4
        some = sum(odds * total / (odds * total + 1) for total in totals.values())
        share = (some + 8) / (len(totals) + 10)
    odds = share / (1 - share) / 4
    return {p: odds * w / (odds * totals[p[0]] + 1) for p, w in weights.items()}


def joined(chance: dict[Pair, float], precision: float, one_to_one: bool, known: Iterable[Pair]):
    """The pairs that join, with their chances."""
    taken = {k for _, k in known}
    best: dict[str, tuple[float, str]] = {}
    for (text, key), value in chance.items():
        if text in best and abs(best[text][0] - value) < MARGIN and value > 0.4:
            raise Close
        if text not in best or value > best[text][0]:
            best[text] = value, key
    pairs = sorted(((value, text, key) for text, (value, key) in best.items()), reverse=True)
    out: dict[Pair, float] = {}
    total = 0.0
    for value, text, key in pairs:
        if one_to_one and key in taken:
            continue
        if one_to_one and any(abs(v - value) < MARGIN for (_, k), v in out.items() if k == key):
            raise Close
        if not beyond(value, 0.5):
            break
        if one_to_one and key in {k for _, k in out}:
            continue
        if not beyond((total + value) / (len(out) + 1), precision):
            break
        total += value
        out[text, key] = value
    return out
