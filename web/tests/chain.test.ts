import { describe, expect, it } from "vitest";
import type { Chain, Step } from "../src/api/types";
import { addStep, countDropped, keys, nameOfId, openStep, shortName, stepBefore, stepWords, upTo } from "../src/state/chain";

const join: Step = { kind: "join", right: "lake:x/y:z.csv", on: null, how: "inner", by: "auto" };
const sql: Step = { kind: "sql", sql: "select  a,\n  b from result where a is not null" };
const chain: Chain = { start: "upload:1", steps: [join, sql] };

describe("the chain", () => {
  it("continues from any of its tables", () => {
    expect(addStep(chain, 2, join).steps).toEqual([join, sql, join]);
    expect(addStep(chain, 0, sql).steps).toEqual([sql]);
    expect(chain.steps).toHaveLength(2);
  });

  it("knows what a change would drop", () => {
    expect([0, 1, 2].map((place) => countDropped(chain, place))).toEqual([2, 1, 0]);
  });

  it("has a key for each table, equal for equal prefixes", () => {
    expect(keys(chain)).toHaveLength(3);
    expect(keys(chain)[1]).toBe(keys(addStep(chain, 1, join))[1]);
    expect(keys(chain)[2]).not.toBe(keys(addStep(chain, 1, join))[2]);
    expect(upTo(chain, 1).steps).toEqual([join]);
  });

  it("knows the step before a table", () => {
    expect(stepBefore(chain, 0)).toBeNull();
    expect(stepBefore(chain, 2)).toBe(sql);
  });

  it("drops the settings of a table when another one is opened", () => {
    const work = { chain, at: 2, view: { tab: "sql" as const, sql: "x", asked: true } };
    expect(openStep(work, 0)).toEqual({ chain, at: 0, view: { tab: "sql" } });
  });

  it("has short labels", () => {
    expect(stepWords(join)).toBe("y:z.csv");
    expect(stepWords(sql)).toBe("select a, b from result whe…");
    expect(nameOfId("lake:a:b")).toBe("a:b");
    expect(shortName("folder/")).toBe("folder/");
  });
});
