// The chain of steps: a start, then joins and queries, each on what the one before gave.
import type { Chain, Step, TableId } from "../api/types";
import type { Work } from "./page";

/** The chain up to table number `at` (0: the start alone). */
export function upTo(chain: Chain, at: number): Chain {
  return { start: chain.start, steps: chain.steps.slice(0, at) };
}

/** The chain that goes on from table number `at` with one more step; later steps fall away. */
export function goOn(chain: Chain, at: number, step: Step): Chain {
  return { start: chain.start, steps: [...chain.steps.slice(0, at), step] };
}

/** How many steps a change after table number `at` would drop. */
export function dropped(chain: Chain, at: number): number {
  return Math.max(0, chain.steps.length - at);
}

/** What tells a chain's tables apart: one key for each of them, the start first. */
export function keys(chain: Chain): string[] {
  return Array.from({ length: chain.steps.length + 1 }, (_, at) => JSON.stringify(upTo(chain, at)));
}

/** What was done to get table number `at`; null for the start. */
export function stepBefore(chain: Chain, at: number): Step | null {
  return at > 0 ? (chain.steps[at - 1] ?? null) : null;
}

export function opened(start: TableId): Work {
  return { chain: { start, steps: [] }, at: 0, view: { tab: "search" } };
}

/** Another table of the same chain; what was set up for the one before is left behind. */
export function at(work: Work, place: number): Work {
  const tab = work.view.tab === "sql" || work.view.tab === "table" || work.view.tab === "graph" ? work.view.tab : "search";
  return { chain: work.chain, at: place, view: { tab } };
}

/** A step in a few words, for its chip. */
export function stepWords(step: Step): string {
  if (step.kind === "join") return shortName(nameOfId(step.right));
  const words = step.sql.replaceAll(/\s+/g, " ").trim();
  return words.length > 28 ? words.slice(0, 27) + "…" : words;
}

/** The part of an id that people read. */
export function nameOfId(id: TableId): string {
  if (id.startsWith("upload:")) return "uploaded table";
  const colon = id.indexOf(":");
  return colon < 0 ? id : id.slice(colon + 1);
}

/** The last part of a name with folders. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1) || name;
}
