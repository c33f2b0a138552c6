"""Examples to learn from, and the substrings that programs can take from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lakejoin.codegen.programs import LOOKUPS, Form, Runs, Split, rewrite_text
from lakejoin.kernels.example_splits import split_once, split_twice
from lakejoin.model import Array

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

    _texts: dict[tuple[str, Form], str] = field(default_factory=dict)
    _forms: dict[tuple[str, str, bool], list[tuple[Form, str]]] = field(default_factory=dict)

    def rewrite(self, text: str, form: Form) -> str:
        """The rewritten text, empty if the form does not apply."""
        needed = _NEEDED.get(form)
        if form is Form.SAME or (needed and needed not in text):
            return text
        made = self._texts.get((text, form))
        if made is None:
            made = self._texts[text, form] = fold_case(rewrite_text(text, form) or "")
        return made

    def forms_in(self, text: str, goal: str, alnum: bool) -> list[tuple[Form, str]]:
        """The forms of a text that the goal contains."""
        forms = self._forms.get((text, goal, alnum))
        if forms is None:
            forms = self._forms[text, goal, alnum] = []
            inside = text in goal
            for form, needed in _OF_ALNUM if alnum else _OF_ALL:
                if form is Form.SAME or needed not in text:
                    if inside:
                        forms.append((form, text))
                elif _may_contain(goal, text, form):
                    made = self.rewrite(text, form)
                    if made and made in goal:
                        forms.append((form, made))
        return forms


def _may_contain(goal: str, text: str, form: Form) -> bool:
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

    >>> days = examples_of({"day": ["5 March", "12 June"]}, ["05-03", "12-06"])
    >>> substrings = find_substrings(choose_examples(days, np.arange(2), np.arange(1)))
    >>> made = rewrite_substrings(substrings, RewriteCache())
    >>> for texts, paths in made.new.items():
    ...     print(texts, paths[0].form, paths[0].width)
    ('05', '12')  2
    ('3', '6') month_number 0
    ('03', '06') month_number 2
    """
    rewritten = RewrittenSubstrings()
    whole = substrings.of.examples.texts
    goals = tuple([whole[begin:end] for begin, end in substrings.of.goals.tolist()])
    all_texts = [
        tuple([whole[begin:end] for begin, end in zip(begins, ends, strict=True)])
        for begins, ends in zip(substrings.firsts.tolist(), substrings.lasts.tolist(), strict=True)
    ]
    plain = set(all_texts)
    for index, texts in enumerate(all_texts):
        for made, form, width in _rewritings(texts, goals, memory):
            paths = (rewritten.also if made in plain else rewritten.new).setdefault(made, [])
            if len(paths) < _MOST_PATHS:
                path = substrings.first_path(index)
                paths.append(SubstringPath(path.column, path.splits, form, width))
    return rewritten


def _rewritings(
    texts: Texts, goals: Texts, memory: RewriteCache
) -> Iterator[tuple[Texts, Form, int]]:
    """Every form and width whose result is in the target of each example."""
    alnum = all(map(str.isalnum, texts))
    for form, first in memory.forms_in(texts[0], goals[0], alnum):
        each = [first]
        for text, goal in zip(texts[1:], goals[1:], strict=True):
            made = memory.rewrite(text, form)
            if not made or made not in goal:
                break
            each.append(made)
        if len(each) < len(texts):
            continue
        rewritten = tuple(each)
        if form and rewritten != texts:
            yield rewritten, form, 0
        if form in _PADDED and (form is Form.SAME or rewritten != texts):
            yield from ((wide, form, width) for wide, width in _pad_zeros(rewritten, goals))


def _pad_zeros(texts: Texts, goals: Texts) -> Iterator[tuple[Texts, int]]:
    """Zero-pad to each width at which the targets contain the result."""
    if not all(text.isalnum() for text in texts):
        return
    for width in range(min(map(len, texts)) + 1, _WIDEST + 1):
        wide = tuple([text.rjust(width, "0") for text in texts])
        if not all(text in goal for text, goal in zip(wide, goals, strict=True)):
            return  # nor do they contain more zeros
        yield wide, width


Texts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubstringPath:
    """How to get a substring: a column, its splits, and the form of the result."""

    column: str
    splits: tuple[Split, ...] = ()
    form: Form = Form.SAME
    width: int = 0

    @property
    def effort(self) -> float:
        """The cost of the path; 0 for a whole column."""
        by_runs = any(isinstance(separator, Runs) for separator, _ in self.splits)
        return len(self.splits) + 0.5 * by_runs + 1.5 * bool(self.form) + 1.0 * bool(self.width)


@dataclass(frozen=True, slots=True)
class Substring:
    """A substring of every example in lower case, and the paths to it, simplest first.

    A rewritten substring is only taken whole. `also` are rewriting paths that give the same texts
    in these examples.
    """

    texts: Texts
    paths: tuple[SubstringPath, ...]
    also: tuple[SubstringPath, ...] = ()

    @property
    def is_rewritten(self) -> bool:
        return bool(self.paths[0].form or self.paths[0].width)


@dataclass(frozen=True, eq=False)
class ChosenExamples:
    """A few of the examples, and the columns that their targets may come from."""

    examples: Examples
    rows: Array
    columns: Array
    begins: Array  # of each row's columns
    ends: Array
    goals: Array

    def __len__(self) -> int:
        return len(self.rows)


def choose_examples(examples: Examples, rows: Array, columns: Array) -> ChosenExamples:
    begins, ends = examples.begins[rows][:, columns], examples.ends[rows][:, columns]
    return ChosenExamples(examples, rows, columns, begins, ends, examples.goals[rows])


