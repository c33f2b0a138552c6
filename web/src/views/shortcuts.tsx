// The keyboard: what works everywhere, and the list of it.
import { signal } from "@preact/signals";
import { Dialog } from "../parts/dialog";
import { changeView, go } from "../state/history";
import { page, type Tab } from "../state/page";

export const shortcutsShown = signal(false);

const KEYS: [string[], string][] = [
  [["/"], "Find a table by name, column or value"],
  [["1"], "Table"],
  [["2"], "Search for joins"],
  [["3"], "SQL"],
  [["4"], "Join graph"],
  [["Enter"], "In the grid: the whole cell. In results: open"],
  [["↑", "↓"], "Move in lists, results and the grid"],
  [["Ctrl", "↓"], "In the grid: to the last row"],
  [["Ctrl", "Enter"], "Run the search, the join or the query"],
  [["Ctrl", "V"], "On the first page: a table from a spreadsheet"],
  [["Esc"], "Close"],
  [["?"], "This list"],
];

const TABS: Record<string, Tab> = { "1": "table", "2": "search", "3": "sql", "4": "graph" };

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable=true]") !== null;
}

export function listenForKeys(): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "?") shortcutsShown.value = true;
    else if (event.key === "/") focusFind();
    else if (TABS[event.key] && page.value.page === "work") changeView({ tab: TABS[event.key] as Tab, join: undefined }, "push");
    else return;
    event.preventDefault();
  };
  addEventListener("keydown", listen);
  return () => removeEventListener("keydown", listen);
}

/** The box to find a table is on the first page and in the lake; from elsewhere it leads to the first page. */
function focusFind(): void {
  const box = () => document.querySelector<HTMLInputElement>("[data-find]");
  if (!box()) go({ page: "home" });
  requestAnimationFrame(() => setTimeout(() => box()?.focus(), 30));
}

export function Shortcuts() {
  if (!shortcutsShown.value) return null;
  return (
    <Dialog title="Keyboard" onClose={() => (shortcutsShown.value = false)} testId="shortcuts">
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={what}>
            <dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
