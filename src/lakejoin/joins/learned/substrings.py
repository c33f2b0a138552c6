"""Rewrite the substrings of a few examples by forms and padding, if the targets contain the result.

The rewritten form of a text, and whether its target contains it, depends on one example only; as
examples occur in many sets, these are cached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lakejoin.joins.learned.examples import folded
from lakejoin.codegen.forms import LOOKUPS, Form, rewrite_text
from lakejoin.joins.learned.pieces import SubstringPath, Substrings, Texts

_MOST_PATHS = 8
_MOST_ALSO = 4
_WIDEST = 12  # largest width to pad to
_PADDED = (Form.SAME, Form.NO_ZEROS, Form.MONTH_NUMBER)
# Forms that change a text only if it contains this character.
_NEEDED = {
    Form.NO_ZEROS: "0",
    Form.NO_COMMAS: ",",
    Form.BLANKS_TO_HYPHENS: " ",
    Form.BLANKS_TO_UNDERSCORES: " ",
    Form.HYPHENS_TO_BLANKS: "-",
    Form.UNDERSCORES_TO_BLANKS: "_",
    Form.NO_FIRST_WORD: " ",
    Form.NO_LAST_WORD: " ",
    Form.NO_TITLES: " ",
}
# The character that these forms insert.
_INSERTED = {
    Form.BLANKS_TO_HYPHENS: "-",
    Form.BLANKS_TO_UNDERSCORES: "_",
    Form.HYPHENS_TO_BLANKS: " ",
    Form.UNDERSCORES_TO_BLANKS: " ",
}
_FIRST_INITIALS = re.compile(r"[ .-]*([^ .-])[^ .-]*[ .-]+([^ .-])")
_OF_ALL = tuple((form, _NEEDED.get(form, "")) for form in Form)
# The forms to try if all examples have only letters and digits.
_OF_ALNUM = tuple(
    (form, needed)
    for form, needed in _OF_ALL
    if form in (Form.SAME, Form.NO_ZEROS) or form in LOOKUPS
)


@dataclass(eq=False)
class RewriteCache:
    """A cache of rewritten texts."""

    _made: dict[tuple[str, Form], str] = field(default_factory=dict)
    _held: dict[tuple[str, str, bool], list[tuple[Form, str]]] = field(default_factory=dict)

    def made(self, text: str, form: Form) -> str:
        """The rewritten text, empty if the form does not apply."""
        needed = _NEEDED.get(form)
        if form is Form.SAME or (needed and needed not in text):
            return text
        known = self._made.get((text, form))
        if known is None:
            known = self._made[text, form] = folded(rewrite_text(text, form) or "")
        return known

    def held(self, text: str, goal: str, alnum: bool) -> list[tuple[Form, str]]:
        """The forms of a text that the goal contains."""
        known = self._held.get((text, goal, alnum))
        if known is None:
            known = self._held[text, goal, alnum] = []
            inside = text in goal
            for form, needed in _OF_ALNUM if alnum else _OF_ALL:
                if form is Form.SAME or needed not in text:
                    if inside:
                        known.append((form, text))
                elif _may_hold(goal, text, form):
                    made = self.made(text, form)
                    if made and made in goal:
                        known.append((form, made))
        return known


def _may_hold(goal: str, text: str, form: Form) -> bool:
    """A quick check whether a goal may contain the rewritten text."""
    if form is Form.INITIALS:
        first = _FIRST_INITIALS.match(text)
        return first is None or first[1] + first[2] in goal
    return _INSERTED.get(form, "") in goal


@dataclass(eq=False)
class RewrittenSubstrings:
    """New texts with their paths, and rewriting paths to texts that are plain substrings too."""

    new: dict[Texts, list[SubstringPath]] = field(default_factory=dict)
    also: dict[Texts, list[SubstringPath]] = field(default_factory=dict)

    def also_for(self, texts: Texts) -> tuple[SubstringPath, ...]:
        return tuple(self.also.get(texts, ())[:_MOST_ALSO])


def rewrite_substrings(substrings: Substrings, memory: RewriteCache) -> RewrittenSubstrings:
    """Rewrite substrings by forms and padding; keep what every example's target contains.

    >>> import numpy as np
    >>> from lakejoin.joins.learned.examples import examples_of
    >>> from lakejoin.joins.learned.pieces import chosen, pieces_of
    >>> days = examples_of({"day": ["5 March", "12 June"]}, ["05-03", "12-06"])
    >>> made = rewrite_substrings(pieces_of(chosen(days, np.arange(2), np.arange(1))), RewriteCache())
    >>> for texts, paths in made.new.items():
    ...     print(texts, paths[0].form, paths[0].width)
    ('05', '12')  2
    ('3', '6') month_number 0
    ('03', '06') month_number 2
    """
    found = RewrittenSubstrings()
    whole = substrings.of.examples.texts
    goals = tuple([whole[begin:end] for begin, end in substrings.of.goals.tolist()])
    all_texts = [
        tuple([whole[begin:end] for begin, end in zip(begins, ends, strict=True)])
        for begins, ends in zip(substrings.firsts.tolist(), substrings.lasts.tolist(), strict=True)
    ]
    plain = set(all_texts)
    for index, texts in enumerate(all_texts):
        for made, form, width in _rewritings(texts, goals, memory):
            known = (found.also if made in plain else found.new).setdefault(made, [])
            if len(known) < _MOST_PATHS:
                path = substrings.first_path(index)
                known.append(SubstringPath(path.column, path.splits, form, width))
    return found


def _rewritings(texts: Texts, goals: Texts, memory: RewriteCache) -> Iterator[tuple[Texts, Form, int]]:
    """Every form and width whose result is in the target of each example."""
    alnum = all(map(str.isalnum, texts))
    for form, first in memory.held(texts[0], goals[0], alnum):
        each = [first]
        for text, goal in zip(texts[1:], goals[1:], strict=True):
            made = memory.made(text, form)
            if not made or made not in goal:
                break
            each.append(made)
        if len(each) < len(texts):
            continue
        found = tuple(each)
        if form and found != texts:
            yield found, form, 0
        if form in _PADDED and (form is Form.SAME or found != texts):
            yield from ((wide, form, width) for wide, width in _padded(found, goals))


def _padded(texts: Texts, goals: Texts) -> Iterator[tuple[Texts, int]]:
    """Zero-pad to each width at which the targets contain the result."""
    if not all(text.isalnum() for text in texts):
        return
    for width in range(min(map(len, texts)) + 1, _WIDEST + 1):
        wide = tuple([text.rjust(width, "0") for text in texts])
        if not all(text in goal for text, goal in zip(wide, goals, strict=True)):
            return  # nor do they contain more zeros
        yield wide, width
