"""A chain as a Python script, or as a notebook with a cell for each step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lakejoin.app.server.work.joined import JoinAsked
from lakejoin.app.server.work.written import JoinStep, Source, SqlStep, Written

_LEFT_OUT: dict[str, Any] = {
    "on": None,
    "how": "inner",
    "by": None,
    "within": None,
    "tau": None,
    "precision": 0.9,
    "one_to_one": False,
    "aggregate": (),
}


def written(chain: Written) -> str:
    """One script that gives the last table of the chain as `table`."""
    return "\n\n".join("\n".join(cell) for cell in _cells(chain)) + "\n"


def notebook(chain: Written) -> str:
    """The same as a Jupyter notebook."""
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


def _cells(chain: Written) -> Iterator[list[str]]:
    lines = ["import duckdb"] if any(isinstance(s, SqlStep) for s in chain.steps) else []
    lines.append("import lakejoin")
    if any(source.in_lake for source in chain.sources):
        lines += ["", f"lake = lakejoin.open({chain.index!r})"]
    yield lines
    yield [f"table = {_read(chain.start)}.to_arrow()"]
    for step in chain.steps:
        yield list(_joined(step)) if isinstance(step, JoinStep) else list(_by_sql(step))


def _read(source: Source) -> str:
    name = source.table.name
    if source.in_lake:
        return f"lake.table({name!r})"
    file, mark, _ = name.partition("#")
    if not mark:
        return f"lakejoin.read({file!r})"
    return f"next(one for one in lakejoin.read({file!r}) if one.name == {name!r})"


def _joined(step: JoinStep) -> Iterator[str]:
    options = "".join(f", {name}={value!r}" for name, value in _options(step.asked))
    yield f"join = lakejoin.join(table, {_read(step.right)}{options})"
    yield "print(join)"
    if step.asked.columns is None:
        yield "table = join.table()"
    else:
        yield f"columns = {list(step.asked.columns)!r}"
        yield "table = join.table()"
        yield "table = table.select([name for name in table.column_names if name in columns])"


def _options(asked: JoinAsked) -> Iterator[tuple[str, Any]]:
    for name, usual in _LEFT_OUT.items():
        value = getattr(asked, name)
        if value != usual:
            yield name, list(value) if isinstance(value, tuple) else value


def _by_sql(step: SqlStep) -> Iterator[str]:
    yield "con = duckdb.connect()"
    yield 'con.register("table_before", table)'
    view = f"CREATE VIEW result AS SELECT *{replaced(step.types)} FROM table_before"
    yield f"con.execute({view!r})"
    yield f"sql = {_text(step.sql)}"
    yield "table = con.execute(sql).to_arrow_table()"


def replaced(types: dict[str, str]) -> str:
    """What gives columns of text their types, behind a `*`.

    >>> replaced({"n": 'TRY_CAST("n" AS BIGINT)'})
    ' REPLACE (TRY_CAST("n" AS BIGINT) AS "n")'
    """
    if not types:
        return ""
    casts = [f"{cast} AS {quoted(name)}" for name, cast in types.items()]
    return f" REPLACE ({', '.join(casts)})"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _text(sql: str) -> str:
    """A text over several lines, as Python has it."""
    if "\n" in sql and '"""' not in sql and "\\" not in sql and not sql.endswith('"'):
        return f'"""\n{sql.strip()}\n"""'
    return repr(sql)
