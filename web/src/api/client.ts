// The server's functions, one for each address of the API. Every request can be stopped.
import { readEvents } from "./events";
import { Problem, problemOf } from "./problem";
import type * as t from "./types";

const BASE = "/api/v1";

type Query = Record<string, string | number | readonly number[] | undefined>;

export interface Watch<T> {
  signal?: AbortSignal | undefined;
  onProgress?: (progress: t.Progress) => void;
  onPartial?: (body: T) => void;
}

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) for (const one of value) parameters.append(name, String(one));
    else parameters.append(name, String(value));
  }
  const text = parameters.toString();
  return BASE + path + (text ? `?${text}` : "");
}

async function get<T>(path: string, query: Query, signal?: AbortSignal): Promise<T> {
  const response = await fetch(address(path, query), { signal: signal ?? null, headers: { accept: "application/json" } });
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}

async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await fetch(address(path), {
    method: "POST",
    signal: signal ?? null,
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw await problemOf(response);
  return (await response.json()) as T;
}

/** A heavy request: its progress and its partial answers are told while it runs. */
async function watched<T>(url: string, body: BodyInit, type: string, watch: Watch<T>): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    signal: watch.signal ?? null,
    headers: { "content-type": type, accept: "text/event-stream" },
    body,
  });
  if (!response.ok) throw await problemOf(response);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return (await response.json()) as T;
  if (!response.body) throw new Problem({ kind: "network", message: "The server's answer is empty." });
  for await (const { event, data } of readEvents(response.body)) {
    const content = JSON.parse(data) as unknown;
    if (event === "progress") watch.onProgress?.(content as t.Progress);
    if (event === "partial") watch.onPartial?.(content as T);
    if (event === "done") return content as T;
    if (event === "problem") throw new Problem((content as { error: t.ProblemBody }).error);
  }
  throw new Problem({ kind: "network", message: "The connection ended before the answer was there." });
}

function heavy<T>(path: string, body: unknown, watch: Watch<T>): Promise<T> {
  return watched(address(path), JSON.stringify(body), "application/json", watch);
}

export const getInfo = (signal?: AbortSignal) => get<t.LakeInfo>("/info", {}, signal);

export const getTables = (query: { pattern?: string; begin: number; limit: number }, signal?: AbortSignal) =>
  get<{ tables: t.TableEntry[]; total: number }>("/tables", query, signal);

export const find = (text: string, limit: number, signal?: AbortSignal) =>
  get<{ tables: t.Found[]; complete: boolean }>("/find", { text, limit }, signal);

export const getTable = (table: t.TableId, signal?: AbortSignal) => get<t.TableInfo>("/table", { table }, signal);

export const getRows = (
  query: { table: t.TableId; begin: number; end: number; column?: readonly number[] | undefined },
  signal?: AbortSignal,
) => get<t.Rows>("/rows", query, signal);

export const getCell = (table: t.TableId, row: number, column: number, signal?: AbortSignal) =>
  get<{ value: t.Cell }>("/cell", { table, row, column }, signal);

export const getDistribution = (table: t.TableId, column: number, signal?: AbortSignal) =>
  get<t.Distribution>("/distribution", { table, column }, signal);

export const getGraph = (table: t.TableId, hops: number, limit: number, signal?: AbortSignal) =>
  get<t.Graph>("/graph", { table, hops, limit }, signal);

export const getLink = (id: string) => get<{ state: string }>(`/links/${encodeURIComponent(id)}`, {});
export const makeLink = (state: string) => post<{ id: string }>("/links", { state });

export const exportAddress = (table: t.TableId, format: "csv" | "parquet" | "arrow") =>
  address("/export", { table, format });

export const upload = (name: string, content: Blob | string, watch: Watch<t.Uploaded>) =>
  watched(address("/uploads", { name }), content, "application/octet-stream", watch);

export const search = (asked: t.SearchAsked, watch: Watch<t.SearchAnswer>) => heavy("/search", asked, watch);

export const explain = (asked: t.SearchAsked, rank: number, limit: number, watch: Watch<t.Explained>) =>
  heavy("/explain", { search: asked, rank, limit }, watch);

export const previewJoin = (left: t.TableId, join: t.JoinSettings, rows: number, watch: Watch<t.JoinPreview>) =>
  heavy("/join", { ...join, left, rows }, watch);

export const runChain = (chain: t.Chain, watch: Watch<t.ChainTables>) => heavy("/chains", chain, watch);

export const getCode = (chain: t.Chain, as: t.CodeAs, signal?: AbortSignal) =>
  post<t.Code>("/code", { chain, as }, signal);
