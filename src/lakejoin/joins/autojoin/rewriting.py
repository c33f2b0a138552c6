"""What do forms and padding make of the pieces of a few examples? Only what the targets hold.

What becomes of one text and whether its own target holds it says one example alone; examples come
in many sets, so that is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from lakejoin.joins.autojoin.examples import folded
from lakejoin.joins.autojoin.forms import Form, rewritten
from lakejoin.joins.autojoin.pieces import Path, Pieces, Texts

_MOST_PATHS = 8
_MOST_ALSO = 4
_WIDEST = 12  # that a text is padded to
_PADDED = (Form.SAME, Form.NO_ZEROS, Form.MONTH_NUMBER)
_REMEMBERED = 1 << 15
# Forms that leave a text as it is unless it has such a character; "" stands for any that is
# neither letter nor digit.
_NEEDED = {
    Form.NO_MARKS: "",
    Form.NO_BLANKS: "",
    Form.NO_COMMAS: ",",
    Form.BLANKS_TO_HYPHENS: " ",
    Form.BLANKS_TO_UNDERSCORES: " ",
    Form.HYPHENS_TO_BLANKS: "-",
    Form.UNDERSCORES_TO_BLANKS: "_",
    Form.NO_FIRST_WORD: " ",
    Form.NO_LAST_WORD: " ",
    Form.NO_TITLES: " ",
}

Held = dict[Form, tuple[str, int]]


@dataclass(eq=False)
class Rewritten:
    """New texts by what they are, and rewritings that give what plain pieces give as well."""

    new: dict[Texts, list[Path]] = field(default_factory=dict)
    also: dict[Texts, list[Path]] = field(default_factory=dict)

    def also_for(self, texts: Texts) -> tuple[Path, ...]:
        return tuple(self.also.get(texts, ())[:_MOST_ALSO])


def rewritten_pieces(pieces: Pieces) -> Rewritten:
    """What forms and padding make of pieces, where every example's target holds it.

    >>> import numpy as np
    >>> from lakejoin.joins.autojoin.examples import examples_of
    >>> from lakejoin.joins.autojoin.pieces import chosen, pieces_of
    >>> days = examples_of({"day": ["5 March", "12 June"]}, ["05-03", "12-06"])
    >>> made = rewritten_pieces(pieces_of(chosen(days, np.arange(2), np.arange(1))))
    >>> for texts, paths in made.new.items():
    ...     print(texts, paths[0].form, paths[0].width)
    ('05', '12')  2
    ('3', '6') month_number 0
    ('03', '06') month_number 2
    """
    found = Rewritten()
    whole = pieces.of.examples.texts
    goals = [whole[begin:end] for begin, end in pieces.of.goals.tolist()]
    plain: set[Texts] = set()
    texts_of = [
        tuple([whole[begin:end] for begin, end in zip(begins, ends, strict=True)])
        for begins, ends in zip(pieces.firsts.tolist(), pieces.lasts.tolist(), strict=True)
    ]
    for piece, texts in enumerate(texts_of):
        for made, form, width in _rewritings(texts, goals):
            plain = plain or set(texts_of)
            known = (found.also if made in plain else found.new).setdefault(made, [])
            if len(known) < _MOST_PATHS:
                path = pieces.first_path(piece)
                known.append(Path(path.column, path.splits, form, width))
    return found


def _rewritings(texts: Texts, goals: list[str]) -> Iterator[tuple[Texts, Form, int]]:
    """Every form and width that gives each example something which its target holds."""
    each: list[Held] = []
    for text, goal in zip(texts, goals, strict=True):
        held = _held(text, goal)
        if not held:
            return
        each.append(held)
    for form in each[0]:
        if not _may_change(texts, form):
            continue
        found = [held[form] for held in each if form in held]
        if len(found) < len(each):
            continue
        made = tuple([text for text, _ in found])
        if form and made != texts:
            yield made, form, 0
        if form in _PADDED and all(text.isalnum() for text in made):
            widest = min(_WIDEST, *(width for _, width in found))
            for width in range(min(map(len, made)) + 1, widest + 1):
                yield tuple([text.rjust(width, "0") for text in made]), form, width


@lru_cache(maxsize=_REMEMBERED)
def _held(text: str, goal: str) -> Held:
    """What each form makes of a text, if the goal holds it, and up to which width with zeros."""
    found: Held = {}
    plain = text.isalnum()
    for form in Form:
        needed = _NEEDED.get(form)
        kept = form is Form.SAME or (needed is not None and (plain or needed not in text))
        made = text if kept else folded(rewritten(text, form) or "")
        if made and made in goal:
            found[form] = made, _widest(made, goal) if form in _PADDED else 0
    return found


def _widest(text: str, goal: str) -> int:
    width = len(text)
    while width < _WIDEST and text.rjust(width + 1, "0") in goal:
        width += 1
    return width


def _may_change(texts: Texts, form: Form) -> bool:
    """Whether it is worth rewriting them: most forms change few texts."""
    if form is Form.SAME:
        return any("0" <= text[0] <= "9" or len(text) < _WIDEST for text in texts)
    if form is Form.NO_ZEROS:
        return any(text[0] == "0" for text in texts)
    if form is Form.NO_COMMAS:
        return any("," in text for text in texts)
    if form is Form.MONTH_NUMBER:
        return all(text[:3].isalpha() for text in texts)
    if form in (Form.MONTH_NAME, Form.MONTH_SHORT):
        return all(len(text) <= 2 and text.isdigit() for text in texts)
    return any(not text.isalnum() for text in texts)
