"""The job that exports a chain as code: a Python script, a notebook, DuckDB SQL or PySpark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakejoin.codegen.sql_query import SqlQuery, SqlTable, indent, name_query
from lakejoin.engines.query import find_origin
from lakejoin.quoting import quote_backticks, quote_identifier
from lakejoin.server.api_problems import Problem
from lakejoin.server.jobs.join_jobs import MATCH_OPTIONS, Job, JoinRequest, Json, compute_join
from lakejoin.server.sql.statement_runner import TargetType
from lakejoin.server.workspace import ServedLakeTable, ServedTable

if TYPE_CHECKING:
    from lakejoin.joins.join import Join

_ARGUMENTS = ("on", "how", "by")


@dataclass(frozen=True, slots=True)
class ChainSource:
    """A table that is read, and its name in the code."""

    alias: str
    table: ServedTable

    @property
    def in_lake(self) -> bool:
        """Whether it is a table in the lake, not an upload."""
        return isinstance(self.table, ServedLakeTable)


@dataclass(frozen=True, slots=True)
class ChainJoin:
    """A join step: its request, the right table and, if the code needs it, the join itself."""

    request: JoinRequest
    right: ChainSource
    join: Join | None


@dataclass(frozen=True, slots=True)
class ColumnCast:
    """A text column that is cast to a DuckDB type, and the expression; does it parse dates?"""

    column: str
    type: str
    sql: str
    parses_dates: bool = False


@dataclass(frozen=True, slots=True)
class ChainSql:
    """An SQL step over the previous table, with the casts of its text columns."""

    sql: str
    casts: tuple[ColumnCast, ...]


@dataclass(frozen=True, slots=True)
class ExportedChain:
    """A chain that is exported as code."""

    start: ChainSource
    steps: tuple[ChainJoin | ChainSql, ...]
    index: str

    @property
    def sources(self) -> list[ChainSource]:
        """All tables that are read."""
        joins = [step.right for step in self.steps if isinstance(step, ChainJoin)]
        return [self.start, *joins]


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


def _read_python(source: ChainSource, lake: str = "lake") -> str:
    name = source.table.name
    if source.in_lake:
        return f"{lake}.table({name!r})"
    file, mark, _ = name.partition("#")
    if not mark:
        return f"lakejoin.read({file!r})"
    return f"next(table for table in lakejoin.read({file!r}) if table.name == {name!r})"


def _join_lines(step: ChainJoin) -> Iterator[str]:
    arguments = ["table", _read_python(step.right), *_settings(step.request, _ARGUMENTS)]
    options = ", ".join(_settings(step.request, MATCH_OPTIONS))
    arguments += [f"options=lakejoin.MatchOptions({options})"] if options else []
    yield f"join = lakejoin.join({', '.join(arguments)})"
    yield "print(join)"
    if step.request.columns is None:
        yield "table = join.table()"
    else:
        yield f"columns = {list(step.request.columns)!r}"
        yield "table = join.table()"
        yield "table = table.select([name for name in table.column_names if name in columns])"


def _settings(request: JoinRequest, names: Sequence[str]) -> Iterator[str]:
    """The fields of a request as keyword arguments, without those that are the default."""
    plain = JoinRequest("", "")
    for name in names:
        value = getattr(request, name)
        if value != getattr(plain, name):
            yield f"{name}={list(value) if isinstance(value, tuple) else value!r}"


def _sql_lines(step: ChainSql) -> Iterator[str]:
    yield "con = duckdb.connect()"
    yield 'con.register("table_before", table)'
    view = f"CREATE VIEW result AS {_select_cast(step, 'table_before')}"
    yield f"con.execute({view!r})"
    yield f"sql = {_python_literal(step.sql)}"
    yield "table = con.execute(sql).to_arrow_table()"


def _select_cast(step: ChainSql, source: str) -> str:
    """A query for all columns of a table, with text columns cast.

    >>> cast = ColumnCast("n", "BIGINT", 'TRY_CAST("n" AS BIGINT)')
    >>> _select_cast(ChainSql("", (cast,)), "t")
    'SELECT * REPLACE (TRY_CAST("n" AS BIGINT) AS "n") FROM t'
    """
    columns = ", ".join(f"{cast.sql} AS {quote_identifier(cast.column)}" for cast in step.casts)
    return f"SELECT *{f' REPLACE ({columns})' if columns else ''} FROM {source}"


def _python_literal(sql: str) -> str:
    """A Python literal, over several lines if the text has them."""
    if "\n" in sql and '"""' not in sql and "\\" not in sql and not sql.endswith('"'):
        return f'"""\n{sql.strip()}\n"""'
    return repr(sql)


