// Keyboard shortcuts that work everywhere, and the list of them.
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
  [["Enter"], "Show the full cell; open a result"],
  [["↑", "↓"], "Move through lists, results and the grid"],
  [["Ctrl", "↓"], "Go to the last row of the grid"],
  [["Ctrl", "Enter"], "Run the search, the join or the query"],
  [["Ctrl", "V"], "On the home page: paste rows from a spreadsheet"],
  [["Esc"], "Close"],
  [["?"], "Show this list"],
];

const TABS: Record<string, Tab> = { "1": "table", "2": "search", "3": "sql", "4": "graph" };

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable=true]") !== null;
}

export function listenForKeys(): () => void {
  const listen = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
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

/** Focuses the find box, which is on the home page and in the lake; otherwise goes to the home page. */
function focusFind(): void {
  const box = () => document.querySelector<HTMLInputElement>("[data-find]");
  if (!box()) go({ page: "home" });
  requestAnimationFrame(() => setTimeout(() => box()?.focus(), 30));
}

export function Shortcuts() {
  if (!shortcutsShown.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (shortcutsShown.value = false)} testId="shortcuts">
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
