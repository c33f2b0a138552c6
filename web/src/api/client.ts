// One function per endpoint of the REST API. Every request can be aborted.
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
    if (Array.isArray(value)) for (const item of value) parameters.append(name, String(item));
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

/** A long request that reports progress and partial answers. */
async function watched<T>(url: string, body: BodyInit, type: string, watch: Watch<T>): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    signal: watch.signal ?? null,
    headers: { "content-type": type, accept: "text/event-stream" },
    body,
  });
  if (!response.ok) throw await problemOf(response);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return (await response.json()) as T;
  if (!response.body) throw new Problem({ kind: "network", message: "The server sent an empty answer." });
  for await (const { event, data } of readEvents(response.body)) {
    const content = JSON.parse(data) as unknown;
    if (event === "progress") watch.onProgress?.(content as t.Progress);
    if (event === "partial") watch.onPartial?.(content as T);
    if (event === "done") return content as T;
    if (event === "problem") throw new Problem((content as { error: t.ProblemBody }).error);
  }
  throw new Problem({ kind: "network", message: "The connection closed before the answer was complete." });
}

function heavy<T>(path: string, body: unknown, watch: Watch<T>): Promise<T> {
  return watched(address(path), JSON.stringify(body), "application/json", watch);
}

export const getInfo = (signal?: AbortSignal) => get<t.LakeInfo>("/info", {}, signal);

export const getTables = (query: { pattern?: string; begin: number; limit: number }, signal?: AbortSignal) =>
  get<{ tables: t.TableEntry[]; total: number }>("/tables", query, signal);

export const find = (text: string, limit: number, signal?: AbortSignal) =>
  get<{ tables: t.FindResult[]; complete: boolean }>("/find", { text, limit }, signal);

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

export const upload = (name: string, content: Blob | string, watch: Watch<t.UploadAnswer>) =>
  watched(address("/uploads", { name }), content, "application/octet-stream", watch);

export const search = (request: t.SearchRequest, watch: Watch<t.SearchAnswer>) => heavy("/search", request, watch);

export const explain = (request: t.SearchRequest, rank: number, limit: number, watch: Watch<t.Explanation>) =>
  heavy("/explain", { search: request, rank, limit }, watch);

export const previewJoin = (left: t.TableId, join: t.JoinSettings, rows: number, watch: Watch<t.JoinPreview>) =>
  heavy("/join", { ...join, left, rows }, watch);

export const runChain = (chain: t.Chain, watch: Watch<t.ChainTables>) => heavy("/chains", chain, watch);

export const getCode = (chain: t.Chain, as: t.CodeAs, signal?: AbortSignal) =>
  post<t.Code>("/code", { chain, as }, signal);
