import { beforeEach, expect, test, vi } from "vitest";
import type { FusedResult, SearchAnswer, SearchRequest } from "../src/api/types";

const asked: SearchRequest[] = [];
const TOTAL = 5;

function answer(request: SearchRequest): SearchAnswer {
  const start = request.start ?? 0;
  const ranks = Array.from({ length: Math.max(0, Math.min(2, TOTAL - start)) }, (_, at) => start + at + 1);
  const results = ranks.map((rank) => ({ rank, table: `t${rank}` }) as FusedResult);
  return { query: { table: "mine" }, by: "fused", k: 2, total: TOTAL, results, notes: [], seconds: 0, final: true, cached: false };
}

vi.mock("../src/api/client", () => ({
  search: async (request: SearchRequest) => {
    asked.push(request);
    return answer(request);
  },
}));

const { session, showMore, startSearch } = await import("../src/state/searching");
const request: SearchRequest = { table: "lake:mine", on: null, by: "fused", k: 2 };

beforeEach(() => {
  asked.length = 0;
});

test("further results are added to those shown, until all are there", async () => {
  await startSearch(request, true);
  await showMore();
  await showMore();
  const shown = session.value.answer?.results.map((result) => result.rank);
  expect(shown).toEqual([1, 2, 3, 4, 5]);
  expect(asked.map((one) => one.start)).toEqual([undefined, 2, 4]);
  expect(session.value.loadingMore).toBe(false);
});

test("an answer with further results is remembered", async () => {
  await startSearch(request, true);
  await showMore();
  await startSearch({ ...request, on: ["other"] });
  await startSearch(request);
  expect(session.value.answer?.results.length).toBe(4);
});

test("two clicks ask once, and a new search wins over further results", async () => {
  await startSearch(request, true);
  const both = [showMore(), showMore()];
  await Promise.all(both);
  expect(asked.length).toBe(2);
  const late = showMore();
  await startSearch({ ...request, on: ["x"] }, true);
  await late;
  expect(session.value.request?.on).toEqual(["x"]);
  expect(session.value.answer?.results.length).toBe(2);
});
