"""Commands and code to paste: what a person takes away of a join."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakejoin.discovery.fused.ways import Way
    from lakejoin.joins.join import Join
    from lakejoin.joins.predicates.described import JoinPredicate

CODES = ("sql", "standard-sql", "pandas", "polars", "pyspark")


def code_of(join: Join | JoinPredicate, code: str, names: Sequence[str]) -> str:
    """The join as code, with how the tables are read."""
    reads = [_reading(name) for name in names]
    if code == "sql":
        two = ("left_table", "right_table")
        sides = two if len(names) == 2 else [f"table_{n}" for n in range(1, len(names) + 1)]
        given = zip(sides, reads, strict=True)
        lines = [f"-- con.register('{side}', {read}.to_arrow())" for side, read in given]
        return "\n".join([*lines, join.to_sql()])
    if code == "standard-sql":
        return join.to_sql(dialect="standard")
    writers = {
        "pandas": (join.to_pandas_code, "{}.to_pandas()"),
        "polars": (join.to_polars_code, "{}.to_polars()"),
        "pyspark": (join.to_pyspark_code, "spark.createDataFrame({}.to_arrow())"),
    }
    write, frame = writers[code]
    frames = ", ".join(frame.format(read) for read in reads)
    return f"{write()}\n\n# joined = join({frames})"


def _reading(name: str) -> str:
    """How a table is read in Python."""
    from lakejoin.lake.read import file_and_part

    path, part = file_and_part(name)
    if not path:
        return f"lakejoin.open().table({name!r})"
    if not part:
        return f"lakejoin.read({path!r})"
    return f"next(t for t in lakejoin.read({path!r}) if t.name.endswith({'#' + part!r}))"


def join_line(left: str, right: str, options: Sequence[str], index: str | None) -> str:
    """A command that joins two tables, quoted for a shell.

    >>> join_line("my table.csv", "b.csv", ["--on", "a=b c"], None)
    "lakejoin join 'my table.csv' b.csv --on 'a=b c'"
    >>> join_line("-x.csv", "b.csv", ["--on", "a"], "here")
    'lakejoin join --on a --index here -- -x.csv b.csv'
    """
    rest = [*options, *(["--index", index] if index else [])]
    dashed = left.startswith("-") or right.startswith("-")
    words = [*rest, "--", left, right] if dashed else [left, right, *rest]
    return "lakejoin join " + " ".join(map(shell_word, words))


def on_words(
    pairs: Sequence[tuple[str, str]], left: Sequence[str], right: Sequence[str]
) -> list[str]:
    """The options that name pairs of columns; by their places where names would be misread.

    >>> on_words([("a", "c"), ("a=b", "b=c")], ["a", "a=b"], ["b", "b=c", "c"])
    ['--on', 'a=c', '--on', '1=1']
    """
    words = []
    for mine, theirs in pairs:
        text = f"{mine}={theirs}"
        words += [
            "--on",
            text if _is_plain(text, left, right) else _places(mine, theirs, left, right),
        ]
    return words


@dataclass(frozen=True, slots=True)
class JoinOptions:
    """What `lakejoin join` must be told to join by a way that a search found."""

    on: tuple[str, ...] = ()
    by: str | None = None
    within: str | None = None

    def words(self) -> list[str]:
        """As options of the command.

        >>> JoinOptions(("a=b",), "nearest", "5km").words()
        ['--on', 'a=b', '--by', 'nearest', '--within', '5km']
        """
        named = [word for pair in self.on for word in ("--on", pair)]
        named += ["--by", self.by] if self.by else []
        return [*named, *(["--within", self.within] if self.within else [])]


def join_options(way: Way) -> JoinOptions:
    """How the join by a way is asked for; where pairs of columns cannot say it, the join finds out
    by itself."""
    paired = len(way.columns) == len(way.result.columns)
    if way.kind == "near" and paired:
        return JoinOptions(
            _pairs(way), "nearest", way.how.rpartition("within ")[2].replace(" ", "")
        )
    if way.kind == "rewritten":
        return JoinOptions(_pairs(way) if paired else (), "transform")
    if way.kind == "meaning":
        return JoinOptions(_pairs(way), "meaning")
    return JoinOptions(_pairs(way)) if paired else JoinOptions(by="auto")


def _pairs(way: Way) -> tuple[str, ...]:
    """Its columns as `--on` takes them; places where names would be misread."""
    found = way.result.found
    assert found is not None, "a result of a search has its place"
    entry = found.entry
    theirs = found.segment.catalog.columns["name"].slice(entry.first, entry.width).to_pylist()
    pairs = []
    for part, pair in enumerate(zip(way.columns, way.result.columns, strict=True)):
        plain = "=" not in "".join(pair) and theirs.count(pair[1]) == 1
        plain = plain and list(found.mine.names).count(pair[0]) == 1
        words = pair if plain else (str(found.places[part]), str(found.place(part)))
        pairs.append("=".join(words))
    return tuple(pairs)


def _is_plain(text: str, left: Sequence[str], right: Sequence[str]) -> bool:
    return text.count("=") == 1 and text not in left and text not in right


def _places(mine: str, theirs: str, left: Sequence[str], right: Sequence[str]) -> str:
    return f"{left.index(mine)}={right.index(theirs)}"


def shell_word(text: str) -> str:
    r"""A word for a shell to read; what would do something to the screen is written out.

    >>> print(shell_word("a b"), shell_word("a\tb"))
    'a b' $'a\x09b'
    """
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_written_out, text)) + "'"


def _written_out(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return (
        f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
