// Exports the open table as a file, or all steps as code.
import { useEffect, useState } from "preact/hooks";
import { exportAddress, getCode } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Code, CodeAs } from "../api/types";
import { arrows, Button, ProblemNote } from "../parts/controls";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { copyText } from "../parts/toast";
import { upTo } from "../state/chain";
import type { Work } from "../state/page";
import { opened } from "../state/tables";
import { many } from "../words/format";

const FILES = [
  { format: "csv", name: "CSV", what: "for spreadsheets and most tools" },
  { format: "parquet", name: "Parquet", what: "compact and typed, for data tools" },
  { format: "arrow", name: "Arrow", what: "for pandas, Polars and DuckDB" },
] as const;

const CODES: { as: CodeAs; name: string }[] = [
  { as: "python", name: "Python" },
  { as: "notebook", name: "Notebook" },
  { as: "sql", name: "SQL" },
  { as: "pyspark", name: "PySpark" },
];

function save(code: Code): void {
  const url = URL.createObjectURL(new Blob([code.code], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = code.filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function CodeBox({ work }: { work: Work }) {
  const [as, setAs] = useState<CodeAs>("python");
  const [code, setCode] = useState<Code | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const request = new AbortController();
    setCode(null);
    setProblem(null);
    getCode(upTo(work.chain, work.at), as, request.signal).then(setCode, (error) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    });
    return () => request.abort();
  }, [as]);
  return (
    <section class="code-box">
      <div class="code-bar">
        <div class="segments" role="tablist" onKeyDown={arrows} aria-label="Language">
          {CODES.map((target) => (
            <button
              key={target.as} type="button" role="tab" aria-selected={as === target.as} onClick={() => setAs(target.as)}
              data-testid={`code-${target.as}`}
            >
              {target.name}
            </button>
          ))}
        </div>
        <span class="space" />
        <Button icon="copy" disabled={!code} testId="code-copy" onClick={() => code && void copyText(code.code, "Code copied")}>Copy</Button>
        <Button icon="download" disabled={!code} testId="code-save" onClick={() => code && save(code)}>{code?.filename ?? "Save"}</Button>
      </div>
      {problem ? <ProblemNote problem={problem} /> : <pre class="code" tabIndex={0} data-testid="code">{code?.code ?? " "}</pre>}
      {code?.notes.map((note) => <p key={note} class="note">{note}</p>)}
    </section>
  );
}

export function ExportButton({ work }: { work: Work }) {
  const [shown, setShown] = useState(false);
  const table = opened.value.tables?.[work.at];
  return (
    <>
      <Button icon="download" look="ghost" disabled={!table} onClick={() => setShown(true)} testId="export" title="Download, or copy as code">
        <span class="wide-only">Export</span>
      </Button>
      {shown && table && (
        <Dialog title="Export" wide onClose={() => setShown(false)} testId="export-dialog">
          <p class="dialog-words">{table.table} · {many(table.rows, "row")}, {many(table.columns.length, "column")}</p>
          <div class="files">
            {FILES.map(({ format, name, what }) => (
              <a key={format} class="file" href={exportAddress(table.id, format)} download data-testid={`export-${format}`}>
                <Icon name="download" />
                <span><strong>{name}</strong><small>{what}</small></span>
              </a>
            ))}
          </div>
          <h3>Or export all steps as code</h3>
          <CodeBox work={work} />
        </Dialog>
      )}
    </>
  );
}
