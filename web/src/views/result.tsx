// One result: how it joins, how well and what it adds; expanded, the evidence.
import { useState } from "preact/hooks";
import type { JoinHint, SearchRequest } from "../api/types";
import { arrows, Bar, Button, TableName } from "../parts/controls";
import { Icon } from "../parts/icon";
import { startWork } from "../state/chain";
import type { Hit, Candidate } from "../state/hits";
import { changeView, go } from "../state/history";
import type { Work } from "../state/page";
import { many, percent, times } from "../words/format";
import { KIND_WORDS, sign } from "../words/methods";
import { OtherTable } from "./other-table";
import { Values } from "./values";

export function setUpJoin(hint: JoinHint): void {
  changeView({ join: { ...hint, how: "inner" } }, "push");
}

/** `iata = lid`, in the colors of the two tables. */
export function JoinColumns({ candidate }: { candidate: Candidate }) {
  return (
    <span class="join-columns">
      <span class="mine">{candidate.mine.join(" + ")}</span>
      <span class="pair-sign">{sign(candidate.kind)}</span>
      <span class="theirs">{candidate.theirs.join(" + ")}</span>
    </span>
  );
}

function FanOut({ factor }: { factor: number | null }) {
  if (factor === null) return null;
  const level = factor >= 10 ? "strong" : factor >= 2 ? "some" : "";
  const words = factor >= 2 ? `Each of your rows matches ${times(factor).slice(1)} of theirs on average, so the result has more rows` : "Result rows per row of yours";
  return (
    <span class={`fan-out ${level}`} title={words} data-testid={level ? "fan-out-warning" : undefined}>
      {level && <Icon name="warn" size={12} />}
      {times(factor)} rows
    </span>
  );
}

function Adds({ hit }: { hit: Hit }) {
  const [all, setAll] = useState(false);
  if (!hit.adds.length) return null;
  if (hit.alreadyJoined) return <p class="adds quiet" data-testid="already-joined">adds nothing: your table already has its columns</p>;
  const shown = all ? hit.adds : hit.adds.slice(0, 5);
  return (
    <p class="adds">
      <span class="quiet">adds</span>
      {shown.map(({ name, full }) => (
        <span key={name} class="add" title={full === null ? name : `${name}: has a value for ${percent(full)} of your rows`}>
          {full !== null && <span class="add-full" style={{ height: `${Math.round(full * 100)}%` }} />}
          {name}
        </span>
      ))}
      {hit.adds.length > 5 && (
        <button type="button" class="text-button" onClick={() => setAll(!all)}>{all ? "fewer" : `${hit.adds.length - 5} more`}</button>
      )}
    </p>
  );
}

const TABS = [["values", "Values"], ["table", "Table"], ["joins", "Joins"]] as const;

function ResultDetails({ hit, request, running }: { hit: Hit; request: SearchRequest; running: boolean }) {
  const [tab, setTab] = useState<"values" | "table" | "joins">("values");
  return (
    <div class="result-open">
      <div class="segments small" role="tablist" onKeyDown={arrows} aria-label="About this result">
        {TABS.filter(([key]) => key !== "joins" || hit.candidates.length > 1).map(([key, name]) => (
          <button key={key} type="button" role="tab" aria-selected={tab === key} onClick={() => setTab(key)} data-testid={`result-${key}`}>
            {key === "joins" ? `${hit.candidates.length} joins` : name}
          </button>
        ))}
      </div>
      {tab === "values" && <Values hit={hit} request={request} running={running} />}
      {tab === "table" && <OtherTable id={hit.id} />}
      {tab === "joins" && (
        <ul class="join-list">
          {hit.candidates.map((candidate, place) => (
            <li key={place}>
              <JoinColumns candidate={candidate} />
              <Bar share={candidate.containment} label="contained" />
              <span class="quiet">{candidate.how || KIND_WORDS[candidate.kind]}</span>
              <Button onClick={() => setUpJoin(candidate.join)}>Use this join…</Button>
            </li>
          ))}
        </ul>
      )}
      <p class="result-more">
        <button type="button" class="text-button" onClick={() => go({ page: "work", work: startWork(hit.id) })}>Open this table instead</button>
      </p>
    </div>
  );
}

export function ResultCard({ hit, work, request, running }: {
  hit: Hit;
  work: Work;
  request: SearchRequest;
  running: boolean;
}) {
  const candidate = hit.candidates[0];
  const unfolded = work.view.opened === hit.key;
  const toggle = () => changeView(unfolded ? { opened: undefined } : { opened: hit.key });
  if (!candidate) return null;
  return (
    <article class={`result ${unfolded ? "unfolded" : ""}`} data-testid="result" data-table={hit.table}>
      <button type="button" class="result-head" aria-expanded={unfolded} onClick={toggle} data-testid="result-open">
        <span class="result-rank">{hit.rank}</span>
        <TableName name={hit.table} />
        <Icon name="right" size={15} class="result-arrow" />
      </button>
      <div class="result-body">
        <div class="result-columns">
          <JoinColumns candidate={candidate} />
          {candidate.kind !== "equal" && <span class={`kind ${candidate.kind}`}>{candidate.how || KIND_WORDS[candidate.kind]}</span>}
          <Button class="join-button" onClick={() => setUpJoin(candidate.join)} testId="result-join">Join…</Button>
        </div>
        <div class="result-figures">
          <Bar share={candidate.containment} label="contained" />
          {candidate.rowCoverage !== null && <span title="Share of your rows with a match">matches {percent(candidate.rowCoverage)} of your rows</span>}
          <FanOut factor={candidate.fanOut} />
        </div>
        <Adds hit={hit} />
        {(candidate.words || hit.reason) && <p class={`reason ${candidate.verdict ?? ""}`} data-testid="verdict">{candidate.words || hit.reason}</p>}
        {hit.examples && !unfolded && (
          <p class="reason">
            {hit.examples.matched.slice(0, 3).map((text) => <span key={text} class="yes">{text}</span>)}
            {hit.examples.unmatched.slice(0, 3).map((text) => <span key={text} class="no">{text}</span>)}
          </p>
        )}
        {hit.members.length > 0 && <p class="quiet versions" title={hit.members.join("\n")} data-testid="members">one of {many(hit.members.length + 1, "file")} with the same columns: {hit.members.slice(0, 2).join(", ")}{hit.members.length > 2 && " …"}</p>}
        {hit.versions.length > 0 && <p class="quiet versions" title={hit.versions.join("\n")}>{many(hit.versions.length, "other version")}: {hit.versions.slice(0, 2).join(", ")}</p>}
      </div>
      {unfolded && <ResultDetails hit={hit} request={request} running={running} />}
    </article>
  );
}
