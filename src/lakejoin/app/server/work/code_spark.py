"""A chain as PySpark: native expressions, no Python in them."""

from __future__ import annotations

from lakejoin.app.server.work.written import JoinStep, Source, SqlStep, Written

_STRPTIME = "strptime("
_TYPES = {
    "BIGINT": "bigint",
    "HUGEINT": "decimal(38,0)",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BOOLEAN": "boolean",
}


def written(chain: Written) -> tuple[str, list[str]]:
    """A script that gives the last table of the chain as `table`; what should be known of it."""
    functions: list[str] = []
    lines = [f"table = {_read(chain.start)}"]
    notes: list[str] = []
    for number, step in enumerate(chain.steps, 1):
        if isinstance(step, JoinStep):
            assert step.join is not None, "the join itself writes its code"
            body = step.join.to_pyspark_code().strip()
            functions.append(body.replace("def join(", f"def join_{number}("))
            lines.append(f"table = join_{number}(table, {_read(step.right)})")
            if step.asked.columns is not None:
                kept = [one for one in step.join.schema.names if one in set(step.asked.columns)]
                lines.append(f"table = table.select({_ticked(kept)})")
        else:
            sql, said = _spark_sql(step)
            notes += said
            notes += [
                f"{name!r} holds dates that Spark does not read by itself, and stays text"
                for name in step.types
                if _STRPTIME in step.types[name]
            ]
            lines += _typed(step)
            lines.append('table.createOrReplaceTempView("result")')
            lines.append(f"table = spark.sql({sql!r})")
    head = ["import lakejoin", "from pyspark.sql import SparkSession", "", *functions, ""]
    session = ["spark = SparkSession.builder.getOrCreate()"]
    if any(source.in_lake for source in chain.sources):
        session.append(f"lake = lakejoin.open({chain.index!r})")
    return "\n".join([*head, *session, *lines]) + "\n", notes


def _read(source: Source) -> str:
    name = source.table.name
    table = f"lake.table({name!r})" if source.in_lake else f"lakejoin.read({name!r})"
    return f"spark.createDataFrame({table}.to_arrow())"


def _typed(step: SqlStep) -> list[str]:
    """Columns of text that are numbers or dates get such a type, as the SQL expects it."""
    lines = []
    for name, cast in step.types.items():
        if _STRPTIME in cast:
            continue
        kind = next((spark for duck, spark in _TYPES.items() if f"AS {duck})" in cast), None)
        if kind is not None:
            lines.append(
                f"table = table.withColumn({name!r}, table[{_tick(name)!r}].cast({kind!r}))"
            )
    return lines


def _spark_sql(step: SqlStep) -> tuple[str, list[str]]:
    """The statement as Spark writes it."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        text = sqlglot.transpile(step.sql, read="duckdb", write="spark", pretty=True)[0]
    except SqlglotError:
        return step.sql, [
            "a statement of SQL stands as DuckDB has it: Spark may write it otherwise"
        ]
    return text, ["SQL was turned from DuckDB's into Spark's by rules: look it over"]


def _ticked(names: list[str]) -> str:
    return ", ".join(repr(_tick(name)) for name in names)


def _tick(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
