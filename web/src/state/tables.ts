// The tables of the open chain: what the server knows of each, asked for once.
import { effect, signal, untracked } from "@preact/signals";
import { runChain, type Watch } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Chain, ChainTables, Progress, TableInfo } from "../api/types";
import { keys } from "./chain";
import { page } from "./page";

export interface Opened {
  key: string;
  tables: TableInfo[] | null;
  progress: Progress | null;
  problem: Problem | null;
}

export const opened = signal<Opened>({ key: "", tables: null, progress: null, problem: null });

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
  const own = (running = new AbortController());
  opened.value = { key, tables: recall(chain), progress: null, problem: null };
  if (opened.peek().tables) return;
  const update = (part: Partial<Opened>) => {
    if (opened.peek().key === key && running === own) opened.value = { ...opened.peek(), ...part };
  };
  try {
    const tables = await run(chain, { signal: own.signal, onProgress: (progress) => update({ progress }) });
    update({ tables, progress: null });
  } catch (error) {
    if (!isAbort(error)) update({ problem: asProblem(error), progress: null });
  }
}

/** Asks again for what could not be had. */
export function again(): void {
  const now = page.peek();
  if (now.page === "work") void load(now.work.chain, JSON.stringify(now.work.chain));
}

/** The window is called as what it shows. */
export function followTitle(): void {
  effect(() => {
    const now = page.value;
    const table = now.page === "work" ? opened.value.tables?.[now.work.at]?.table : now.page === "lake" ? "The lake" : null;
    document.title = table ? `${table} · lakejoin` : "lakejoin";
  });
}

/** Keeps `opened` at the chain that the page shows. */
export function followChain(): void {
  effect(() => {
    const now = page.value;
    if (now.page !== "work") return;
    const key = JSON.stringify(now.work.chain);
    // Only another page starts this again: an answer that is a problem must not.
    if (opened.peek().key !== key || opened.peek().problem) untracked(() => void load(now.work.chain, key));
  });
}
