"""Write a chain as PySpark with native expressions only."""

from __future__ import annotations

from lakejoin.server.jobs.written import ChainJoin, ChainSource, ChainSql, ExportedChain

_STRPTIME = "strptime("
_TYPES = {
    "BIGINT": "bigint",
    "HUGEINT": "decimal(38,0)",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "BOOLEAN": "boolean",
}


def write_pyspark(chain: ExportedChain) -> tuple[str, list[str]]:
    """Write a script that ends with the last table of the chain as `table`; also returns notes."""
    functions: list[str] = []
    lines = [f"table = {_read_spark(chain.start)}"]
    notes: list[str] = []
    for number, step in enumerate(chain.steps, 1):
        if isinstance(step, ChainJoin):
            assert step.join is not None, "the join itself writes its code"
            body = step.join.to_pyspark_code().strip()
            functions.append(body.replace("def join(", f"def join_{number}("))
            lines.append(f"table = join_{number}(table, {_read_spark(step.right)})")
            if step.asked.columns is not None:
                wanted = set(step.asked.columns)
                columns = [_tick(name) for name in step.join.schema.names if name in wanted]
                lines.append(f"table = table.select({', '.join(map(repr, columns))})")
        else:
            sql, sql_notes = _spark_sql(step)
            notes += sql_notes
            notes += [
                f"column {name!r} stays text: Spark cannot parse its date format"
                for name in step.types
                if _STRPTIME in step.types[name]
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
    name = source.table.name
    table = f"lake.table({name!r})" if source.in_lake else f"lakejoin.read({name!r})"
    return f"spark.createDataFrame({table}.to_arrow())"


def _cast_lines(step: ChainSql) -> list[str]:
    """Cast text columns of numbers or dates, as the SQL expects."""
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


def _tick(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
