// The ranked results of a search, and what meets only by accident.
import { useRef } from "preact/hooks";
import type { TableInfo } from "../api/types";
import { Empty } from "../parts/controls";
import { toHits } from "../state/hits";
import type { SearchSettings, Work } from "../state/page";
import type { Session } from "../state/searching";
import { many, seconds } from "../words/format";
import { ResultCard } from "./result";

function Skeleton() {
  return <div class="result-skeletons" aria-hidden="true">{[0, 1, 2].map((place) => <div key={place} class="result-skeleton" />)}</div>;
}

function summary(now: Session, count: number): string {
  // One engine alone finds columns, and a table may be found by several of its own.
  const found = many(count, now.answer?.by === "fused" ? "table" : "column");
  if (now.status === "running") return count ? `${found} so far` : "";
  const took = now.answer?.cached ? "kept from before" : seconds(now.took / 1000);
  return now.status === "stopped" ? `${found}, stopped after ${took}` : `${found} · ${took}`;
}

interface Props {
  work: Work;
  table: TableInfo;
  now: Session;
  settings: SearchSettings;
  /** Something else is being chosen: these are the results of before. */
  stale: boolean;
}

export function Results({ work, table, now, settings, stale }: Props) {
  const list = useRef<HTMLOListElement>(null);
  if (!now.answer || !now.asked) return now.status === "running" ? <Skeleton /> : null;
  const asked = now.asked;
  // What is shown belongs to what was asked, also when something else is being chosen.
  const { hits, misses } = toHits(now.answer, { on: asked.on ?? [], way: settings.way });
  const move = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const heads = [...(list.current?.querySelectorAll<HTMLElement>(".result-head") ?? [])];
    const here = heads.indexOf(document.activeElement as HTMLElement);
    if (here < 0) return;
    event.preventDefault();
    heads[here + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  };
  return (
    <div class={`results ${stale ? "stale" : ""}`} data-testid="results" data-status={now.status}>
      <p class="results-sum" role="status">{[stale ? "of the search before" : "", summary(now, hits.length), ...now.answer.notes].filter(Boolean).join(" · ")}</p>
      {hits.length === 0 && now.status !== "running" && (
        <Empty icon="search" title="No table was found this way">
          {settings.way === "fused" ? "Choose other columns, or bring a table with more of a key." : "Best of all ways looks for more than this one."}
        </Empty>
      )}
      <ol class="result-list" ref={list} onKeyDown={move}>
        {hits.map((hit) => (
          <li key={hit.key}><ResultCard hit={hit} work={work} table={table} asked={asked} running={now.status === "running"} /></li>
        ))}
      </ol>
      {misses.length > 0 && (
        <details class="misses" data-testid="misses">
          <summary>{many(misses.length, "table")} only by accident</summary>
          <ul>
            {misses.map((hit) => (
              <li key={hit.key}>
                <strong>{hit.table}</strong>
                <span class="quiet">{hit.reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
