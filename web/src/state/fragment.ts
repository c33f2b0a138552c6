// Stores the state in the URL fragment: #v1. and its JSON, deflated, in base64url.
import { type Page, type Work, isWork, repairWork } from "./page";

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
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

export async function encodeWork(work: Work): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(work));
  return VERSION + toBase64Url(await pass(bytes, new CompressionStream("deflate-raw")));
}

export async function decodeWork(text: string): Promise<Work> {
  if (!text.startsWith(VERSION)) throw new Error("This link is from a version of lakejoin that this page does not support.");
  try {
    const bytes = await pass(fromBase64Url(text.slice(VERSION.length)), new DecompressionStream("deflate-raw"));
    const work: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (isWork(work)) return repairWork(work);
  } catch {
    // Reported below, with one message for every cause.
  }
  throw new Error("This link is damaged; part of it may be missing.");
}

/** The fragment of a page, with #; empty for the home page. */
export async function toFragment(page: Page): Promise<string> {
  if (page.page === "work") return "#" + (await encodeWork(page.work));
  if (page.page === "lake") return `#${LAKE}` + (page.table ? `.${encodeURIComponent(page.table)}` : "");
  return "";
}

/** The page of a fragment; `follow` fetches the state of a short link. */
export async function fromFragment(fragment: string, follow: (id: string) => Promise<string>): Promise<Page> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return { page: "home" };
  if (text === LAKE) return { page: "lake" };
  if (text.startsWith(`${LAKE}.`)) return { page: "lake", table: decodeURIComponent(text.slice(LAKE.length + 1)) };
  if (text.startsWith("l.")) return { page: "work", work: await decodeWork(await follow(text.slice(2))) };
  return { page: "work", work: await decodeWork(text) };
}
