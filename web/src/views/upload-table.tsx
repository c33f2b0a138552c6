// Uploads a table: a dropped or chosen file, or rows pasted from a spreadsheet.
import { useEffect, useRef, useState } from "preact/hooks";
import { upload } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { LakeInfo, Progress, TableInfo, UploadAnswer } from "../api/types";
import { Button, ProblemNote, Working } from "../parts/controls";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { startWork } from "../state/chain";
import { go } from "../state/history";
import { remember } from "../state/tables";
import { bytes, many, whole } from "../words/format";

function start(table: TableInfo): void {
  const work = startWork(table.id);
  remember(work.chain, [table]);
  go({ page: "work", work });
}

function Sheets({ uploaded, onClose }: { uploaded: UploadAnswer; onClose: () => void }) {
  return (
    <Dialog title="Which table?" onClose={onClose} testId="sheets">
      <ul class="sheets">
        {uploaded.tables.map((table) => (
          <li key={table.id}>
            <button type="button" onClick={() => start(table)} data-testid="sheet">
              <Icon name="sheet" />
              <span>{table.table}</span>
              <span class="quiet">{many(table.rows, "row")} × {many(table.columns.length, "column")}</span>
            </button>
          </li>
        ))}
      </ul>
      {uploaded.skipped.map(({ name, reason, detail }) => <p key={name} class="note">{name}: {reason}{detail ? ` (${detail})` : ""}</p>)}
    </Dialog>
  );
}

export function UploadTable({ info }: { info: LakeInfo | null }) {
  const picker = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const [pasting, setPasting] = useState(false);
  const [run, setRun] = useState<{ stop: AbortController; started: number; name: string; progress: Progress | null } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [sheets, setSheets] = useState<UploadAnswer | null>(null);

  const uploadTable = async (name: string, content: Blob | string) => {
    const stop = new AbortController();
    const started = { stop, started: performance.now(), name };
    setProblem(null);
    setRun({ ...started, progress: null });
    try {
      const uploaded = await upload(name, content, { signal: stop.signal, onProgress: (progress) => setRun({ ...started, progress }) });
      const [only, ...more] = uploaded.tables;
      if (only && more.length === 0) start(only);
      else if (only) setSheets(uploaded);
      else {
        const why = uploaded.skipped[0];
        throw new Error(why ? `${why.name}: ${why.reason}${why.detail ? ` (${why.detail})` : ""}` : `No table found in ${name}.`);
      }
    } catch (error) {
      if (!isAbort(error)) setProblem(asProblem(error));
    } finally {
      setRun(null);
    }
  };
  const paste = (text: string) => text.trim() && void uploadTable("pasted.tsv", text);

  useEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      if (event.target instanceof HTMLElement && event.target.closest("input, textarea")) return;
      const file = event.clipboardData?.files[0];
      const text = event.clipboardData?.getData("text/plain") ?? "";
      event.preventDefault();
      if (file) void uploadTable(file.name, file);
      else paste(text);
    };
    const onDragOver = (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    };
    const onDragLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) void uploadTable(file.name, file);
    };
    addEventListener("paste", onPaste);
    addEventListener("dragover", onDragOver);
    addEventListener("dragleave", onDragLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("paste", onPaste);
      removeEventListener("dragover", onDragOver);
      removeEventListener("dragleave", onDragLeave);
      removeEventListener("drop", onDrop);
    };
  }, []);

  const limits = info?.limits;
  return (
    <section class={`upload ${over ? "over" : ""}`} aria-label="Upload a table" data-testid="drop-zone">
      <h2><Icon name="upload" /> Upload a table</h2>
      {run ? (
        <div class="upload-run">
          <p><strong>{run.name}</strong></p>
          <Working progress={run.progress} started={run.started} onStop={() => run.stop.abort()} fallback="Reading the file" />
        </div>
      ) : pasting ? (
        <form class="upload-paste" onSubmit={(event) => {
          event.preventDefault();
          paste((event.currentTarget.elements.namedItem("rows") as HTMLTextAreaElement).value);
        }}>
          <textarea
            name="rows" class="input" rows={6} placeholder={"name\tcountry\nOslo\tNO\nTurku\tFI"} aria-label="Rows pasted from a spreadsheet" data-testid="paste-box"
            spellcheck={false} ref={(element) => element?.focus()}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.currentTarget.form?.requestSubmit()}
          />
          <div class="upload-actions">
            <Button type="submit" look="primary" testId="paste-go">Use these rows</Button>
            <Button look="ghost" onClick={() => setPasting(false)}>Cancel</Button>
          </div>
        </form>
      ) : (
        <div class="drop">
          <Icon name="file" size={30} />
          <p class="drop-words">{over ? "Drop to upload" : "Drop a CSV, Parquet or Excel file"}</p>
          <div class="upload-actions">
            <Button look="primary" onClick={() => picker.current?.click()} testId="choose-file">Choose a file</Button>
            <Button icon="paste" onClick={() => setPasting(true)} testId="paste-open">Paste rows</Button>
          </div>
          <p class="quiet drop-limits">
            or paste with <kbd>Ctrl V</kbd>
            {limits?.upload_bytes ? ` · up to ${bytes(limits.upload_bytes)}` : ""}
            {limits?.upload_rows ? ` and ${whole(limits.upload_rows)} rows` : ""}
          </p>
        </div>
      )}
      <input
        ref={picker} type="file" class="hidden" tabIndex={-1} aria-hidden="true" data-testid="file-input"
        accept=".csv,.tsv,.txt,.dat,.parquet,.xlsx,.xls,.xlsb,.ods,.json,.jsonl,.ndjson,.arrow,.feather,.avro,.orc,.gz"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) void uploadTable(file.name, file);
        }}
      />
      {problem && <ProblemNote problem={problem} />}
      {sheets && <Sheets uploaded={sheets} onClose={() => setSheets(null)} />}
    </section>
  );
}
