"""Export the join graph to Parquet and GraphML."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.graph.graph_elements import Edges, concat_edges
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.graph.join_graph import JoinGraph

Batches = Callable[[], Iterator[Edges]]

_ROWS_AT_ONCE = 1 << 17  # tables or edges written together
_FORBIDDEN = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\ufffe\uffff]"
_KEYS = (
    ("name", "node", "string"),
    ("rows", "node", "long"),
    ("column", "edge", "string"),
    ("other_column", "edge", "string"),
    ("shared", "edge", "long"),
    ("containment", "edge", "double"),
)


def edges_to_arrow(graph: JoinGraph, edges: Edges) -> pa.Table:
    """Edges with the names of their tables and columns."""
    import pyarrow as pa

    nodes = graph.nodes
    return pa.table(
        {
            "table": nodes.table_names(nodes.tables_of(edges.source)),
            "column": nodes.column_names(edges.source),
            "other_table": nodes.table_names(nodes.tables_of(edges.target)),
            "other_column": nodes.column_names(edges.target),
            "shared": pa.array(edges.shared, pa.int64()),
            "containment": pa.array(edges.share, pa.float64()),
        }
    )


def export_graph(
    graph: JoinGraph, path: str | os.PathLike[str], min: float | None, numbers: bool
) -> int:
    """Write edges to a file, in the format its name ends with; leaves no half-written file."""
    whole = Path(path)
    check_export(whole)
    write = _WRITERS[whole.suffix.lower()]
    draft = whole.with_name(f"{whole.name}.{os.getpid()}.draft")
    try:
        written = write(graph, lambda: graph.batches(min, numbers), draft)
        draft.replace(whole)
    except OSError as problem:
        raise InputError(f"cannot write {whole}: {problem.strerror or problem}") from None
    finally:
        draft.unlink(missing_ok=True)
    return written


def check_export(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written, before any work is done for it."""
    whole = Path(path)
    if whole.suffix.lower() not in _WRITERS:
        raise InputError(f"cannot export to {whole}: its name must end in .parquet or .graphml")
    check_writable(whole)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise if the folder of a file does not exist, or if the file is a folder."""
    whole = Path(path)
    if not whole.parent.is_dir():
        raise InputError(f"cannot write {whole}: folder {whole.parent} does not exist")
    if whole.is_dir():
        raise InputError(f"cannot write {whole}: it is a folder")


def _parquet(graph: JoinGraph, batches: Batches, path: Path) -> int:
    import pyarrow.parquet as pq

    written = 0
    with pq.ParquetWriter(path, edges_to_arrow(graph, concat_edges([])).schema) as out:
        for edges in batches():
            out.write_table(edges_to_arrow(graph, edges))
            written += len(edges)
    return written


def _graphml(graph: JoinGraph, batches: Batches, path: Path) -> int:
    """A node for every table that joins, an edge for every column that another one contains."""
    nodes = graph.nodes
    joined = np.zeros(nodes.tables, dtype=bool)
    for edges in batches():
        joined[nodes.tables_of(edges.source)] = True
        joined[nodes.tables_of(edges.target)] = True
    tables = np.flatnonzero(joined)
    written = 0
    with path.open("wb") as out:
        out.write(b'<?xml version="1.0" encoding="UTF-8"?>\n')
        out.write(b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, of, kind in _KEYS:
            key = f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n'
            out.write(key.encode())
        out.write(b'<graph edgedefault="directed">\n')
        for begin in range(0, len(tables), _ROWS_AT_ONCE):
            batch = tables[begin : begin + _ROWS_AT_ONCE]
            data = {"name": nodes.table_names(batch), "rows": nodes.rows(batch)}
            out.write(_elements("node", {"id": batch}, data))
        for edges in batches():
            for begin in range(0, len(edges), _ROWS_AT_ONCE):
                some = edges.take(np.arange(begin, min(begin + _ROWS_AT_ONCE, len(edges))))
                ends = {
                    "source": nodes.tables_of(some.source),
                    "target": nodes.tables_of(some.target),
                }
                table = edges_to_arrow(graph, some)
                data = {key: table[key] for key, of, _ in _KEYS if of == "edge"}
                out.write(_elements("edge", ends, data))
            written += len(edges)
        out.write(b"</graph>\n</graphml>\n")
    return written


_WRITERS = {".parquet": _parquet, ".graphml": _graphml}


def _elements(kind: str, tables: Mapping[str, Array], data: Mapping[str, Any]) -> bytes:
    """Nodes or edges as lines of XML, by whole columns at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts: list[Any] = [f"<{kind}"]
    for name, indexes in tables.items():
        parts += [f' {name}="t', pa.array(indexes).cast(pa.large_string()), '"']
    parts.append(">")
    for key, values in data.items():
        texts = (values if isinstance(values, pa.ChunkedArray) else pa.array(values)).cast(
            pa.large_string()
        )
        texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        parts += [f'<data key="{key}">', escape_xml(texts), "</data>"]
    parts.append(f"</{kind}>\n")
    scalars = [pa.scalar(p, pa.large_string()) if isinstance(p, str) else p for p in parts]
    lines = pc.binary_join_element_wise(*scalars, pa.scalar("", pa.large_string()))
    return "".join(lines.to_pylist()).encode()


def escape_xml(texts: pa.Array) -> pa.Array:
    """Escape texts for XML; characters that XML cannot hold are replaced.

    >>> import pyarrow as pa
    >>> escape_xml(pa.array(["a\\x00b < c & d"]))[0].as_py()
    'a�b &lt; c &amp; d'
    """
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(texts, _FORBIDDEN, "�")
    for mark, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, mark, name)
    return texts
