// The running or last search; its answer improves while it runs.
import { signal } from "@preact/signals";
import { search } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Progress, SearchAnswer, SearchRequest } from "../api/types";

export interface Session {
  key: string;
  request: SearchRequest | null;
  status: "idle" | "running" | "done" | "stopped" | "problem";
  answer: SearchAnswer | null;
  progress: Progress | null;
  problem: Problem | null;
  /** Whether further results are on their way. */
  loadingMore: boolean;
  started: number;
  /** How many milliseconds it took; 0 while it runs. */
  took: number;
}

const IDLE: Session = {
  key: "",
  request: null,
  status: "idle",
  answer: null,
  progress: null,
  problem: null,
  loadingMore: false,
  started: 0,
  took: 0,
};

export const session = signal<Session>(IDLE);

const MAX_ANSWERS = 12;
const answers = new Map<string, Session>();
let running: AbortController | null = null;

/** Starts a search and stops the running one. A recent answer is shown at once. */
export async function startSearch(request: SearchRequest, fresh = false): Promise<void> {
  const key = JSON.stringify(request);
  running?.abort();
  running = null;
  const recent = answers.get(key);
  if (recent && !fresh) {
    session.value = recent;
    return;
  }
  const abort = (running = new AbortController());
  const update = (part: Partial<Session>) => {
    if (running === abort) session.value = { ...session.peek(), ...part };
  };
  session.value = { ...IDLE, key, request, status: "running", started: performance.now() };
  const took = () => performance.now() - session.peek().started;
  try {
    const answer = await search(request, {
      signal: abort.signal,
      onProgress: (progress) => update({ progress }),
      onPartial: (partial) => update({ answer: partial }),
    });
    update({ answer, status: "done", progress: null, took: took() });
    if (running === abort) keep(key, session.peek());
  } catch (error) {
    if (!isAbort(error)) update({ status: "problem", problem: asProblem(error), progress: null, took: took() });
  }
}

/** Adds the next results to those shown; the server takes them from the same search. */
export async function showMore(): Promise<void> {
  const now = session.peek();
  const { answer, request } = now;
  if (now.status !== "done" || now.loadingMore || !answer || !request) return;
  const abort = (running = new AbortController());
  session.value = { ...now, loadingMore: true };
  try {
    const next = await search({ ...request, start: answer.results.length }, { signal: abort.signal });
    if (running !== abort) return;
    const results = [...answer.results, ...next.results];
    session.value = { ...now, answer: { ...answer, results, total: next.total }, loadingMore: false };
    keep(now.key, session.peek());
  } catch (error) {
    if (running === abort && !isAbort(error)) session.value = { ...now, problem: asProblem(error), loadingMore: false };
  }
}

function keep(key: string, value: Session): void {
  answers.set(key, value);
  const oldest = answers.keys().next().value;
  if (answers.size > MAX_ANSWERS && oldest !== undefined) answers.delete(oldest);
}

/** Stops the search and keeps its results so far. */
export function stopSearch(): void {
  if (session.peek().status !== "running") return;
  running?.abort();
  running = null;
  const now = session.peek();
  session.value = { ...now, status: "stopped", progress: null, took: performance.now() - now.started };
}
