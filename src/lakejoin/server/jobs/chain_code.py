"""Write a chain as a Python script, or as a notebook with a cell for each step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lakejoin.server.jobs.chain_steps import JoinRequest
from lakejoin.server.jobs.written import ChainJoin, ChainSource, ChainSql, ExportedChain

_DEFAULTS: dict[str, Any] = {
    "on": None,
    "how": "inner",
    "by": None,
    "within": None,
    "tau": None,
    "precision": 0.9,
    "one_to_one": False,
    "aggregate": (),
}


def write_script(chain: ExportedChain) -> str:
    """Write one script that ends with the last table of the chain as `table`."""
    return "\n\n".join("\n".join(cell) for cell in _cells(chain)) + "\n"


def write_notebook(chain: ExportedChain) -> str:
    """Write the same as a Jupyter notebook."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"step-{number}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": [f"{line}\n" for line in cell[:-1]] + cell[-1:],
        }
        for number, cell in enumerate([*_cells(chain), ["table.to_pandas()"]])
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _cells(chain: ExportedChain) -> Iterator[list[str]]:
    lines = ["import duckdb"] if any(isinstance(s, ChainSql) for s in chain.steps) else []
    lines.append("import lakejoin")
    if any(source.in_lake for source in chain.sources):
        lines += ["", f"lake = lakejoin.open({chain.index!r})"]
    yield lines
    yield [f"table = {_read_python(chain.start)}.to_arrow()"]
    for step in chain.steps:
        yield list(_join_lines(step)) if isinstance(step, ChainJoin) else list(_sql_lines(step))


def _read_python(source: ChainSource) -> str:
    name = source.table.name
    if source.in_lake:
        return f"lake.table({name!r})"
    file, mark, _ = name.partition("#")
    if not mark:
        return f"lakejoin.read({file!r})"
    return f"next(table for table in lakejoin.read({file!r}) if table.name == {name!r})"


def _join_lines(step: ChainJoin) -> Iterator[str]:
    options = "".join(f", {name}={value!r}" for name, value in _join_options(step.asked))
    yield f"join = lakejoin.join(table, {_read_python(step.right)}{options})"
    yield "print(join)"
    if step.asked.columns is None:
        yield "table = join.table()"
    else:
        yield f"columns = {list(step.asked.columns)!r}"
        yield "table = join.table()"
        yield "table = table.select([name for name in table.column_names if name in columns])"


def _join_options(request: JoinRequest) -> Iterator[tuple[str, Any]]:
    for name, default in _DEFAULTS.items():
        value = getattr(request, name)
        if value != default:
            yield name, list(value) if isinstance(value, tuple) else value


def _sql_lines(step: ChainSql) -> Iterator[str]:
    yield "con = duckdb.connect()"
    yield 'con.register("table_before", table)'
    view = f"CREATE VIEW result AS SELECT *{replace_clause(step.types)} FROM table_before"
    yield f"con.execute({view!r})"
    yield f"sql = {_python_literal(step.sql)}"
    yield "table = con.execute(sql).to_arrow_table()"


def replace_clause(types: dict[str, str]) -> str:
    """The clause after `*` that casts text columns.

    >>> replace_clause({"n": 'TRY_CAST("n" AS BIGINT)'})
    ' REPLACE (TRY_CAST("n" AS BIGINT) AS "n")'
    """
    if not types:
        return ""
    casts = [f"{cast} AS {quote_sql_name(name)}" for name, cast in types.items()]
    return f" REPLACE ({', '.join(casts)})"


def quote_sql_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _python_literal(sql: str) -> str:
    """A Python literal, over several lines if the text has them."""
    if "\n" in sql and '"""' not in sql and "\\" not in sql and not sql.endswith('"'):
        return f'"""\n{sql.strip()}\n"""'
    return repr(sql)
