// Distributions of columns, fetched only for visible ones, a few at a time.
import { type Signal, signal } from "@preact/signals";
import { getDistribution } from "../api/client";
import type { Distribution, TableId } from "../api/types";

export type DistributionState = Distribution | "waiting" | "none";

const AT_ONCE = 3;
const known = new Map<string, Signal<DistributionState>>();
const waiting = new Map<string, { table: TableId; column: number }>();
let running = 0;

/** The distribution of a column, as a signal that is updated once it is loaded. */
export function distribution(table: TableId, column: number): Signal<DistributionState> {
  const key = `${table}\n${column}`;
  const existing = known.get(key);
  if (existing) return existing;
  const state = signal<DistributionState>("waiting");
  known.set(key, state);
  return state;
}

/** Loads the distribution of a column that became visible. */
export function requestDistribution(table: TableId, column: number): void {
  const key = `${table}\n${column}`;
  if (distribution(table, column).peek() !== "waiting" || waiting.has(key)) return;
  waiting.set(key, { table, column });
  next();
}

/** Cancels the request of a column that is no longer visible. */
export function cancelDistribution(table: TableId, column: number): void {
  waiting.delete(`${table}\n${column}`);
}

function next(): void {
  for (const [key, { table, column }] of waiting) {
    if (running >= AT_ONCE) return;
    waiting.delete(key);
    void load(table, column);
  }
}

async function load(table: TableId, column: number): Promise<void> {
  running += 1;
  const target = distribution(table, column);
  try {
    target.value = await getDistribution(table, column);
  } catch {
    target.value = "none";
  } finally {
    running -= 1;
    next();
  }
}
