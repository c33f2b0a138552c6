import { describe, expect, it } from "vitest";
import { decodeWork, encodeWork, fromFragment, toFragment } from "../src/state/fragment";
import type { Page, Work } from "../src/state/page";

const work: Work = {
  chain: {
    start: "lake:ordner/Größe #1 ☃.csv",
    steps: [
      { kind: "join", right: "lake:b.csv", on: [{ left: "a", right: "b" }], how: "left", by: null },
      { kind: "sql", sql: "select \"x'y\" from result -- <script>" },
    ],
  },
  at: 1,
  view: { tab: "sql", search: { on: ["a"], way: "containment", min: 0.3 }, sql: "select 1" },
};
const never = () => Promise.reject(new Error("no link is asked for"));

describe("the state in the address", () => {
  it("survives a round trip", async () => {
    expect(await decodeWork(await encodeWork(work))).toEqual(work);
  });

  it("uses only characters that URLs do not escape", async () => {
    expect(await encodeWork(work)).toMatch(/^v1\.[A-Za-z0-9_-]+$/);
  });

  it("compresses repetition", async () => {
    const step = work.chain.steps[0]!;
    const long: Work = { ...work, chain: { ...work.chain, steps: Array.from({ length: 50 }, () => step) } };
    expect((await encodeWork(long)).length).toBeLessThan(600);
  });

  it.each(["v1.", "v1.AAAA", "v1.%%%", "v2.abc", "nonsense"])("rejects %s with a message", async (text) => {
    await expect(decodeWork(text)).rejects.toThrow(/This link is/);
  });

  it("repairs a missing step and an unknown tab", async () => {
    const odd = { ...work, at: 99, view: { tab: "moon" } } as unknown as Work;
    expect(await decodeWork(await encodeWork(odd))).toMatchObject({ at: 2, view: { tab: "search" } });
  });

  it("has fragments for every page", async () => {
    const pages: Page[] = [{ page: "home" }, { page: "lake" }, { page: "lake", table: "lake:a b/ü#1" }, { page: "work", work }];
    for (const page of pages) expect(await fromFragment(await toFragment(page), never)).toEqual(page);
  });

  it("follows a short link", async () => {
    const state = await encodeWork(work);
    expect(await fromFragment("#l.abc", (id) => Promise.resolve(id === "abc" ? state : ""))).toEqual({ page: "work", work });
  });
});
