"""Write a chain as one DuckDB query."""

from __future__ import annotations

from collections.abc import Iterator

from lakejoin.server.workspace import ServedLakeTable
from lakejoin.server.jobs.chain_code import quote_sql_name, replace_clause
from lakejoin.server.jobs.written import ChainJoin, ChainSource, ChainSql, ExportedChain


def write_sql(chain: ExportedChain) -> str:
    """Write one query with a WITH clause for each source and step."""
    ctes: list[tuple[str, str]] = []
    notes: list[str] = []
    for source in chain.sources:
        reader = _reader_function(source)
        if reader:
            ctes.append((source.called, f"SELECT * FROM {reader}"))
            notes.append(f"{source.called} is {source.table.name}")
        else:
            notes.append(f"run first: con.register({source.called!r}, {_arrow_source(source)})")
    before = chain.start.called
    for number, step in enumerate(chain.steps, 1):
        name = f"step_{number}"
        if isinstance(step, ChainJoin):
            ctes += _join_clauses(name, before, step)
        else:
            ctes += _sql_clauses(name, before, step)
        before = name
    comments = "".join(f"-- {_line(note)}\n" for note in notes)
    if not ctes:
        return f"{comments}SELECT * FROM {quote_sql_name(before)};\n"
    clauses = ",\n".join(f"{quote_sql_name(name)} AS (\n{_indented(body)}\n)" for name, body in ctes)
    return f"{comments}WITH {clauses}\nSELECT * FROM {quote_sql_name(before)};\n"


def _join_clauses(name: str, before: str, step: ChainJoin) -> Iterator[tuple[str, str]]:
    assert step.join is not None, "the join itself writes its SQL"
    whole = step.join.to_sql(before, step.right.called).strip().removesuffix(";")
    if step.asked.columns is None:
        yield name, whole
        return
    columns = [name for name in step.join.schema.names if name in set(step.asked.columns)]
    yield f"{name}_joined", whole
    yield name, f"SELECT {', '.join(map(quote_sql_name, columns))} FROM {quoted(f'{name}_joined')}"


def _sql_clauses(name: str, before: str, step: ChainSql) -> Iterator[tuple[str, str]]:
    """The statement in brackets, after a WITH clause that defines `result`."""
    view = f"SELECT *{replace_clause(step.types)} FROM {quote_sql_name(before)}"
    statement = step.sql.strip().rstrip(";")
    yield name, f"WITH result AS (\n{_indented(view)}\n)\nFROM (\n{_indented(statement)}\n)"


def _reader_function(source: ChainSource) -> str:
    """The DuckDB call that reads the file as lakejoin does; empty if there is none."""
    from lakejoin.engines.origins import find_origin
    from lakejoin.codegen.result_sql import reader_call

    table = source.table
    if not isinstance(table, ServedLakeTable):
        return ""
    lake = table.table
    names = list(table.column_names)
    origin = find_origin(lake.lakes, lake.entry)
    text_only = origin.format != "parquet"  # DuckDB gives its columns types; lakejoin reads text
    lowered = [name.lower() for name in names]
    return reader_call(origin, names) if text_only and len(set(lowered)) == len(names) else ""


def _arrow_source(source: ChainSource) -> str:
    name = source.table.name
    if source.in_lake:
        return f"lakejoin.open({source.index!r}).table({name!r}).to_arrow()"
    return f"lakejoin.read({name!r}).to_arrow()"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())
