// The open table: the grid, its column headers and the cell panel.
import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ColumnInfo, TableInfo } from "../api/types";
import { ColumnHead, HEAD } from "../parts/column-head";
import { Button, Empty, ProblemNote, TableName } from "../parts/controls";
import { Grid, type GridColumn, type Place } from "../parts/grid";
import { ServerRows } from "../parts/row-source";
import { changeView } from "../state/history";
import type { Work } from "../state/page";
import { many, whole } from "../words/format";
import { CellPanel } from "./cell-panel";
import { chooseColumn, settingsOf } from "./search-settings";

const NARROW = 96;
const WIDE = 320;

export function columnWidth(info: ColumnInfo): number {
  const number = info.type === "integer" || info.type === "decimal";
  const longest = number ? Math.min(18, info.max_length ?? 12) : Math.min(info.max_length ?? 12, (info.mean_length ?? 8) * 1.6 + 2);
  const cells = longest * (number ? 8.4 : 7.4) + 24;
  const name = info.column.length * 7.6 + 56;
  return Math.round(Math.min(WIDE, Math.max(NARROW, cells, Math.min(name, 220), 128)));
}

export function gridColumns(columns: ColumnInfo[]): GridColumn[] {
  return columns.map((info) => ({ name: info.column, type: info.type, width: columnWidth(info) }));
}

function Notes({ table }: { table: TableInfo }) {
  const words = [...table.notes, ...table.losses.map((loss) => `${whole(loss.count)} × ${loss.reason}${loss.detail ? `: ${loss.detail}` : ""}`)];
  if (!words.length) return null;
  return (
    <details class="notes">
      <summary>{many(words.length, "note")}</summary>
      <ul>{words.map((note) => <li key={note}>{note}</li>)}</ul>
    </details>
  );
}

function GoTo({ total, onGo }: { total: number; onGo: (row: number) => void }) {
  return (
    <form class="go-to" onSubmit={(event) => {
      event.preventDefault();
      const field = event.currentTarget.elements.namedItem("row") as HTMLInputElement;
      const row = Number(field.value.replaceAll(/[^0-9]/g, ""));
      if (row >= 1) onGo(Math.min(total, row) - 1);
    }}>
      <label>
        Go to row
        <input name="row" inputMode="numeric" size={9} placeholder={whole(total)} data-testid="go-to-row" autocomplete="off" />
      </label>
    </form>
  );
}

/** Which rows are visible: a component of its own, as it changes with every scroll. */
function VisibleRows({ sight, total }: { sight: Signal<[number, number]>; total: number }) {
  const [first, last] = sight.value;
  return <span data-testid="sight">Rows {whole(Math.min(first + 1, total))}–{whole(last)} of {whole(total)}</span>;
}

export function TableView({ table, work, tabs, above, hidden }: {
  table: TableInfo;
  work: Work;
  tabs: ComponentChildren;
  above: ComponentChildren;
  hidden: boolean;
}) {
  const source = useMemo(() => new ServerRows(table.id, table.rows, table.columns.length), [table.id]);
  useEffect(() => () => source.close(), [source]);
  const columns = useMemo(() => gridColumns(table.columns), [table.id]);
  const sight = useMemo(() => signal<[number, number]>([0, 0]), [table.id]);
  const [cell, setCell] = useState<Place | null>(null);
  const [goTo, setGoTo] = useState<{ row: number } | null>(null);
  useEffect(() => setCell(null), [table.id]);
  const chosen = new Set(settingsOf(work, table).on);
  const choose = (name: string) => {
    chooseColumn(table, name);
    // Show the search next to the table, except on a phone, where it would hide the table.
    if (work.view.tab === "table" && innerWidth > 760) changeView({ tab: "search" });
  };
  const problem = source.problem.value;
  return (
    <section class="table-view" aria-label={`Table ${table.table}`}>
      <header class="table-bar">
        <h1 data-testid="table-title"><TableName name={table.table} /></h1>
        <span class="table-size" data-testid="table-size">{many(table.rows, "row")} × {many(table.columns.length, "column")}</span>
        <Notes table={table} />
        <span class="space" />
        {tabs}
      </header>
      {above}
      {!hidden && (
        <div class="table-body">
          {problem && <ProblemNote problem={problem} />}
          {table.rows === 0 && <Empty icon="grid" title="This table has no rows" />}
          <Grid
            label={table.table} source={source} columns={columns} headHeight={HEAD}
            head={(place) => {
              const info = table.columns[place];
              return info && (
                <ColumnHead table={table.id} place={place} info={info} chosen={chosen.has(info.column)} onChoose={() => choose(info.column)} />
              );
            }}
            columnClass={(place) => (chosen.has(table.columns[place]?.column ?? "") ? "chosen" : "")}
            onOpen={setCell} onSight={(first, last) => (sight.value = [first, last])} goTo={goTo}
          />
          {cell && <CellPanel table={table} place={cell} onClose={() => setCell(null)} />}
        </div>
      )}
      {!hidden && (
        <footer class="table-foot">
          <VisibleRows sight={sight} total={table.rows} />
          <span class="space" />
          {chosen.size > 0 && (
            <Button look="ghost" icon="close" onClick={() => chosen.forEach((name) => chooseColumn(table, name))}>
              Clear {many(chosen.size, "selected column")}
            </Button>
          )}
          {table.rows > 200 && <GoTo total={table.rows} onGo={(row) => setGoTo({ row })} />}
        </footer>
      )}
    </section>
  );
}