_SPARK_TYPES = {
    "BIGINT": "bigint",
    "HUGEINT": "decimal(38,0)",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BOOLEAN": "boolean",
}


def write_pyspark(chain: ExportedChain) -> tuple[str, list[str]]:
    """Write a script that ends with the last table of the chain as `table`; also returns notes."""
    from lakejoin.codegen.frame_code import write_pyspark as write_join
    from lakejoin.joins.code_plan import plan_join

    functions: list[str] = []
    lines = [f"table = {_read_spark(chain.start)}"]
    notes: list[str] = []
    for number, step in enumerate(chain.steps, 1):
        if isinstance(step, ChainJoin):
            assert step.join is not None, "the join itself writes its code"
            functions.append(write_join(plan_join(step.join), f"join_{number}").strip())
            lines.append(f"table = join_{number}(table, {_read_spark(step.right)})")
            if step.request.columns is not None:
                wanted = set(step.request.columns)
                columns = [
                    quote_backticks(name) for name in step.join.schema.names if name in wanted
                ]
                lines.append(f"table = table.select({', '.join(map(repr, columns))})")
        else:
            sql, sql_notes = _spark_sql(step)
            notes += sql_notes
            notes += [
                f"column {cast.column!r} stays text: Spark cannot parse its date format"
                for cast in step.casts
                if cast.parses_dates
            ]
            lines += _cast_lines(step)
            lines.append('table.createOrReplaceTempView("result")')
            lines.append(f"table = spark.sql({sql!r})")
    head = ["import lakejoin", "from pyspark.sql import SparkSession", "", *functions, ""]
    session = ["spark = SparkSession.builder.getOrCreate()"]
    if any(source.in_lake for source in chain.sources):
        session.append(f"lake = lakejoin.open({chain.index!r})")
    return "\n".join([*head, *session, *lines]) + "\n", notes


def _read_spark(source: ChainSource) -> str:
    return f"spark.createDataFrame({_read_python(source)}.to_arrow())"


def _cast_lines(step: ChainSql) -> list[str]:
    """Cast text columns of numbers or dates, as the SQL expects."""
    return [
        f"table = table.withColumn({cast.column!r}, "
        f"table[{quote_backticks(cast.column)!r}].cast({_SPARK_TYPES[cast.type]!r}))"
        for cast in step.casts
        if cast.type in _SPARK_TYPES and not cast.parses_dates
    ]


