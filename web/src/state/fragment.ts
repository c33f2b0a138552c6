// The state as the address's fragment: #v1. and the state's JSON, deflated, in base64url.
import { type Page, type Work, isWork, mended } from "./page";

const VERSION = "v1.";
const LAKE = "lake";

async function pass(bytes: Uint8Array<ArrayBuffer>, through: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(through as ReadableWritablePair<Uint8Array, BufferSource>);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (one) => one.charCodeAt(0));
}

export async function encodeWork(work: Work): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(work));
  return VERSION + toBase64Url(await pass(bytes, new CompressionStream("deflate-raw")));
}

export async function decodeWork(text: string): Promise<Work> {
  if (!text.startsWith(VERSION)) throw new Error("This link is of a version that this page does not know.");
  try {
    const bytes = await pass(fromBase64Url(text.slice(VERSION.length)), new DecompressionStream("deflate-raw"));
    const work: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (isWork(work)) return mended(work);
  } catch {
    // Told below, in one sentence for whatever went wrong.
  }
  throw new Error("This link is damaged: perhaps a part of it was lost when it was copied.");
}

/** The fragment of a page, with its #; empty for the first page. */
export async function toFragment(page: Page): Promise<string> {
  if (page.page === "work") return "#" + (await encodeWork(page.work));
  if (page.page === "lake") return `#${LAKE}` + (page.table ? `.${encodeURIComponent(page.table)}` : "");
  return "";
}

/** The page of a fragment; `follow` fetches what a short link stands for. */
export async function fromFragment(fragment: string, follow: (id: string) => Promise<string>): Promise<Page> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return { page: "home" };
  if (text === LAKE) return { page: "lake" };
  if (text.startsWith(`${LAKE}.`)) return { page: "lake", table: decodeURIComponent(text.slice(LAKE.length + 1)) };
  if (text.startsWith("l.")) return { page: "work", work: await decodeWork(await follow(text.slice(2))) };
  return { page: "work", work: await decodeWork(text) };
}
