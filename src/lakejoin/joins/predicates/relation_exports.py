"""Key relations for other tools: dbt sources with tests, DBML, and edges as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

from lakejoin.joins.predicates.key_relations import Relation

Export = Callable[[Sequence[str], Sequence[Relation]], str]
_SOURCE = "lake"


def to_dbt(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """A `sources.yml` of dbt: each key is unique and complete, and each column that refers to one
    has a `relationships` test. dbt has no such test for several columns: these are comments.

    >>> print(to_dbt(["films"], []))
    version: 2
    sources:
      - name: "lake"
        tables:
          - name: "films"
    """
    lines = ["version: 2", "sources:", f"  - name: {_text(_SOURCE)}", "    tables:"]
    for table in tables:
        lines.append(f"      - name: {_text(table)}")
        tests: dict[str, list[str]] = {}
        for relation in relations:
            if len(relation.columns) > 1:
                if relation.table == table:
                    mine, theirs = ", ".join(relation.columns), ", ".join(relation.key_columns)
                    note = f"{mine} -> {relation.key_table} ({theirs})"
                    lines.append(f"        # {' '.join(note.split())}")
                continue
            if relation.key_table == table:
                known = tests.setdefault(relation.key_columns[0], [])
                known += [line for line in ("- unique", "- not_null") if line not in known]
            if relation.table == table:
                to = f"source({_name(_SOURCE)}, {_name(relation.key_table)})"
                tests.setdefault(relation.columns[0], []).extend(
                    [
                        "- relationships:",
                        f"    to: {_text(to)}",
                        f"    field: {_text(relation.key_columns[0])}",
                    ]
                )
        if tests:
            lines.append("        columns:")
        for column, texts in tests.items():
            lines += [f"          - name: {_text(column)}", "            tests:"]
            lines += [f"              {text}" for text in texts]
    return "\n".join(lines)


def _text(value: str) -> str:
    """Quote a text for YAML, which takes JSON's form."""
    return json.dumps(value, ensure_ascii=False)


def _name(value: str) -> str:
    """A text in a call that dbt evaluates."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def to_dbml(tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """The tables with the columns of their keys, and the references, as DBML.

    >>> to_dbml(["films"], []).splitlines()
    ['Table "films" {', '}']
    """
    lines: list[str] = []
    for table in tables:
        columns = dict.fromkeys(
            column
            for relation in relations
            for name, columns in (
                (relation.key_table, relation.key_columns),
                (relation.table, relation.columns),
            )
            if name == table
            for column in columns
        )
        lines += [f"Table {_quoted(table)} {{"]
        lines += [f"  {_quoted(column)} text" for column in columns]
        lines += ["}"]
    for relation in relations:
        mine = _side(relation.table, relation.columns)
        lines.append(f"Ref: {mine} > {_side(relation.key_table, relation.key_columns)}")
    return "\n".join(lines)


def _side(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(map(_quoted, columns))
    return f"{_quoted(table)}.{names if len(columns) == 1 else f'({names})'}"


def _quoted(name: str) -> str:
    """A name of DBML, which has no escape for a quote."""
    return '"' + " ".join(name.split()).replace('"', "'") + '"'


def to_csv(_tables: Sequence[str], relations: Sequence[Relation]) -> str:
    """One line for each pair of columns; the pairs of a composite key have one number.

    >>> to_csv([], [])
    'relation,table,column,key_table,key_column,score'
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["relation", "table", "column", "key_table", "key_column", "score"])
    for number, relation in enumerate(relations, start=1):
        for column, key in zip(relation.columns, relation.key_columns, strict=True):
            score = round(relation.score, 4)
            writer.writerow([number, relation.table, column, relation.key_table, key, score])
    return out.getvalue().removesuffix("\n")


EXPORTS: dict[str, Export] = {"dbt": to_dbt, "dbml": to_dbml, "csv": to_csv}
