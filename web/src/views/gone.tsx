// What to show when what a link names is no longer there.
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
        <Button look="primary" onClick={home}>Start afresh</Button>
      </div>
    </Message>
  );
}

/** The file once more: the same content opens the same link, another one goes through the same steps. */
function BringAgain({ work }: { work: Work }) {
  const picker = useRef<HTMLInputElement>(null);
  const [started, setStarted] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const bring = async (file: File) => {
    setProblem(null);
    setStarted(performance.now());
    try {
      const { tables } = await upload(file.name, file, {});
      const same = tables.find((table) => table.id === work.chain.start) ?? tables[0];
      if (!same) throw new Error(`${file.name} holds no table.`);
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
      <Button look="primary" icon="upload" disabled={started !== null} onClick={() => picker.current?.click()} testId="bring-again">Bring the file again</Button>
      <input ref={picker} type="file" class="hidden" tabIndex={-1} aria-hidden="true" data-testid="bring-again-input" onChange={(event) => {
        const file = event.currentTarget.files?.[0];
        if (file) void bring(file);
      }} />
      {started !== null && <Working progress={null} started={started} fallback="Reading it" />}
      {problem && <ProblemNote problem={problem} />}
    </>
  );
}

/** The chain could not be opened: a table has gone, or something else went wrong. */
export function NotOpened({ work, problem }: { work: Work; problem: Problem }) {
  const gone = problem.kind === "gone";
  const uploaded = work.chain.start.startsWith("upload:");
  const title = gone
    ? uploaded ? "The uploaded table is no longer stored" : "This table has gone"
    : problem.kind === "unknown" ? "No such table in this lake" : "This could not be opened";
  return (
    <Message title={title} testId={gone ? "gone" : "not-opened"}>
      <p>{sentence(problem.message)}</p>
      {gone && uploaded && (
        <p>
          Uploads are kept as long as there is room for them. Bring the same file and this very link works again, as a
          table is known by its content; another file goes through the same steps.
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
        {gone && uploaded ? <BringAgain work={work} /> : null}
        <Button onClick={home}>Start afresh</Button>
      </div>
    </Message>
  );
}
