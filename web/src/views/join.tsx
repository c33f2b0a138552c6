// Sets up a join, previews it and runs it.
import { useEffect, useState } from "preact/hooks";
import { previewJoin } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { JoinFound, JoinPreview, JoinSettings, Progress, TableInfo } from "../api/types";
import { Button, Empty, ProblemNote, TableName, Working } from "../parts/controls";
import { nameOfId } from "../state/chain";
import { changeView } from "../state/history";
import type { Work } from "../state/page";
import { many } from "../words/format";
import { JoinGrid } from "./join-grid";
import { JoinColumns, JoinControls, JoinWords } from "./join-settings";
import { runStep } from "./run-step";

const PREVIEW_ROWS = 60;

/** How many rows each join type gives; one preview is enough to know all four. */
export function rowsOf(found: JoinFound): Record<JoinSettings["how"], number> {
  const left = found.left_rows - found.left_joined;
  const right = found.right_rows - found.right_joined;
  return { inner: found.pairs, left: found.pairs + left, right: found.pairs + right, full: found.pairs + left + right };
}

function usePreview(left: TableInfo, settings: JoinSettings) {
  const [body, setBody] = useState<JoinPreview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [started, setStarted] = useState(performance.now());
  const [busy, setBusy] = useState(true);
  // The join type and the columns to keep do not change which rows match: no new preview for these.
  const { how: _how, columns: _columns, ...matching } = settings;
  const key = JSON.stringify([left.id, matching]);
  useEffect(() => {
    const request = new AbortController();
    setProblem(null);
    setProgress(null);
    setBusy(true);
    setStarted(performance.now());
    const timer = setTimeout(() => {
      previewJoin(left.id, { ...matching, how: "inner" }, PREVIEW_ROWS, { signal: request.signal, onProgress: setProgress }).then(
        (got) => {
          setBody(got);
          setBusy(false);
        },
        (error) => {
          if (isAbort(error)) return;
          setBusy(false);
          setBody(null);
          setProblem(asProblem(error));
        },
      );
    }, 60);
    return () => {
      clearTimeout(timer);
      request.abort();
    };
  }, [key]);
  return { body, problem, progress, started, busy };
}

export function JoinView({ work, left, settings }: { work: Work; left: TableInfo; settings: JoinSettings }) {
  const { body, problem, progress, started, busy } = usePreview(left, settings);
  const [run, setRun] = useState<{ stop: AbortController; started: number; progress: Progress | null } | null>(null);
  const [failed, setFailed] = useState<Problem | null>(null);
  const found = body && body.found !== false ? body : null;
  const set = (next: JoinSettings) => changeView({ join: next });
  const close = () => changeView({ join: undefined }, "push");

  const start = async () => {
    if (!found || run) return;
    const stop = new AbortController();
    const since = performance.now();
    setRun({ stop, started: since, progress: null });
    setFailed(null);
    try {
      await runStep(work, { kind: "join", ...settings }, { signal: stop.signal, onProgress: (now) => setRun({ stop, started: since, progress: now }) });
    } catch (error) {
      if (!isAbort(error)) setFailed(asProblem(error));
    } finally {
      setRun(null);
    }
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void start();
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });

  const right = found?.right ?? nameOfId(settings.right);
  const count = found ? rowsOf(found) : null;
  const names = settings.columns ?? found?.columns ?? [];
  return (
    <div class="join" data-testid="join-view">
      <header class="join-bar">
        <Button icon="back" look="ghost" onClick={close} testId="join-back">Back</Button>
        <h1 class="join-title">
          <span class="mine"><TableName name={left.table} /></span>
          <span class="join-sign" aria-label="joined with">⋈</span>
          <span class="theirs"><TableName name={right} /></span>
        </h1>
        <span class="space" />
        {count && (
          <span class="join-size" data-testid="join-rows">
            {many(count[settings.how], "row")} × {many(names.length, "column")}
          </span>
        )}
        <Button look="primary" icon="play" disabled={!found || busy || run !== null || names.length === 0} onClick={() => void start()} testId="join-run" title="Ctrl+Enter">
          Run join
        </Button>
      </header>
      {run && <Working progress={run.progress} started={run.started} onStop={() => run.stop.abort()} fallback="Joining" />}
      {failed && <ProblemNote problem={failed} />}
      <div class="join-body">
        <div class="join-side">
          <JoinControls settings={settings} count={count} onChange={set} />
          {found && <JoinWords found={found} />}
          {found && <JoinColumns found={found} settings={settings} onChange={set} />}
        </div>
        <div class="join-main">
          {busy && <Working progress={progress} started={started} fallback="Finding how the tables join" />}
          {problem && <ProblemNote problem={problem} />}
          {body?.found === false && (
            <Empty icon="equal" title="No join found">
              <p>{body.why}</p>
              {body.attempt && <p>Best attempt: {body.attempt.words} ({body.attempt.why})</p>}
              {body.notes.map((note) => <p key={note}>{note}</p>)}
            </Empty>
          )}
          {found?.warnings.map((warning) => <p key={warning} class="warning" data-testid="join-warning">{warning}</p>)}
          {found && <JoinGrid found={found} settings={settings} stale={busy} />}
          {!body && busy && <div class="opening-grid" aria-hidden="true" />}
        </div>
      </div>
    </div>
  );
}
