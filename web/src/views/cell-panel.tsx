// Shows one cell in full length, its column's values and its row.
import { useEffect, useState } from "preact/hooks";
import { getCell, getRows } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Cell, TableInfo } from "../api/types";
import { Button, ProblemNote } from "../parts/controls";
import type { Place } from "../parts/grid";
import { DistributionList } from "../parts/sparkline";
import { copyText } from "../parts/toast";
import { distribution, requestDistribution } from "../state/distributions";
import { cellText, whole } from "../words/format";

/** The distribution of the cell's column. */
function ColumnFacts({ table, place }: { table: TableInfo; place: number }) {
  useEffect(() => requestDistribution(table.id, place), [table.id, place]);
  const known = distribution(table.id, place).value;
  const info = table.columns[place];
  if (typeof known === "string" || !info || known.values.length === 0) return null;
  return (
    <section class="cell-column">
      <h3>{info.distinct === null ? "Values of this column" : `${whole(info.distinct)} distinct values in this column`}</h3>
      <DistributionList of={known} />
    </section>
  );
}

export function CellPanel({ table, place, onClose }: { table: TableInfo; place: Place; onClose: () => void }) {
  const [value, setValue] = useState<Cell | undefined>(undefined);
  const [row, setRow] = useState<Cell[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const info = table.columns[place.column];
  useEffect(() => {
    const request = new AbortController();
    const failed = (error: unknown) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    };
    setValue(undefined);
    setProblem(null);
    getCell(table.id, place.row, place.column, request.signal).then((body) => setValue(body.value), failed);
    getRows({ table: table.id, begin: place.row, end: place.row + 1 }, request.signal)
      .then((body) => setRow(body.rows[0] ?? null), failed);
    return () => request.abort();
  }, [table.id, place.row, place.column]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => event.key === "Escape" && onClose();
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return (
    <aside class="cell-panel" aria-label="Cell" data-testid="cell-panel">
      <header>
        <strong>{info?.column}</strong>
        <span class="quiet">row {whole(place.row + 1)}</span>
        <span class="space" />
        <Button icon="copy" look="ghost" aria-label="Copy cell" onClick={() => void copyText(cellText(value), "Cell copied")} />
        <Button icon="close" look="ghost" aria-label="Close" onClick={onClose} />
      </header>
      {problem && <ProblemNote problem={problem} />}
      <div class={`cell-value ${value === null ? "nil" : ""}`} tabIndex={0} data-testid="cell-value">
        {value === null ? "missing" : cellText(value)}
      </div>
      <ColumnFacts table={table} place={place.column} />
      {row && (
        <dl class="cell-row">
          <h3>Row</h3>
          {table.columns.slice(0, 200).map((column, at) => (
            <div key={at} class={at === place.column ? "here" : ""}>
              <dt>{column.column}</dt>
              <dd class={row[at] === null ? "nil" : ""}>{row[at] === null ? "missing" : cellText(row[at])}</dd>
            </div>
          ))}
        </dl>
      )}
    </aside>
  );
}
