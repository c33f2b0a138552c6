// Shown when the table or state that a link names cannot be opened.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { upload } from "../api/client";
import { asProblem, type Problem } from "../api/problem";
import { Button, ProblemNote, Working } from "../parts/controls";
import { Icon } from "../parts/icon";
import { nameOfId, stepWords } from "../state/chain";
import { go } from "../state/history";
import type { Work } from "../state/page";
import { again } from "../state/tables";
import { sentence } from "../words/format";

function Message({ title, children, testId }: { title: string; children: ComponentChildren; testId: string }) {
  return (
    <section class="message" data-testid={testId}>
      <Icon name="warn" size={30} />
      <h1>{title}</h1>
      {children}
    </section>
  );
}

const home = () => go({ page: "home" });

export function Unreadable({ why, gone }: { why: string; gone: boolean }) {
  return (
    <Message title={gone ? "This link is no longer stored" : "This link cannot be opened"} testId="unreadable">
      <p>{sentence(why)}</p>
      <div class="message-actions">
        <Button look="primary" onClick={home}>Start over</Button>
      </div>
    </Message>
  );
}

/** Uploads the file again: the same content restores the link, another file runs through the same steps. */
function UploadAgain({ work }: { work: Work }) {
  const picker = useRef<HTMLInputElement>(null);
  const [started, setStarted] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const uploadAgain = async (file: File) => {
    setProblem(null);
    setStarted(performance.now());
    try {
      const { tables } = await upload(file.name, file, {});
      const same = tables.find((table) => table.id === work.chain.start) ?? tables[0];
      if (!same) throw new Error(`No table found in ${file.name}.`);
      if (same.id === work.chain.start) again();
      else go({ page: "work", work: { ...work, chain: { ...work.chain, start: same.id } } });
    } catch (error) {
      setProblem(asProblem(error));
    } finally {
      setStarted(null);
    }
  };
  return (
    <>
      <Button look="primary" icon="upload" disabled={started !== null} onClick={() => picker.current?.click()} testId="upload-again">Upload the file again</Button>
      <input ref={picker} type="file" class="hidden" tabIndex={-1} aria-hidden="true" data-testid="upload-again-input" onChange={(event) => {
        const file = event.currentTarget.files?.[0];
        if (file) void uploadAgain(file);
      }} />
      {started !== null && <Working progress={null} started={started} fallback="Reading the file" />}
      {problem && <ProblemNote problem={problem} />}
    </>
  );
}

/** The chain could not be opened: a table was removed, or something went wrong. */
export function NotOpened({ work, problem }: { work: Work; problem: Problem }) {
  const gone = problem.kind === "gone";
  const uploaded = work.chain.start.startsWith("upload:");
  const title = gone
    ? uploaded ? "The uploaded table is no longer stored" : "This table is no longer stored"
    : problem.kind === "unknown" ? "Table not found in this lake" : "This table cannot be opened";
  return (
    <Message title={title} testId={gone ? "gone" : "not-opened"}>
      <p>{sentence(problem.message)}</p>
      {gone && uploaded && (
        <p>
          Old uploads are deleted when space runs out. Upload the same file and this link works again; upload another file
          to run it through the same steps.
        </p>
      )}
      {work.chain.steps.length > 0 && (
        <ol class="message-steps">
          <li>{nameOfId(work.chain.start)}</li>
          {work.chain.steps.map((step, place) => <li key={place}>{step.kind === "join" ? "joined with " : ""}{stepWords(step)}</li>)}
        </ol>
      )}
      <div class="message-actions">
        {!gone && <Button icon="again" onClick={again}>Try again</Button>}
        {gone && uploaded ? <UploadAgain work={work} /> : null}
        <Button onClick={home}>Start over</Button>
      </div>
    </Message>
  );
}
