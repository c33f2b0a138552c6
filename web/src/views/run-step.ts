// One more step: asked first where later ones would be lost, then run, then shown.
import type { Watch } from "../api/client";
import type { ChainTables, Step } from "../api/types";
import { confirmed } from "../parts/dialog";
import { dropped, goOn } from "../state/chain";
import { go } from "../state/history";
import type { Tab, Work } from "../state/page";
import { run } from "../state/tables";
import { many } from "../words/format";

/** Runs a step on table number `from` of the chain, which is the open one unless told otherwise. */
export async function runStep(work: Work, step: Step, watch: Watch<ChainTables>, from = work.at, tab: Tab = "search"): Promise<boolean> {
  const lost = dropped(work.chain, from);
  const same = lost === 1 && work.at === from + 1;
  if (lost > 0 && !same) {
    const words = `${many(lost, "step")} after this one would be replaced. The way back is the browser's back button.`;
    if (!(await confirmed("Go on from here?", words, "Replace them"))) return false;
  }
  const chain = goOn(work.chain, from, step);
  await run(chain, watch);
  const view = step.kind === "sql" ? { tab, sql: step.sql } : { tab };
  go({ page: "work", work: { chain, at: from + 1, view } });
  return true;
}
