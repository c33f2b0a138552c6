"""Key relations as a diagram, in text that Mermaid or Graphviz draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakejoin.joins.predicates.relations import Relation

_LOOKS_LIKE = str.maketrans({'"': "'", "\\": "/", "%": "\N{FULLWIDTH PERCENT SIGN}"})

Diagram = Callable[[Sequence[str], Sequence[Relation]], str]


def mermaid(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """An entity-relationship diagram for Mermaid; tables without a relation stand alone.

    >>> one = Relation("b", ("a_id",), "a", ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(mermaid(["a", "b"], [one]))
    erDiagram
        t1["a"]
        t2["b"]
        t2 }o--|| t1 : "a_id = id"
    """
    number = {name: f"t{place}" for place, name in enumerate(tables, start=1)}
    lines = ["erDiagram", *(f'    {number[name]}["{_for_mermaid(name)}"]' for name in tables)]
    for one in relations:
        many = "|o" if one.rows == one.values else "}o"
        ends = f"{number[one.table]} {many}--|| {number[one.key_table]}"
        lines.append(f'    {ends} : "{_for_mermaid(_equalities(one))}"')
    return "\n".join(lines)


def graphviz(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """A directed graph for Graphviz: from what refers to the key.

    >>> one = Relation("b", ("a_id",), 'a "x"', ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(graphviz(['a "x"', "b"], [one]))
    digraph relations {
        rankdir=LR;
        node [shape=box];
        "a \\"x\\"";
        "b";
        "b" -> "a \\"x\\"" [label="a_id = id"];
    }
    """
    lines = ["digraph relations {", "    rankdir=LR;", "    node [shape=box];"]
    lines += [f"    {_for_graphviz(name)};" for name in tables]
    for one in relations:
        ends = f"{_for_graphviz(one.table)} -> {_for_graphviz(one.key_table)}"
        lines.append(f"    {ends} [label={_for_graphviz(_equalities(one))}];")
    return "\n".join([*lines, "}"])


DIAGRAMS: dict[str, Diagram] = {"mermaid": mermaid, "graphviz": graphviz}


def _equalities(one: Relation) -> str:
    pairs = zip(one.columns, one.key_columns, strict=True)
    return ", ".join(f"{mine} = {theirs}" for mine, theirs in pairs)


def _for_mermaid(text: str) -> str:
    """A text between double quotes. In names Mermaid takes no double quote, backslash or percent
    sign, and has no escape for them: what looks like them takes their place."""
    return _on_one_line(text).translate(_LOOKS_LIKE) or " "


def _for_graphviz(text: str) -> str:
    escaped = _on_one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _on_one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
