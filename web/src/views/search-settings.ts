// What to search for, as it is chosen in the grid and in the panel.
import type { TableInfo } from "../api/types";
import { change, changeView } from "../state/history";
import type { SearchSettings, Work } from "../state/page";

export function settingsOf(work: Work, table: TableInfo): SearchSettings {
  const given = work.view.search;
  if (!given) return { on: [], way: "fused" };
  const names = new Set(table.columns.map((column) => column.column));
  return { ...given, on: given.on.filter((name) => names.has(name)) };
}

/** Equal values of several columns are a composite key, and of one column they are not. */
function fitting(settings: SearchSettings): SearchSettings {
  if (settings.way === "overlap" && settings.on.length > 1) return { ...settings, way: "composite" };
  if (settings.way === "composite" && settings.on.length === 1) return { ...settings, way: "overlap" };
  return settings;
}

export function changeSettings(settings: SearchSettings): void {
  changeView({ search: fitting(settings) });
}

/** Chooses a column, or no longer. */
export function chooseColumn(table: TableInfo, name: string): void {
  changeViewSearch(table, (settings) => {
    const on = settings.on.includes(name) ? settings.on.filter((one) => one !== name) : [...settings.on, name];
    return { ...settings, on };
  });
}

function changeViewSearch(table: TableInfo, how: (settings: SearchSettings) => SearchSettings): void {
  change((work) => ({ ...work, view: { ...work.view, search: fitting(how(settingsOf(work, table))) } }));
}
