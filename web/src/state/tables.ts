// The tables of the open chain, each fetched from the server once.
import { effect, signal, untracked } from "@preact/signals";
import { runChain, type Watch } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Chain, ChainTables, Progress, TableInfo } from "../api/types";
import { keys } from "./chain";
import { page } from "./page";

export interface OpenChain {
  key: string;
  tables: TableInfo[] | null;
  progress: Progress | null;
  problem: Problem | null;
}

export const opened = signal<OpenChain>({ key: "", tables: null, progress: null, problem: null });

const known = new Map<string, TableInfo>();

export function remember(chain: Chain, tables: TableInfo[]): void {
  keys(chain).forEach((key, place) => {
    const table = tables[place];
    if (table) known.set(key, table);
  });
}

function recall(chain: Chain): TableInfo[] | null {
  const tables = keys(chain).map((key) => known.get(key));
  return tables.every((table) => table !== undefined) ? tables : null;
}

/** Runs a chain and remembers its tables. */
export async function run(chain: Chain, watch: Watch<ChainTables>): Promise<TableInfo[]> {
  const { tables } = await runChain(chain, watch);
  remember(chain, tables);
  return tables;
}

let running: AbortController | null = null;

async function load(chain: Chain, key: string): Promise<void> {
  running?.abort();
  const abort = (running = new AbortController());
  opened.value = { key, tables: recall(chain), progress: null, problem: null };
  if (opened.peek().tables) return;
  const update = (part: Partial<OpenChain>) => {
    if (opened.peek().key === key && running === abort) opened.value = { ...opened.peek(), ...part };
  };
  try {
    const tables = await run(chain, { signal: abort.signal, onProgress: (progress) => update({ progress }) });
    update({ tables, progress: null });
  } catch (error) {
    if (!isAbort(error)) update({ problem: asProblem(error), progress: null });
  }
}

/** Loads the chain again after an error. */
export function again(): void {
  const now = page.peek();
  if (now.page === "work") void load(now.work.chain, JSON.stringify(now.work.chain));
}

/** Keeps the window title up to date. */
export function followTitle(): void {
  effect(() => {
    const now = page.value;
    const table = now.page === "work" ? opened.value.tables?.[now.work.at]?.table : now.page === "lake" ? "Lake" : null;
    document.title = table ? `${table} · lakejoin` : "lakejoin";
  });
}

/** Keeps `opened` in sync with the chain that the page shows. */
export function followChain(): void {
  effect(() => {
    const now = page.value;
    if (now.page !== "work") return;
    const key = JSON.stringify(now.work.chain);
    // Only a page change may load again; an error must not.
    if (opened.peek().key !== key || opened.peek().problem) untracked(() => void load(now.work.chain, key));
  });
}
