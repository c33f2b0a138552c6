import { describe, expect, it } from "vitest";
import type { EngineResult, FusedResult, SearchAnswer } from "../src/api/types";
import { missingHint, toRequest, toHits } from "../src/state/hits";

const way = { how: "", program: null, tau: null, radius: null, mine: ["a"], theirs: ["b"], matched: 1, containment: 0.5, row_coverage: null, fan_out: null, chance: 0, score: 1, sure: 0.9, verdict: "strong" as const, words: "", also_equal: 0, repeats: false, superseded: false, reasons: [], accidental: "" };
const fused = (id: string, kinds: ("equal" | "rewritten")[]): FusedResult => ({
  rank: 1, table: id, id, score: 1, adds: [], already_joined: false, members: [], together: null, versions: [{ table: "old" }], accidental: "", reason: "r", ways: kinds.map((kind) => ({ ...way, kind })),
});
const answer = (by: SearchAnswer["by"], results: SearchAnswer["results"]): SearchAnswer => ({
  query: { table: "t" }, by, k: 10, results, misses: [fused("m", ["equal"])], notes: [], seconds: 1, final: true, cached: false,
});

describe("results", () => {
  it("of a fused search are hits and misses", () => {
    const { hits, misses } = toHits(answer("fused", [fused("x", ["equal"])]), { on: [], way: "fused" });
    expect(hits[0]).toMatchObject({ id: "x", versions: ["old"] });
    expect(hits[0]?.candidates[0]?.join).toEqual({ right: "x", on: [{ left: "a", right: "b" }], by: "equal" });
    expect(misses).toHaveLength(1);
  });

  it("of a search for rewritten values have such a join, and it comes first", () => {
    const fusedAnswer = answer("fused", [fused("x", ["equal"]), fused("y", ["equal", "rewritten"])]);
    const { hits } = toHits(fusedAnswer, { on: [], way: "rewritten" });
    expect(hits.map((hit) => hit.id)).toEqual(["y"]);
    expect(hits[0]?.candidates[0]?.kind).toBe("rewritten");
  });

  it("of one engine have one join each, and two columns of a table are two results", () => {
    const result = (column: string): EngineResult => ({
      rank: 1, table: "x", id: "lake:x", columns: [column], matched: 2, containment: 1, query_size: 2, column_size: 3, row_coverage: 1, fan_out: 1,
      examples: { matched: [["a", "b"], "c"], unmatched: [] },
    });
    const { hits } = toHits(answer("meaning", [result("p"), result("q")]), { on: ["a"], way: "meaning" });
    expect(new Set(hits.map((hit) => hit.key)).size).toBe(2);
    expect(hits[0]?.examples?.matched).toEqual(["a ~ b", "c"]);
    expect(hits[0]?.candidates[0]).toMatchObject({ kind: "meaning", mine: ["a"], theirs: ["p"] });
  });
});

describe("the request", () => {
  it("follows from the settings", () => {
    expect(toRequest("t", { on: [], way: "rewritten" })).toEqual({ table: "t", on: null, by: "fused" });
    expect(toRequest("t", { on: ["a", "b"], way: "composite" })).toEqual({ table: "t", on: ["a", "b"], by: "overlap" });
    expect(toRequest("t", { on: ["a"], way: "containment" })).toMatchObject({ min: 0.5 });
    expect(toRequest("t", { on: ["a"], way: "meaning" })).toMatchObject({ sure: 0.9, k: 10 });
    expect(toRequest("t", { on: ["a"], way: "meaning", sure: 0.75 })).toMatchObject({ sure: 0.75 });
    expect(toRequest("t", { on: ["a"], way: "distance", within: "2km" })).toMatchObject({ within: "2km" });
  });

  it("needs columns where the method does", () => {
    expect(missingHint({ on: [], way: "fused" })).toBeNull();
    expect(missingHint({ on: [], way: "overlap" })).toMatch(/column/);
    expect(missingHint({ on: ["a"], way: "composite" })).toMatch(/two/);
  });
});
