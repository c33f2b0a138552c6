// SQL over the open table; the editor is loaded on first use.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Progress, TableInfo } from "../api/types";
import { Button, ProblemNote, Working } from "../parts/controls";
import type { SqlEditor } from "../parts/sql-editor";
import { stepBefore } from "../state/chain";
import { changeView } from "../state/history";
import type { Work } from "../state/page";
import { many } from "../words/format";
import { runStep } from "./run-step";

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function firstQuery(table: TableInfo): string {
  const names = table.columns.slice(0, 6).map((column) => quoted(column.column));
  return `SELECT ${names.join(", ") || "*"}\nFROM result\nLIMIT 100`;
}

export function SqlView({ work, table }: { work: Work; table: TableInfo }) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<SqlEditor | null>(null);
  const before = stepBefore(work.chain, work.at);
  const previous = before?.kind === "sql" ? before : null;
  const [problem, setProblem] = useState<Problem | null>(null);
  const [run, setRun] = useState<{ stop: AbortController; started: number; progress: Progress | null } | null>(null);
  const text = useRef(work.view.sql ?? previous?.sql ?? firstQuery(table));

  const start = async (replace: boolean) => {
    const sql = text.current.trim();
    if (!sql || run) return;
    const stop = new AbortController();
    const since = performance.now();
    setProblem(null);
    editor.current?.mark(null);
    setRun({ stop, started: since, progress: null });
    try {
      const watch = { signal: stop.signal, onProgress: (progress: Progress) => setRun({ stop, started: since, progress }) };
      await runStep(work, { kind: "sql", sql }, watch, replace ? work.at - 1 : work.at, "sql");
    } catch (error) {
      if (!isAbort(error)) {
        const now = asProblem(error);
        setProblem(now);
        editor.current?.mark(now);
      }
    } finally {
      setRun(null);
    }
  };
  const latest = useRef(start);
  latest.current = start;
  const replaces = previous !== null;

  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout>;
    void import("../parts/sql-editor").then(({ openEditor }) => {
      if (gone || !box.current) return;
      editor.current = openEditor(box.current, {
        text: text.current,
        columns: table.columns.map((column) => ({ name: column.column, type: column.type })),
        onChange: (now) => {
          text.current = now;
          clearTimeout(timer);
          timer = setTimeout(() => changeView({ sql: now }), 400);
        },
        onRun: () => void latest.current(replaces),
      });
      editor.current.focus();
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      editor.current?.close();
      editor.current = null;
    };
  }, [table.id]);

  return (
    <section class="sql" aria-label="SQL" data-testid="sql-view">
      <div class="sql-box" ref={box} data-testid="sql-editor"><div class="sql-waiting" /></div>
      <div class="sql-bar">
        <Button look="primary" icon="play" disabled={run !== null} onClick={() => void start(replaces)} testId="sql-run" title="Ctrl+Enter">
          {replaces ? "Run again" : "Run"}
        </Button>
        {replaces && <Button icon="plus" disabled={run !== null} onClick={() => void start(false)} testId="sql-new">Run as new step</Button>}
        <span class="quiet wide-only">
          {replaces
            ? `the query of this step; a new step queries the table below as result`
            : `the table is called result; its ${many(table.columns.length, "column")} complete as you type`}
        </span>
        <span class="space" />
        <kbd class="wide-only">Ctrl ↵</kbd>
      </div>
      {run && <Working progress={run.progress} started={run.started} onStop={() => run.stop.abort()} fallback="Running the query" />}
      {problem && <ProblemNote problem={problem}>{problem.at && <p class="quiet">line {problem.at.line}, column {problem.at.column}</p>}</ProblemNote>}
    </section>
  );
}
