import { describe, expect, it } from "vitest";
import { applyMove, moveOf } from "../src/parts/grid-keys";
import { ScaledScroll, TALLEST } from "../src/parts/scaled-scroll";

const ROW = 28;

describe("scrolling through a million rows", () => {
  const make = () => new ScaledScroll(1_000_000 * ROW, 700);

  it("never needs a taller element than browsers allow", () => {
    expect(make().height).toBe(TALLEST);
    expect(new ScaledScroll(1000, 700).height).toBe(1000);
  });

  it("reaches the last row and the first", () => {
    const scroll = make();
    expect(scroll.scrolled(TALLEST - 700)).toBe(1_000_000 * ROW - 700);
    expect(scroll.scrolled(0)).toBe(0);
  });

  it("moves by exactly one wheel notch", () => {
    const scroll = make();
    scroll.scrolled(4_000_000);
    const before = scroll.offset;
    expect(scroll.scrolled(4_000_100) - before).toBe(100);
  });

  it("shows every requested row, and stays there when scrolling settles", () => {
    const scroll = make();
    for (const row of [0, 1, 357_142, 500_001, 999_974]) {
      scroll.scrolled(scroll.place(row * ROW));
      expect(scroll.offset).toBe(row * ROW);
      scroll.scrolled(scroll.settled());
      expect(scroll.offset).toBe(row * ROW);
    }
  });

  it("is exact if nothing is scaled", () => {
    const scroll = new ScaledScroll(5000, 700);
    expect(scroll.scrolled(1234)).toBe(1234);
    expect(scroll.place(99_999)).toBe(4300);
  });
});

describe("keys in the grid", () => {
  const press = (key: string, ctrlKey = false) => moveOf({ key, ctrlKey, metaKey: false });

  it("stay inside the table", () => {
    expect(applyMove({ row: 0, column: 0 }, "up", 10, 3, 5)).toEqual({ row: 0, column: 0 });
    expect(applyMove({ row: 8, column: 2 }, "pageDown", 10, 3, 5)).toEqual({ row: 9, column: 2 });
    expect(applyMove({ row: 0, column: 0 }, "right", 0, 0, 5)).toEqual({ row: 0, column: 0 });
    expect(applyMove({ row: 4, column: 1 }, "bottom", 1_000_000, 3, 5)).toEqual({ row: 999_999, column: 1 });
  });

  it("are the usual ones", () => {
    expect([press("ArrowDown"), press("ArrowDown", true), press("End"), press("End", true), press("x")]).toEqual(["down", "bottom", "rowEnd", "bottom", null]);
  });
});
