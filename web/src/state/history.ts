// Keeps the page and the browser's history in sync.
import { getLink, makeLink } from "../api/client";
import { asProblem } from "../api/problem";
import { encodeWork, fromFragment, toFragment } from "./fragment";
import { type Page, type View, type Work, page } from "./page";

/** Longer states are shared as a short link. */
export const LONG = 2000;

let writing: Promise<void> = Promise.resolve();

/** Shows a page; `push` adds it to the browser's history. */
export function go(next: Page, mode: "push" | "replace" = "push"): void {
  page.value = next;
  writing = writing.then(async () => {
    const url = location.pathname + location.search + (await toFragment(next));
    if (mode === "push") history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  });
}

/** Changes the open work, if there is one. */
export function change(how: (work: Work) => Work, mode: "push" | "replace" = "replace"): void {
  const now = page.value;
  if (now.page === "work") go({ page: "work", work: how(now.work) }, mode);
}

export function changeView(part: Partial<View>, mode: "push" | "replace" = "replace"): void {
  change((work) => ({ ...work, view: { ...work.view, ...part } }), mode);
}

async function read(): Promise<void> {
  await writing;
  try {
    page.value = await fromFragment(location.hash, async (id) => (await getLink(id)).state);
  } catch (error) {
    const problem = asProblem(error);
    page.value = { page: "unreadable", why: problem.message, gone: problem.kind === "gone" };
  }
}

export function startHistory(): Promise<void> {
  addEventListener("popstate", () => void read());
  return read();
}

/** The address to share: the whole state, or a short link if that is too long. */
export async function shareAddress(work: Work): Promise<{ url: string; short: boolean }> {
  const state = await encodeWork(work);
  const base = location.origin + location.pathname;
  if (state.length + 1 <= LONG) return { url: `${base}#${state}`, short: false };
  return { url: `${base}#l.${(await makeLink(state)).id}`, short: true };
}
