// The lake: its size, its tables and their joins.
import { useEffect, useState } from "preact/hooks";
import { getInfo } from "../api/client";
import type { LakeInfo, TableId } from "../api/types";
import { arrows, Button, Empty, TableName } from "../parts/controls";
import { nameOfId, startWork } from "../state/chain";
import { go } from "../state/history";
import { bytes, short, whole } from "../words/format";
import { GraphView } from "./graph";
import { OtherTable } from "./other-table";
import { TableList } from "./table-list";

export function Figures({ info }: { info: LakeInfo | null }) {
  const figures: [string, string, string][] = info
    ? [
        [whole(info.tables), "tables", ""],
        [whole(info.columns), "columns", ""],
        [short(info.rows), "rows", whole(info.rows)],
        [short(info.cells), "cells", whole(info.cells)],
        [(info.values_exact ? "" : "~") + short(info.values), "distinct values", whole(info.values)],
        [bytes(info.bytes), "on disk", whole(info.bytes)],
      ]
    : [];
  return (
    <dl class="figures" data-testid="figures">
      {figures.map(([value, name, exact]) => (
        <div key={name} title={exact}><dd>{value}</dd><dt>{name}</dt></div>
      ))}
      {!info && [0, 1, 2, 3, 4, 5].map((place) => <div key={place} class="figure-waiting" />)}
    </dl>
  );
}

export function useInfo(): LakeInfo | null {
  const [info, setInfo] = useState<LakeInfo | null>(null);
  useEffect(() => {
    const request = new AbortController();
    getInfo(request.signal).then(setInfo, () => undefined);
    return () => request.abort();
  }, []);
  return info;
}

export function Lake({ table }: { table: TableId | undefined }) {
  const info = useInfo();
  const [tab, setTab] = useState<"graph" | "rows">("graph");
  return (
    <div class="lake" data-testid="lake-view">
      <Figures info={info} />
      <div class={`lake-body ${table ? "has-table" : ""}`}>
        <TableList chosen={table} onChoose={(id) => go({ page: "lake", table: id }, table ? "replace" : "push")} />
        <section class="lake-main" aria-label="Selected table">
          {table ? (
            <>
              <header class="lake-bar">
                <Button icon="back" look="ghost" class="narrow-only" onClick={() => go({ page: "lake" })}>Tables</Button>
                <h1><TableName name={nameOfId(table)} /></h1>
                <span class="space" />
                <div class="segments small" role="tablist" onKeyDown={arrows} aria-label="What to show">
                  <button type="button" role="tab" aria-selected={tab === "graph"} onClick={() => setTab("graph")}>Joins</button>
                  <button type="button" role="tab" aria-selected={tab === "rows"} onClick={() => setTab("rows")} data-testid="lake-rows">Rows</button>
                </div>
                <Button look="primary" icon="open" testId="lake-open" onClick={() => go({ page: "work", work: startWork(table) })}>Open</Button>
              </header>
              {tab === "graph" ? <GraphView key={table} table={table} /> : <div class="lake-rows"><OtherTable id={table} /></div>}
            </>
          ) : (
            <Empty icon="graph" title="Select a table to see what joins with it">
              {info && info.graph === false && "This index has no join graph, so the tables that join are searched for when you select a table."}
            </Empty>
          )}
        </section>
      </div>
    </div>
  );
}