def _spark_sql(step: ChainSql) -> tuple[str, list[str]]:
    """Translate the statement to Spark SQL; also returns notes."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        text = sqlglot.transpile(step.sql, read="duckdb", write="spark", pretty=True)[0]
    except SqlglotError:
        return step.sql, [
            "the SQL could not be translated from DuckDB to Spark: check it before you run it"
        ]
    return text, ["the SQL was translated automatically from DuckDB to Spark: check it"]


def write_sql(chain: ExportedChain) -> str:
    """Write one query with a WITH clause for each source and step."""
    named: list[str] = []
    notes: list[str] = []
    for source in chain.sources:
        reader = _reader_function(source)
        if reader:
            named.append(_name_query(source.alias, f"SELECT * FROM {reader}"))
            notes.append(f"{source.alias} is {source.table.name}")
        else:
            reading = _read_python(source, f"lakejoin.open({chain.index!r})")
            notes.append(f"run first: con.register({source.alias!r}, {reading}.to_arrow())")
    before = chain.start.alias
    for number, step in enumerate(chain.steps, 1):
        name = f"step_{number}"
        if isinstance(step, ChainJoin):
            named += _join_clauses(name, before, step)
        else:
            named.append(_sql_clause(name, before, step))
        before = name
    last = SqlTable(quote_identifier(before))
    return SqlQuery(["*"], [last], named=named, comments=notes).statement() + "\n"


def _name_query(name: str, text: str) -> str:
    return name_query(quote_identifier(name), text)


def _join_clauses(name: str, before: str, step: ChainJoin) -> Iterator[str]:
    from lakejoin.codegen.join_sql import build_join_query
    from lakejoin.joins.code_plan import plan_join

    join = step.join
    assert join is not None, "the join itself writes its SQL"
    tables = (before, join.left), (step.right.alias, join.right)
    query = build_join_query(plan_join(join), *tables).text()
    if step.request.columns is None:
        yield _name_query(name, query)
        return
    joined = f"{name}_joined"
    columns = [name for name in join.schema.names if name in set(step.request.columns)]
    selected = ", ".join(map(quote_identifier, columns))
    yield _name_query(joined, query)
    yield _name_query(name, f"SELECT {selected} FROM {quote_identifier(joined)}")


def _sql_clause(name: str, before: str, step: ChainSql) -> str:
    """The statement in brackets, after a WITH clause that defines `result`."""
    view = name_query("result", _select_cast(step, quote_identifier(before)))
    statement = step.sql.strip().rstrip(";")
    return _name_query(name, f"WITH {view}\nFROM (\n{indent(statement)}\n)")


def _reader_function(source: ChainSource) -> str:
    """The DuckDB call that reads the file as lakejoin does; empty if there is none."""
    from lakejoin.codegen.file_join import reader_call

    table = source.table
    if not isinstance(table, ServedLakeTable):
        return ""
    lake = table.table
    names = list(table.column_names)
    origin = find_origin(lake.lakes, lake.entry)
    text_only = origin.format != "parquet"  # DuckDB gives its columns types; lakejoin reads text
    lowered = [name.lower() for name in names]
    return reader_call(origin, names) if text_only and len(set(lowered)) == len(names) else ""


def export_code(job: Job) -> Json:
    """Export a chain; returns the code, a file name and notes for the user."""
    target = job.fields["as"]
    chain = _chain(job, with_joins=target in ("sql", "pyspark"))
    notes = [
        f"{source.table.name} was uploaded: put the file next to the code before you run it"
        for source in chain.sources
        if not source.in_lake
    ]
    job.progress("writing the code")
    if target == "sql":
        return {"code": write_sql(chain), "filename": "chain.sql", "notes": notes}
    if target == "pyspark":
        text, spark_notes = write_pyspark(chain)
        return {"code": text, "filename": "chain_spark.py", "notes": notes + spark_notes}
    if target == "notebook":
        return {"code": write_notebook(chain), "filename": "chain.ipynb", "notes": notes}
    return {"code": write_script(chain), "filename": "chain.py", "notes": notes}


def _chain(job: Job, with_joins: bool) -> ExportedChain:
    workspace, tables = job.workspace, job.fields["tables"]
    start = ChainSource("start", workspace.open(tables[0]))
    steps: list[ChainJoin | ChainSql] = []
    for number, (left, step) in enumerate(zip(tables, job.fields["steps"], strict=False), 1):
        if step["kind"] == "sql":
            table = workspace.open(left)
            casts = infer_casts(table.read_rows(0, table.rows), table.info())
            steps.append(ChainSql(step["sql"], casts))
            continue
        request = JoinRequest.from_fields({**step, "left": left})
        right = ChainSource(f"table_{number}", workspace.open(request.right))
        join = compute_join(job, request) if with_joins else None
        if join is not None and not join:
            raise Problem("no_join", join.no_join)
        steps.append(ChainJoin(request, right, join))
    return ExportedChain(start, tuple(steps), workspace.index)


_DATES = ("DATE", "TIMESTAMP")


def infer_casts(rows: pa.Table, info: dict[str, Any]) -> tuple[ColumnCast, ...]:
    """The cast of each text column that contains only numbers, dates or booleans.

    >>> about = [{"type": "integer", "date_format": ""}, {"type": "text", "date_format": ""}]
    >>> infer_casts(pa.table({"n": ["1", None], "t": ["a", "b"]}), {"columns": about})
    (ColumnCast(column='n', type='BIGINT', sql='TRY_CAST("n" AS BIGINT)', parses_dates=False),)
    """
    import duckdb

    from lakejoin.server.sql.typed_view import cast_expression, define_view
    from lakejoin.values.plain_columns import is_text

    targets = {
        index: TargetType(str(column["type"]), column["date_format"])
        for index, column in enumerate(info["columns"])
    }
    with duckdb.connect() as connection:
        define_view(connection, rows, targets, None)
        described = {
            name: kind for name, kind, *_ in connection.execute("DESCRIBE result").fetchall()
        }
    casts = []
    for index, (name, kind) in enumerate(described.items()):
        if kind == "VARCHAR" or not is_text(rows.schema.field(index).type):
            continue
        if kind in _DATES and targets[index].date_format not in ("", "y-m-d"):
            sql = cast_expression(quote_identifier(name), kind, targets[index])
            casts.append(ColumnCast(name, kind, sql, parses_dates=True))
        else:
            casts.append(ColumnCast(name, kind, f"TRY_CAST({quote_identifier(name)} AS {kind})"))
    return tuple(casts)
