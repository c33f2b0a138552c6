// The chain of steps: a start table, then joins and queries, each on the previous table.
import type { Chain, Step, TableId } from "../api/types";
import type { Work } from "./page";

/** The chain up to table number `at` (0: the start alone). */
export function upTo(chain: Chain, at: number): Chain {
  return { start: chain.start, steps: chain.steps.slice(0, at) };
}

/** The chain with one more step after table number `at`; later steps are dropped. */
export function addStep(chain: Chain, at: number, step: Step): Chain {
  return { start: chain.start, steps: [...chain.steps.slice(0, at), step] };
}

/** How many steps a change after table number `at` would drop. */
export function countDropped(chain: Chain, at: number): number {
  return Math.max(0, chain.steps.length - at);
}

/** One unique key per table of a chain, the start first. */
export function keys(chain: Chain): string[] {
  return Array.from({ length: chain.steps.length + 1 }, (_, at) => JSON.stringify(upTo(chain, at)));
}

/** The step that produced table number `at`; null for the start. */
export function stepBefore(chain: Chain, at: number): Step | null {
  return at > 0 ? (chain.steps[at - 1] ?? null) : null;
}

/** A new chain that starts from a table. */
export function startWork(start: TableId): Work {
  return { chain: { start, steps: [] }, at: 0, view: { tab: "search" } };
}

/** Opens another table of the same chain; settings of the previous one are dropped. */
export function openStep(work: Work, place: number): Work {
  const tab = work.view.tab === "sql" || work.view.tab === "table" || work.view.tab === "graph" ? work.view.tab : "search";
  return { chain: work.chain, at: place, view: { tab } };
}

/** A short label for a step. */
export function stepWords(step: Step): string {
  if (step.kind === "join") return shortName(nameOfId(step.right));
  const words = step.sql.replaceAll(/\s+/g, " ").trim();
  return words.length > 28 ? words.slice(0, 27) + "…" : words;
}

/** The readable part of an id. */
export function nameOfId(id: TableId): string {
  if (id.startsWith("upload:")) return "uploaded table";
  const colon = id.indexOf(":");
  return colon < 0 ? id : id.slice(colon + 1);
}

/** The last part of a name with folders. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1) || name;
}
