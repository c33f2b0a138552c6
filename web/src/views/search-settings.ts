// Search settings, as chosen in the grid and in the search panel.
import type { TableInfo } from "../api/types";
import { change, changeView } from "../state/history";
import type { SearchSettings, Work } from "../state/page";

export function settingsOf(work: Work, table: TableInfo): SearchSettings {
  const search = work.view.search;
  if (!search) return { on: [], way: "fused" };
  const names = new Set(table.columns.map((column) => column.column));
  return { ...search, on: search.on.filter((name) => names.has(name)) };
}

/** Switches between equal values and composite key by the number of columns. */
function fitMethod(settings: SearchSettings): SearchSettings {
  if (settings.way === "overlap" && settings.on.length > 1) return { ...settings, way: "composite" };
  if (settings.way === "composite" && settings.on.length === 1) return { ...settings, way: "overlap" };
  return settings;
}

export function changeSettings(settings: SearchSettings): void {
  changeView({ search: fitMethod(settings) });
}

/** Adds a column to the search, or removes it. */
export function chooseColumn(table: TableInfo, name: string): void {
  changeViewSearch(table, (settings) => {
    const on = settings.on.includes(name) ? settings.on.filter((column) => column !== name) : [...settings.on, name];
    return { ...settings, on };
  });
}

function changeViewSearch(table: TableInfo, how: (settings: SearchSettings) => SearchSettings): void {
  change((work) => ({ ...work, view: { ...work.view, search: fitMethod(how(settingsOf(work, table))) } }));
}
