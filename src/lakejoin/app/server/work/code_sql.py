"""A chain as one query that DuckDB runs."""

from __future__ import annotations

from collections.abc import Iterator

from lakejoin.app.server.tables import OfLake
from lakejoin.app.server.work.code_python import quoted, replaced
from lakejoin.app.server.work.written import JoinStep, Source, SqlStep, Written


def written(chain: Written) -> str:
    """A `WITH` of all sources and steps, and what is chosen of the last."""
    parts: list[tuple[str, str]] = []
    notes: list[str] = []
    for source in chain.sources:
        reader = _reader(source)
        if reader:
            parts.append((source.called, f"SELECT * FROM {reader}"))
            notes.append(f"{source.called} is {source.table.name}")
        else:
            notes.append(f"first: con.register({source.called!r}, {_registered(source)})")
    before = chain.start.called
    for number, step in enumerate(chain.steps, 1):
        name = f"step_{number}"
        if isinstance(step, JoinStep):
            parts += _joined(name, before, step)
        else:
            parts += _by_sql(name, before, step)
        before = name
    comments = "".join(f"-- {_line(note)}\n" for note in notes)
    if not parts:
        return f"{comments}SELECT * FROM {quoted(before)};\n"
    listed = ",\n".join(f"{quoted(name)} AS (\n{_indented(body)}\n)" for name, body in parts)
    return f"{comments}WITH {listed}\nSELECT * FROM {quoted(before)};\n"


def _joined(name: str, before: str, step: JoinStep) -> Iterator[tuple[str, str]]:
    assert step.join is not None, "the join itself writes its SQL"
    whole = step.join.to_sql(before, step.right.called).strip().removesuffix(";")
    if step.asked.columns is None:
        yield name, whole
        return
    kept = [one for one in step.join.schema.names if one in set(step.asked.columns)]
    yield f"{name}_joined", whole
    yield name, f"SELECT {', '.join(map(quoted, kept))} FROM {quoted(f'{name}_joined')}"


def _by_sql(name: str, before: str, step: SqlStep) -> Iterator[tuple[str, str]]:
    """The statement stands in brackets, with what it calls `result` beside it."""
    view = f"SELECT *{replaced(step.types)} FROM {quoted(before)}"
    statement = step.sql.strip().rstrip(";")
    yield name, f"WITH result AS (\n{_indented(view)}\n)\nFROM (\n{_indented(statement)}\n)"


def _reader(source: Source) -> str:
    """The table function that reads its file as we do, if there is one."""
    from lakejoin.search.origins import origin_of
    from lakejoin.search.sql import reader_of

    table = source.table
    if not isinstance(table, OfLake):
        return ""
    lake = table.table
    names = list(table.column_names)
    origin = origin_of(lake.lakes, lake.entry)
    text_only = origin.format != "parquet"  # whose columns have types, where ours are texts
    lowered = [name.lower() for name in names]
    return reader_of(origin, names) if text_only and len(set(lowered)) == len(names) else ""


def _registered(source: Source) -> str:
    name = source.table.name
    if source.in_lake:
        return f"lakejoin.open({source.index!r}).table({name!r}).to_arrow()"
    return f"lakejoin.read({name!r}).to_arrow()"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())
