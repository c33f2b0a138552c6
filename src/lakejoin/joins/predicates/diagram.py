"""Key relations as the text of a Mermaid or Graphviz diagram."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lakejoin.joins.predicates.key_relations import Relation

_LOOK_ALIKES = str.maketrans({'"': "'", "\\": "/", "%": "\N{FULLWIDTH PERCENT SIGN}"})

Diagram = Callable[[Sequence[str], Sequence[Relation]], str]


def mermaid(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """An entity-relationship diagram for Mermaid, including tables without a relation.

    >>> relation = Relation("b", ("a_id",), "a", ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(mermaid(["a", "b"], [relation]))
    erDiagram
        t1["a"]
        t2["b"]
        t2 }o--|| t1 : "a_id = id"
    """
    node = {name: f"t{number}" for number, name in enumerate(tables, start=1)}
    lines = ["erDiagram", *(f'    {node[name]}["{_for_mermaid(name)}"]' for name in tables)]
    for relation in relations:
        many = "|o" if relation.rows == relation.values else "}o"
        ends = f"{node[relation.table]} {many}--|| {node[relation.key_table]}"
        lines.append(f'    {ends} : "{_for_mermaid(_equalities(relation))}"')
    return "\n".join(lines)


def graphviz(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """A directed graph for Graphviz, with arrows to the keys.

    >>> relation = Relation("b", ("a_id",), 'a "x"', ("id",), 3, 2, 0, 2, 0.9, "")
    >>> print(graphviz(['a "x"', "b"], [relation]))
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
    for relation in relations:
        ends = f"{_for_graphviz(relation.table)} -> {_for_graphviz(relation.key_table)}"
        lines.append(f"    {ends} [label={_for_graphviz(_equalities(relation))}];")
    return "\n".join([*lines, "}"])


DIAGRAMS: dict[str, Diagram] = {"mermaid": mermaid, "graphviz": graphviz}


def _equalities(relation: Relation) -> str:
    pairs = zip(relation.columns, relation.key_columns, strict=True)
    return ", ".join(f"{column} = {key}" for column, key in pairs)


def _for_mermaid(text: str) -> str:
    """A text for double quotes. Mermaid allows no double quote, backslash or percent sign in names
    and has no escape for them: they are replaced by look-alikes."""
    return _on_one_line(text).translate(_LOOK_ALIKES) or " "


def _for_graphviz(text: str) -> str:
    escaped = _on_one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _on_one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
