// What to show when what a link names is no longer there.
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { Button } from "../parts/controls";
import { Icon } from "../parts/icon";
import { nameOfId, stepWords } from "../state/chain";
import { go } from "../state/history";
import type { Work } from "../state/page";
import { again } from "../state/tables";

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
      <p>{why}</p>
      <div class="message-actions">
        <Button look="primary" onClick={home}>Start afresh</Button>
      </div>
    </Message>
  );
}

/** The chain could not be opened: a table has gone, or something else went wrong. */
export function NotOpened({ work, problem }: { work: Work; problem: Problem }) {
  const gone = problem.kind === "gone";
  const upload = work.chain.start.startsWith("upload:");
  const title = gone
    ? upload ? "The uploaded table is no longer stored" : "This table has gone"
    : problem.kind === "unknown" ? "No such table in this lake" : "This could not be opened";
  return (
    <Message title={title} testId={gone ? "gone" : "not-opened"}>
      <p>{problem.message}</p>
      {gone && upload && (
        <p>
          Uploads are kept as long as there is room for them. Bring the same file once more and this very link works
          again: a table is known by its content.
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
        <Button look="primary" icon="upload" onClick={home}>Bring a table</Button>
      </div>
    </Message>
  );
}
