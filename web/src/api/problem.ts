// Errors, with the server's message if it sent one.
import type { ProblemBody } from "./types";

export class Problem extends Error {
  readonly kind: string;
  readonly at: ProblemBody["at"];
  readonly limit: string | undefined;

  constructor(body: ProblemBody) {
    super(body.message);
    this.name = "Problem";
    this.kind = body.kind;
    this.at = body.at;
    this.limit = body.limit;
  }

  /** Whether trying again may help. */
  get passing(): boolean {
    return ["busy", "time", "network", "ours"].includes(this.kind);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Turns any error into a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof TypeError) {
    return new Problem({ kind: "network", message: "The server does not respond. Is lakejoin serve still running?" });
  }
  return new Problem({ kind: "ours", message: error instanceof Error ? error.message : String(error) });
}

export async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as { error?: ProblemBody };
    if (body.error?.message) return new Problem(body.error);
  } catch {
    // Not JSON: a proxy between the page and the server answered.
  }
  return new Problem({ kind: "ours", message: `The server answered ${response.status} ${response.statusText}.` });
}
