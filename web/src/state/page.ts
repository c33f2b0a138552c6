// The state of the page: one value that everything else derives from, stored in the address.
import { signal } from "@preact/signals";
import type { Chain, JoinSettings, TableId } from "../api/types";

export type Tab = "table" | "search" | "sql" | "graph";

/** The search methods that users choose from; some use the same engine. */
export type SearchMethod = "fused" | "overlap" | "containment" | "composite" | "meaning" | "distance" | "rewritten";

export interface SearchSettings {
  on: string[];
  /** The key is "way" in links that people have shared. */
  way: SearchMethod;
  min?: number;
  /** The least chance of being right that a match by meaning must have. */
  sure?: number;
  within?: string;
  k?: number;
}

export interface View {
  tab: Tab;
  search?: SearchSettings;
  /** The search was started: opening the link runs it again. */
  asked?: boolean;
  /** The expanded result, by its key. */
  opened?: TableId;
  /** The join that is being set up. */
  join?: JoinSettings;
  sql?: string;
  /** The table at the center of the graph, if not the open one. */
  around?: TableId;
}

export interface Work {
  chain: Chain;
  /** Which table of the chain is open: 0 is the start. */
  at: number;
  view: View;
}

export type Page =
  | { page: "home" }
  | { page: "lake"; table?: TableId }
  | { page: "work"; work: Work }
  | { page: "unreadable"; why: string; gone: boolean };

export const page = signal<Page>({ page: "home" });

export function isWork(value: unknown): value is Work {
  const work = value as Partial<Work> | null;
  return (
    typeof work === "object" &&
    work !== null &&
    typeof work.chain?.start === "string" &&
    Array.isArray(work.chain.steps) &&
    Number.isInteger(work.at)
  );
}

const TABS: readonly Tab[] = ["table", "search", "sql", "graph"];

/** Repairs a state from a link: an existing step, a known tab. */
export function repairWork(work: Work): Work {
  const at = Math.min(Math.max(0, work.at), work.chain.steps.length);
  const saved = typeof work.view === "object" && work.view !== null ? work.view : { tab: "search" as Tab };
  const view = { ...saved, tab: TABS.includes(saved.tab) ? saved.tab : "search" } as View;
  return { chain: work.chain, at, view };
}
