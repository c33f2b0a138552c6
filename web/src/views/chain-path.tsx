// The chain as a row of chips; clicking one opens that step.
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon";
import { nameOfId, openStep, shortName, stepWords } from "../state/chain";
import { change } from "../state/history";
import type { Work } from "../state/page";
import { opened } from "../state/tables";
import { short } from "../words/format";

export function ChainPath({ work }: { work: Work }) {
  const list = useRef<HTMLOListElement>(null);
  const tables = opened.value.tables;
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [work.at, work.chain.steps.length]);
  const open = (place: number) => {
    if (place !== work.at || work.view.join) change((now) => openStep(now, place), "push");
  };
  const chip = (place: number, kind: string, words: string, title: string) => (
    <li key={place}>
      {place > 0 && <span class={`chain-sign step-${kind}`} aria-hidden="true">{kind === "join" ? "⋈" : "›"}</span>}
      <button
        type="button" class={`chip step-${kind} ${place > work.at ? "later" : ""}`} data-testid="chain-step"
        aria-current={place === work.at ? "step" : undefined} title={title} onClick={() => open(place)}
      >
        {kind === "sql" && <Icon name="code" size={13} />}
        {kind === "start" && <Icon name="table" size={13} />}
        <span class="chip-words">{words}</span>
        {tables?.[place] && <span class="chip-rows">{short(tables[place].rows)}</span>}
      </button>
    </li>
  );
  const name = tables?.[0]?.table ?? nameOfId(work.chain.start);
  return (
    <nav class="chain" aria-label="Steps" data-testid="chain">
      <ol ref={list}>
        {chip(0, "start", shortName(name), name)}
        {work.chain.steps.map((step, place) =>
          chip(place + 1, step.kind, stepWords(step), step.kind === "join" ? `joined with ${nameOfId(step.right)}` : step.sql),
        )}
      </ol>
    </nav>
  );
}
