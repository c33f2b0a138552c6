// The search panel: columns, method and results.
import { useEffect } from "preact/hooks";
import type { TableInfo } from "../api/types";
import { arrows, Button, Empty, ProblemNote, Working } from "../parts/controls";
import { Icon } from "../parts/icon";
import { missingHint, SURE, toRequest } from "../state/hits";
import { changeView } from "../state/history";
import type { SearchSettings, Work } from "../state/page";
import { session, startSearch, stopSearch } from "../state/searching";
import { SEARCH_METHODS } from "../words/methods";
import { Results } from "./results";
import { changeSettings, chooseColumn, settingsOf } from "./search-settings";

function Columns({ table, settings }: { table: TableInfo; settings: SearchSettings }) {
  const rest = table.columns.filter((column) => column.suggested && !settings.on.includes(column.column)).slice(0, 6);
  return (
    <div class="field">
      <span class="field-name">Search by</span>
      <div class="chips" data-testid="chosen-columns">
        {settings.on.map((name) => (
          <button key={name} type="button" class="pick on" onClick={() => chooseColumn(table, name)} aria-label={`Remove ${name}`}>
            {name}
            <Icon name="close" size={12} />
          </button>
        ))}
        {settings.on.length === 0 && <span class="pick-none">any key-like column</span>}
        {rest.map(({ column }) => (
          <button key={column} type="button" class="pick" onClick={() => chooseColumn(table, column)} aria-label={`Search by ${column}`}>
            <Icon name="star" size={11} />
            {column}
          </button>
        ))}
        <select
          class="pick-more" aria-label="Add a column" value="" data-testid="choose-column"
          onChange={(event) => {
            chooseColumn(table, event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="" disabled>+ Add column</option>
          {table.columns.filter(({ column }) => !settings.on.includes(column)).map(({ column }) => (
            <option key={column} value={column}>{column}</option>
          ))}
        </select>
      </div>
    </div>
  );
}

function MethodOptions({ settings }: { settings: SearchSettings }) {
  if (settings.way === "containment") {
    const min = settings.min ?? 0.5;
    return (
      <label class="fine">
        <span>contains at least {Math.round(min * 100)}% of your values</span>
        <input type="range" min="5" max="100" step="5" value={min * 100} data-testid="min"
          onInput={(event) => changeSettings({ ...settings, min: Number(event.currentTarget.value) / 100 })} />
      </label>
    );
  }
  if (settings.way === "meaning") {
    const sure = settings.sure ?? SURE;
    return (
      <label class="fine">
        <span>only matches that are at least {Math.round(sure * 100)}% likely to be right</span>
        <input type="range" min="50" max="99" step="1" value={Math.round(sure * 100)} data-testid="sure"
          onInput={(event) => changeSettings({ ...settings, sure: Number(event.currentTarget.value) / 100 })} />
      </label>
    );
  }
  if (settings.way === "distance") {
    return (
      <label class="fine">
        <span>Within</span>
        <input class="input small" value={settings.within ?? "500m"} data-testid="within" spellcheck={false}
          onInput={(event) => changeSettings({ ...settings, within: event.currentTarget.value })} />
        <span class="quiet">e.g. 500m, 2km, 1% or 5</span>
      </label>
    );
  }
  return null;
}

export function SearchPanel({ work, table }: { work: Work; table: TableInfo }) {
  const settings = settingsOf(work, table);
  const now = session.value;
  const request = toRequest(table.id, settings);
  const key = JSON.stringify(request);
  const hint = missingHint(settings);
  const fits = now.key === key;
  const start = (fresh = false) => {
    if (hint) return;
    changeView({ search: settings, asked: true });
    void startSearch(request, fresh);
  };
  // Opened by a link or the back button: run the search that it shows.
  useEffect(() => {
    if (work.view.asked && !hint && session.peek().request?.table !== table.id) void startSearch(request);
  }, [table.id]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
  const running = now.status === "running";
  const current = now.request?.table === table.id;
  const chosen = SEARCH_METHODS.find(({ method }) => method === settings.way);
  return (
    <section class="search" aria-label="Search for tables that join" data-testid="search-panel">
      <div class="search-ask">
        <Columns table={table} settings={settings} />
        <div class="field">
          <span class="field-name">Method</span>
          <div class="methods" role="radiogroup" onKeyDown={arrows} aria-label="Search method">
            {SEARCH_METHODS.map(({ method: key, name, what }) => (
              <button
                key={key} type="button" role="radio" aria-checked={settings.way === key} title={what}
                data-testid={`method-${key}`} onClick={() => changeSettings({ ...settings, way: key })}
              >
                {name}
              </button>
            ))}
          </div>
          <p class="method-what">{chosen?.what}</p>
        </div>
        <MethodOptions settings={settings} />
        <div class="search-go">
          <Button look="primary" icon="search" disabled={hint !== null || (running && fits)} onClick={() => start(current && fits && !running)} testId="search-start">
            {current && fits && now.status === "done" ? "Search again" : "Search the lake"}
          </Button>
          {hint ? <span class="quiet">{hint}</span> : <kbd class="wide-only">Ctrl ↵</kbd>}
        </div>
      </div>
      {current && running && <Working progress={now.progress} started={now.started} onStop={stopSearch} fallback="Searching" />}
      {current && now.problem && <ProblemNote problem={now.problem} onAgain={now.problem.passing ? () => start(true) : undefined} />}
      {current && (now.answer || running) && <Results work={work} now={now} settings={settings} stale={!fits} />}
      {!current && (
        <Empty icon="search" title="Which tables join with this one?">
          <p>
            Search by all columns at once, or click column headers to search by those columns. Columns with
            a <Icon name="star" size={12} class="column-star" /> look like keys.
          </p>
        </Empty>
      )}
    </section>
  );
}
