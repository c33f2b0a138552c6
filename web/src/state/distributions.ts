// The distributions of columns, fetched for those in sight only, a few at a time.
import { type Signal, signal } from "@preact/signals";
import { getDistribution } from "../api/client";
import type { Distribution, TableId } from "../api/types";

export type Known = Distribution | "waiting" | "none";

const AT_ONCE = 3;
const known = new Map<string, Signal<Known>>();
const waiting = new Map<string, { table: TableId; column: number }>();
let running = 0;

/** The distribution of a column, which comes later if it is not here. */
export function distribution(table: TableId, column: number): Signal<Known> {
  const key = `${table}\n${column}`;
  const found = known.get(key);
  if (found) return found;
  const made = signal<Known>("waiting");
  known.set(key, made);
  return made;
}

/** A column has come into sight. */
export function wantDistribution(table: TableId, column: number): void {
  const key = `${table}\n${column}`;
  if (distribution(table, column).peek() !== "waiting" || waiting.has(key)) return;
  waiting.set(key, { table, column });
  next();
}

/** A column has gone out of sight before its turn came. */
export function unwantDistribution(table: TableId, column: number): void {
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
