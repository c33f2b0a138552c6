// A small preview of another table in the lake.
import { useEffect, useMemo, useState } from "preact/hooks";
import { getTable } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { TableId, TableInfo } from "../api/types";
import { ProblemNote } from "../parts/controls";
import { Grid } from "../parts/grid";
import { Icon } from "../parts/icon";
import { ServerRows } from "../parts/row-source";
import { many } from "../words/format";
import { gridColumns } from "./table";

function SmallGrid({ table }: { table: TableInfo }) {
  const source = useMemo(() => new ServerRows(table.id, table.rows, table.columns.length), [table.id]);
  useEffect(() => () => source.close(), [source]);
  const columns = useMemo(() => gridColumns(table.columns).map((column) => ({ ...column, width: Math.min(column.width, 200) })), [table.id]);
  return (
    <div class="small-grid">
      <Grid
        label={`Preview of ${table.table}`} source={source} columns={columns} headHeight={30} testId="preview-grid"
        head={(place) => (
          <span class="plain-head">
            <Icon name={table.columns[place]?.type ?? "text"} size={12} class="column-type" />
            {table.columns[place]?.column}
          </span>
        )}
      />
    </div>
  );
}

export function OtherTable({ id }: { id: TableId }) {
  const [table, setTable] = useState<TableInfo | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const request = new AbortController();
    setTable(null);
    getTable(id, request.signal).then(setTable, (error) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    });
    return () => request.abort();
  }, [id]);
  if (problem) return <ProblemNote problem={problem} />;
  if (!table) return <div class="small-grid waiting-box" />;
  return (
    <div class="other-table">
      <p class="quiet">{many(table.rows, "row")} × {many(table.columns.length, "column")}{table.format ? ` · ${table.format}` : ""}</p>
      <SmallGrid table={table} />
    </div>
  );
}
