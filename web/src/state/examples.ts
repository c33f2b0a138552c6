// Chooses example tables: neither tiny nor huge, from different folders.
import type { TableEntry } from "../api/types";

const SHOWN = 6;

function fits(entry: TableEntry): boolean {
  return entry.rows >= 50 && entry.columns >= 3 && entry.columns <= 30;
}

export function examples(tables: TableEntry[]): TableEntry[] {
  const folders = new Map<string, TableEntry[]>();
  for (const entry of tables.filter(fits)) {
    const folder = entry.table.split("/")[0] ?? "";
    folders.set(folder, [...(folders.get(folder) ?? []), entry]);
  }
  for (const list of folders.values()) list.sort((a, b) => b.rows - a.rows);
  const chosen: TableEntry[] = [];
  for (let round = 0; chosen.length < SHOWN && round < SHOWN; round += 1) {
    for (const list of folders.values()) {
      const entry = list[round];
      if (entry && chosen.length < SHOWN) chosen.push(entry);
    }
  }
  return chosen;
}
