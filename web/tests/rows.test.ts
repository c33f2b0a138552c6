import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { getRows } from "../src/api/client";
import { ServerRows } from "../src/parts/row-source";

type RowsQuery = Parameters<typeof getRows>[0];

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function server(requests: RowsQuery[], aborted: RowsQuery[]): typeof getRows {
  return (query, signal) =>
    new Promise((resolve, reject) => {
      requests.push(query);
      signal?.addEventListener("abort", () => {
        aborted.push(query);
        reject(new DOMException("stopped", "AbortError"));
      });
      const columns = query.column ?? [0, 1];
      const rows = Array.from({ length: query.end - query.begin }, (_, row) => columns.map((column) => `${query.begin + row}/${column}`));
      setTimeout(() => resolve({ table: query.table, columns: [], rows, total: 0, begin: query.begin }), 100);
    });
}

describe("the rows of a table on the server", () => {
  it("are fetched in windows, once", async () => {
    const requests: RowsQuery[] = [];
    const rows = new ServerRows("lake:a", 1_000_000, 2, server(requests, []));
    expect(rows.cell(999_999, 1)).toBeUndefined();
    rows.need({ begin: 999_950, end: 1_000_000 }, { begin: 0, end: 2 });
    await vi.advanceTimersByTimeAsync(200);
    expect(rows.cell(999_999, 1)).toBe("999999/1");
    rows.need({ begin: 999_960, end: 1_000_000 }, { begin: 0, end: 2 });
    await vi.advanceTimersByTimeAsync(200);
    expect(requests).toEqual([{ table: "lake:a", begin: 999_800, end: 1_000_000, column: undefined }]);
  });

  it("are not fetched if they are only scrolled past", async () => {
    const requests: RowsQuery[] = [];
    const aborted: RowsQuery[] = [];
    const rows = new ServerRows("lake:a", 1_000_000, 2, server(requests, aborted));
    for (let place = 0; place < 50; place += 1) {
      rows.need({ begin: place * 1000, end: place * 1000 + 30 }, { begin: 0, end: 2 });
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(300);
    expect(requests.length).toBeLessThan(5);
    expect(rows.cell(49_000, 0)).toBe("49000/0");
    expect(aborted.length).toBe(requests.length - 1);
  });

  it("of a wide table are fetched with the visible columns only", async () => {
    const requests: RowsQuery[] = [];
    const rows = new ServerRows("lake:a", 10, 500, server(requests, []));
    rows.need({ begin: 0, end: 10 }, { begin: 470, end: 490 });
    await vi.advanceTimersByTimeAsync(200);
    expect(rows.cell(9, 485)).toBe("9/485");
    expect(requests.map(({ column }) => column?.length)).toEqual([48, 20]);
  });
});
