"""The graph for other programs: Parquet, and GraphML."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from lakejoin.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.graph.joingraph import Edges, JoinGraph

_SLICE = 1 << 18  # edges that are named at a time
_KEYS = (
    ("name", "node", "string"),
    ("rows", "node", "long"),
    ("column", "edge", "string"),
    ("other_column", "edge", "string"),
    ("shared", "edge", "long"),
    ("containment", "edge", "double"),
)


def as_arrow(graph: JoinGraph, edges: Edges, begin: int = 0, end: int | None = None) -> pa.Table:
    """Edges [begin, end) by name."""
    import pyarrow as pa

    nodes, some = graph.nodes, slice(begin, end)
    source, target = edges.source[some], edges.target[some]
    return pa.table(
        {
            "table": nodes.table_names.take(nodes.table_of[source]),
            "column": nodes.column_names.take(source),
            "other_table": nodes.table_names.take(nodes.table_of[target]),
            "other_column": nodes.column_names.take(target),
            "shared": pa.array(edges.shared[some], pa.int64()),
            "containment": pa.array(edges.share[some], pa.float64()),
        }
    )


def export(graph: JoinGraph, edges: Edges, path: str | os.PathLike[str]) -> int:
    """Writes edges to a file by the kind that its name ends with; nothing half-written stays."""
    whole = Path(path)
    writers = {".parquet": _parquet, ".graphml": _graphml}
    write = writers.get(whole.suffix.lower())
    if write is None:
        raise InputError(f"{whole} is neither a .parquet nor a .graphml file: name one of these")
    draft = whole.with_name(f"{whole.name}.{os.getpid()}.draft")
    try:
        write(graph, edges, draft)
        draft.replace(whole)
    except OSError as problem:
        raise InputError(f"cannot write {whole}: {problem.strerror or problem}") from None
    finally:
        draft.unlink(missing_ok=True)
    return len(edges)


def _parquet(graph: JoinGraph, edges: Edges, path: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, as_arrow(graph, edges, 0, 0).schema) as out:
        for begin in range(0, max(1, len(edges)), _SLICE):
            out.write_table(as_arrow(graph, edges, begin, begin + _SLICE))


def _graphml(graph: JoinGraph, edges: Edges, path: Path) -> None:
    """A node for every table that joins, an edge for every column that another contains."""
    nodes = graph.nodes
    table_of = nodes.table_of
    joined = np.unique(np.concatenate([table_of[edges.source], table_of[edges.target]]))
    with path.open("w", encoding="utf-8") as out:
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        out.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, of, kind in _KEYS:
            out.write(f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n')
        out.write('<graph edgedefault="directed">\n')
        names = nodes.table_names.take(joined).to_pylist()
        for number, name, rows in zip(joined.tolist(), names, nodes.rows(joined), strict=True):
            out.write(f'<node id="t{number}">{_data("name", name)}{_data("rows", rows)}</node>\n')
        for begin in range(0, len(edges), _SLICE):
            some = slice(begin, begin + _SLICE)
            told = as_arrow(graph, edges, begin, begin + _SLICE)
            ends = table_of[edges.source[some]].tolist(), table_of[edges.target[some]].tolist()
            for source, target, row in zip(*ends, told.to_pylist(), strict=True):
                data = "".join(_data(key, row[key]) for key, of, _ in _KEYS if of == "edge")
                out.write(f'<edge source="t{source}" target="t{target}">{data}</edge>\n')
        out.write("</graph>\n</graphml>\n")


def _data(key: str, value: Any) -> str:
    return f"<data key={quoteattr(key)}>{escape(_allowed(str(value)))}</data>"


def _allowed(text: str) -> str:
    """A text without the characters that XML cannot hold.

    >>> _allowed("a\\x00b\\n")
    'a�b\\n'
    """
    return "".join(
        c if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff") else "�" for c in text
    )