@dataclass(frozen=True, eq=False)
class Substrings:
    """Substrings as arrays: their begins and ends, and the paths from `kernels.example_splits`.

    >>> towns = examples_of({"name": ["Obama, Barack", "Bush, George"]}, ["Barack", "George"])
    >>> substrings = find_substrings(choose_examples(towns, np.arange(2), np.arange(1)))
    >>> for index in range(3):
    ...     print(substrings.texts(index), substrings.paths(index)[0].splits)
    ('obama, barack', 'bush, george') ()
    ('obama,', 'bush,') ((' ', 0),)
    ('barack', 'george') ((' ', 1),)
    """

    of: ChosenExamples
    firsts: Array
    lasts: Array
    path_rows: Array  # paths, one per row: see `kernels.example_splits`
    first_paths: Array  # position of the first path of each substring
    before: int = 0  # index of the first substring

    def __len__(self) -> int:
        return len(self.firsts)

    @cached_property
    def efforts(self) -> Array:
        """The effort of each substring's first path."""
        first = self.path_rows[self.first_paths]
        split, again = first[:, 3], first[:, 6]
        return np.asarray((split != 0) + 0.5 * (split < 0) + 1.0 * (again != 0))

    def texts(self, index: int) -> Texts:
        ends = zip(self.firsts[index].tolist(), self.lasts[index].tolist(), strict=True)
        return tuple(self.of.examples.texts[first:last] for first, last in ends)

    def paths(self, index: int) -> tuple[SubstringPath, ...]:
        """The paths to a substring, simplest first."""
        rows = self.path_rows[self.path_rows[:, 0] == index + self.before]
        return tuple(self._path(row) for row in rows.tolist())

    def first_path(self, index: int) -> SubstringPath:
        return self._path(self.path_rows[self.first_paths[index]].tolist())

    def _path(self, row: list[int]) -> SubstringPath:
        _, column, *numbers = row
        splits = (self._split(*numbers[:3]), self._split(*numbers[3:]))
        name = self.of.examples.columns[self.of.columns[column]]
        return SubstringPath(name, tuple(split for split in splits if split))

    def _split(self, separator: int, length: int, part: int) -> Split | None:
        if length < 0:
            return _RUNS[-1 - length], part
        text = self.of.examples.texts[separator : separator + length]
        return (text, part) if length else None


_RUNS = (Runs.DIGITS, Runs.LETTERS, Runs.WORDS)  # as `kernels.example_splits` numbers them


def find_substrings(few: ChosenExamples) -> Substrings:
    """The substrings after at most one split, non-empty in every example."""
    examples = few.examples
    arrays = split_once(examples.chars, examples.alnum, few.begins, few.ends)
    return Substrings(few, *arrays)


def find_deeper_substrings(few: ChosenExamples, firsts: Array, lasts: Array) -> Substrings:
    """The further substrings after two splits."""
    examples = few.examples
    arrays = split_twice(examples.chars, examples.alnum, few.begins, few.ends, firsts, lasts)
    return Substrings(few, *arrays, before=len(firsts))


_ASCII = np.array([*(chr(c).isalnum() for c in range(128)), False])


@dataclass(frozen=True, eq=False)
class Examples:
    """The texts of each example's columns, and its target.

    >>> examples = examples_of({"name": ["Ulm", None]}, ["ulm (D)", "Bern (CH)"])
    >>> examples.texts, examples.begins.tolist(), examples.goals.tolist()
    ('ulmulm (d)bern (ch)', [[0], [3]], [[3, 10], [10, 19]])
    """

    columns: tuple[str, ...]
    targets: Sequence[str]
    texts: str  # all, concatenated
    chars: Array
    alnum: Array  # whether each is a letter or a digit
    begins: Array  # of each row's columns; a missing text is empty
    ends: Array
    goals: Array  # begin and end of each row's target

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The texts as kernels take them."""
        return self.chars, self.begins, self.ends, self.goals


def examples_of(columns: dict[str, list[str | None]], targets: Sequence[str]) -> Examples:
    """Examples from columns with one text per target."""
    lower = {name: [fold_case(text or "") for text in texts] for name, texts in columns.items()}
    return build_examples(lower, [fold_case(target) for target in targets], targets)


def build_examples(
    columns: dict[str, list[str]], goals: list[str], targets: Sequence[str]
) -> Examples:
    """Examples from texts that are already folded; missing ones are empty."""
    parts = [text for column in columns.values() for text in column]
    parts += goals
    ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
    begins = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    texts = "".join(parts)
    chars = np.frombuffer(texts.encode("utf-32-le", "surrogatepass"), np.uint32)
    rows = len(targets)
    shape = len(columns), rows
    return Examples(
        tuple(columns),
        targets,
        texts,
        chars,
        _alnum(texts, chars),
        np.ascontiguousarray(begins[: len(parts) - rows].reshape(shape).T),
        np.ascontiguousarray(ends[: len(parts) - rows].reshape(shape).T),
        np.stack((begins, ends), axis=1)[len(parts) - rows :],
    )


def fold_case(text: str) -> str:
    """The text in lower case, with every character at its position.

    >>> fold_case("İstanbul"), fold_case("ÉCOLE")
    ('İstanbul', 'école')
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _alnum(texts: str, chars: Array) -> Array:
    alnum = _ASCII[np.minimum(chars, 128)]
    if not texts.isascii():
        others = [ord(c) for c in set(texts) if c > "\x7f" and c.isalnum()]
        alnum |= np.isin(chars, np.array(others, np.uint32))
    return np.asarray(alnum)
