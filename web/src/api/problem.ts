// What went wrong, in the words of the server or, where there was none, in ours.
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

  /** Whether asking once more may help. */
  get passing(): boolean {
    return ["busy", "time", "network", "ours"].includes(this.kind);
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Any error as a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof TypeError) {
    return new Problem({ kind: "network", message: "The server does not answer. Is lakejoin serve still running?" });
  }
  return new Problem({ kind: "ours", message: error instanceof Error ? error.message : String(error) });
}

export async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as { error?: ProblemBody };
    if (body.error?.message) return new Problem(body.error);
  } catch {
    // No JSON: something between the page and the server answered.
  }
  return new Problem({ kind: "ours", message: `The server answered ${response.status} ${response.statusText}.` });
}
