// The search that is running or was run last. Its answer gets better while it runs.
import { signal } from "@preact/signals";
import { search } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Progress, SearchAnswer, SearchAsked } from "../api/types";

export interface Session {
  key: string;
  asked: SearchAsked | null;
  status: "idle" | "running" | "done" | "stopped" | "problem";
  answer: SearchAnswer | null;
  progress: Progress | null;
  problem: Problem | null;
  started: number;
  /** How many milliseconds it took; 0 while it runs. */
  took: number;
}

const IDLE: Session = {
  key: "",
  asked: null,
  status: "idle",
  answer: null,
  progress: null,
  problem: null,
  started: 0,
  took: 0,
};

export const session = signal<Session>(IDLE);

const KEPT = 12;
const answers = new Map<string, Session>();
let running: AbortController | null = null;

/** Starts a search; the one that was running is stopped. An answer that is still here is shown at once. */
export async function startSearch(asked: SearchAsked, fresh = false): Promise<void> {
  const key = JSON.stringify(asked);
  running?.abort();
  running = null;
  const kept = answers.get(key);
  if (kept && !fresh) {
    session.value = kept;
    return;
  }
  const own = (running = new AbortController());
  const update = (part: Partial<Session>) => {
    if (running === own) session.value = { ...session.peek(), ...part };
  };
  session.value = { ...IDLE, key, asked, status: "running", started: performance.now() };
  const took = () => performance.now() - session.peek().started;
  try {
    const answer = await search(asked, {
      signal: own.signal,
      onProgress: (progress) => update({ progress }),
      onPartial: (partial) => update({ answer: partial }),
    });
    update({ answer, status: "done", progress: null, took: took() });
    if (running === own) keep(key, session.peek());
  } catch (error) {
    if (!isAbort(error)) update({ status: "problem", problem: asProblem(error), progress: null, took: took() });
  }
}

function keep(key: string, value: Session): void {
  answers.set(key, value);
  const oldest = answers.keys().next().value;
  if (answers.size > KEPT && oldest !== undefined) answers.delete(oldest);
}

/** Stops the search and keeps what it has found so far. */
export function stopSearch(): void {
  if (session.peek().status !== "running") return;
  running?.abort();
  running = null;
  const now = session.peek();
  session.value = { ...now, status: "stopped", progress: null, took: performance.now() - now.started };
}

export function clearSearch(): void {
  running?.abort();
  running = null;
  session.value = IDLE;
}
