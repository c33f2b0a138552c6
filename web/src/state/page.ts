// What the page shows: one value from which everything else follows, and which the address holds.
import { signal } from "@preact/signals";
import type { Chain, JoinSettings, TableId } from "../api/types";

export type Tab = "table" | "search" | "sql" | "graph";

/** The ways to search, as people choose them; some are the same engine asked differently. */
export type Way = "fused" | "overlap" | "containment" | "composite" | "meaning" | "distance" | "rewritten";

export interface SearchSettings {
  on: string[];
  way: Way;
  min?: number;
  /** How far apart values may be; found out (which is slow) if "auto". */
  tau?: number | "auto";
  within?: string;
  k?: number;
}

export interface View {
  tab: Tab;
  search?: SearchSettings;
  /** The search was started: whoever opens the link sees its results. */
  asked?: boolean;
  /** The result that is unfolded, by its table. */
  opened?: TableId;
  /** The join that is being set up. */
  join?: JoinSettings;
  sql?: string;
  /** The table whose neighbours the graph shows, where it is not the open one. */
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

/** A state from outside, made to hold together: a step that exists, a tab that we know. */
export function mended(work: Work): Work {
  const at = Math.min(Math.max(0, work.at), work.chain.steps.length);
  const given = typeof work.view === "object" && work.view !== null ? work.view : { tab: "search" as Tab };
  const view = { ...given, tab: TABS.includes(given.tab) ? given.tab : "search" } as View;
  return { chain: work.chain, at, view };
}
