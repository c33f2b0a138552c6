// Small components that many views share.
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../api/problem";
import type { Progress } from "../api/types";
import { percent, seconds, sentence } from "../words/format";
import { Icon, type IconName } from "./icon";

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon"> & {
  icon?: IconName;
  look?: "plain" | "primary" | "ghost";
  testId?: string;
  children?: ComponentChildren;
};

export function Button({ icon, look = "plain", testId, children, class: extra = "", ...rest }: ButtonProps) {
  return (
    <button type="button" class={`button ${look} ${children ? "" : "only-icon"} ${String(extra)}`} data-testid={testId} {...rest}>
      {icon && <Icon name={icon} size={15} />}
      {children}
    </button>
  );
}

/** A share as a bar with a percentage. */
export function Bar({ share, side = "mine", label }: { share: number; side?: "mine" | "theirs"; label?: string }) {
  return (
    <span class={`bar ${side}`} role="img" aria-label={`${label ?? ""} ${percent(share)}`.trim()}>
      <span class="bar-track">
        <span class="bar-fill" style={{ width: `${Math.min(100, Math.max(share > 0 ? 1.5 : 0, share * 100))}%` }} />
      </span>
      <span class="bar-number">{percent(share)}</span>
    </span>
  );
}

/** Counts the seconds since `started` while something runs. */
export function Elapsed({ started }: { started: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return <span class="elapsed">{seconds(Math.max(0, now - started) / 1000)}</span>;
}

export function Working({ progress, started, onStop, fallback = "Working" }: {
  progress: Progress | null;
  started: number;
  onStop?: () => void;
  fallback?: string;
}) {
  return (
    <div class="working" role="status" data-testid="working">
      <span class="working-line" />
      <span class="working-words">{progress?.doing || fallback}…</span>
      <Elapsed started={started} />
      {onStop && <Button icon="stop" onClick={onStop} testId="stop">Stop</Button>}
    </div>
  );
}

/** An error message, with a retry button where that may help. */
export function ProblemNote({ problem, onAgain, children }: {
  problem: Problem;
  onAgain?: (() => void) | undefined;
  children?: ComponentChildren;
}) {
  return (
    <div class="problem" role="alert" data-testid="problem" data-kind={problem.kind}>
      <Icon name="warn" size={18} />
      <div class="problem-words">
        <p>{sentence(problem.message)}</p>
        {children}
        {onAgain && <Button icon="again" onClick={onAgain}>Try again</Button>}
      </div>
    </div>
  );
}

/** A placeholder for an empty area, with a hint. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={26} />
      <p class="empty-title">{title}</p>
      {children && <div class="empty-words">{children}</div>}
    </div>
  );
}

/** A table's name with its folders in a muted color, truncated at the front. */
export function TableName({ name }: { name: string }) {
  const cut = name.lastIndexOf("/") + 1;
  return (
    <span class="table-name" title={name}>
      {cut > 0 && <span class="table-folder">{name.slice(0, cut)}</span>}
      <span class="table-file">{name.slice(cut)}</span>
    </span>
  );
}

/** Arrow keys move between the buttons of a tab list or radio group. */
export function arrows(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab], [role=radio]")];
  const here = buttons.indexOf(document.activeElement as HTMLElement);
  if (here < 0) return;
  event.preventDefault();
  const next = buttons[(here + step + buttons.length) % buttons.length];
  next?.focus();
  next?.click();
}
