import { describe, expect, it } from "vitest";
import { sentence, bytes, cellText, keyText, many, numberText, percent, seconds, short, times, whole } from "../src/words/format";

describe("numbers", () => {
  it.each([[0, "0%"], [0.001, "<1%"], [0.5, "50%"], [0.996, ">99%"], [0.999, ">99%"], [1, "100%"], [1.2, "120%"]])("%d is %s", (share, words) => {
    expect(percent(share)).toBe(words);
  });

  it("are short where space is limited", () => {
    expect([whole(12614), short(999), short(12614), short(5146565)]).toEqual(["12,614", "999", "12.6K", "5.1M"]);
    expect([times(0.876), times(1), times(3.99), times(12.4)]).toEqual(["×0.88", "×1", "×3.99", "×12"]);
    expect([bytes(12), bytes(475678028), bytes(1500)]).toEqual(["12 B", "476 MB", "1.5 kB"]);
    expect([seconds(0.42), seconds(12.3), seconds(125)]).toEqual(["0.4 s", "12 s", "2 min 5 s"]);
    expect([many(1, "row"), many(2000, "row")]).toEqual(["1 row", "2,000 rows"]);
  });

  it("are unchanged if they may be codes or years", () => {
    expect([numberText(2024), numberText(0.12345), numberText("2024-01-01"), numberText(1234567)]).toEqual(["2024", "0.123", "2024-01-01", "1.2M"]);
  });
});

describe("messages", () => {
  it("become sentences, and names keep their case", () => {
    expect(sentence("this table is no longer stored: upload it again")).toBe("This table is no longer stored: upload it again.");
    expect(sentence("iata: no such column")).toBe("iata: no such column.");
    expect(sentence("Is it running?")).toBe("Is it running?");
  });
});

describe("cells", () => {
  it("are texts", () => {
    expect([cellText(null), cellText(undefined), cellText(0), cellText(false), cellText("<b>")]).toEqual(["", "", "0", "false", "<b>"]);
    expect(keyText({ a: "x", b: 2 })).toBe("x · 2");
  });
});
