// Runs one more step; asks first if later steps would be lost.
import type { Watch } from "../api/client";
import type { ChainTables, Step } from "../api/types";
import { confirm } from "../parts/dialog";
import { addStep, countDropped } from "../state/chain";
import { go } from "../state/history";
import type { Tab, Work } from "../state/page";
import { run } from "../state/tables";
import { many } from "../words/format";

/** Runs a step on table `from` of the chain, by default the open one. */
export async function runStep(work: Work, step: Step, watch: Watch<ChainTables>, from = work.at, tab: Tab = "search"): Promise<boolean> {
  const lost = countDropped(work.chain, from);
  const same = lost === 1 && work.at === from + 1;
  if (lost > 0 && !same) {
    const words = `This replaces the ${many(lost, "step")} after this one. The browser's back button undoes it.`;
    if (!(await confirm("Continue from here?", words, "Replace"))) return false;
  }
  const chain = addStep(work.chain, from, step);
  await run(chain, watch);
  const view = step.kind === "sql" ? { tab, sql: step.sql } : { tab };
  go({ page: "work", work: { chain, at: from + 1, view } });
  return true;
}
