// The ranked results of a search, and the likely coincidences.
import { useRef } from "preact/hooks";
import { Button, Empty } from "../parts/controls";
import { toHits } from "../state/hits";
import type { SearchSettings, Work } from "../state/page";
import { type Session, showMore } from "../state/searching";
import { many, seconds, whole } from "../words/format";
import { ResultCard } from "./result";

function Skeleton() {
  return <div class="result-skeletons" aria-hidden="true">{[0, 1, 2].map((place) => <div key={place} class="result-skeleton" />)}</div>;
}

function summary(now: Session, count: number): string {
  // A single engine finds columns, so one table may have several results.
  const found = many(count, now.answer?.by === "fused" ? "table" : "column");
  const total = now.answer?.total ?? 0;
  if (now.status === "done" && total > count) {
    return `${whole(count)} of ${many(total, "table")} · ${now.answer?.cached ? "cached" : seconds(now.took / 1000)}`;
  }
  if (now.status === "running") return count ? `${found} so far` : "";
  const took = now.answer?.cached ? "cached" : seconds(now.took / 1000);
  return now.status === "stopped" ? `${found}, stopped after ${took}` : `${found} · ${took}`;
}

interface Props {
  work: Work;
  now: Session;
  settings: SearchSettings;
  /** The settings have changed since: these are the results of the previous search. */
  stale: boolean;
}

export function Results({ work, now, settings, stale }: Props) {
  const list = useRef<HTMLOListElement>(null);
  if (!now.answer || !now.request) return now.status === "running" ? <Skeleton /> : null;
  const request = now.request;
  // Results belong to the search that was run, even if the settings have changed since.
  const { hits, misses } = toHits(now.answer, { on: request.on ?? [], way: settings.way });
  const left = (now.answer.total ?? 0) - now.answer.results.length;
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
      <p class="results-sum" role="status">{[stale ? "Results of your previous search" : "", summary(now, hits.length), ...now.answer.notes].filter(Boolean).join(" · ")}</p>
      {hits.length === 0 && now.status !== "running" && (
        <Empty icon="search" title="No table found">
          {settings.way === "fused" ? "Try other columns, or a table with a column of identifiers." : "Try All methods, which searches for more than this one."}
        </Empty>
      )}
      <ol class="result-list" ref={list} onKeyDown={move}>
        {hits.map((hit) => (
          <li key={hit.key}><ResultCard hit={hit} work={work} request={request} running={now.status === "running"} /></li>
        ))}
      </ol>
      {now.status === "done" && left > 0 && (
        <Button class="more-results" onClick={() => void showMore()} disabled={now.loadingMore} testId="more-results">
          {now.loadingMore ? "Loading…" : `Show more (${whole(left)} left)`}
        </Button>
      )}
      {misses.length > 0 && (
        <details class="misses" data-testid="misses">
          <summary>{many(misses.length, "likely coincidence")} (hidden)</summary>
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
