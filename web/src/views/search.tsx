// The search panel: by which columns, in which way, and what was found.
import { useEffect } from "preact/hooks";
import type { TableInfo } from "../api/types";
import { arrows, Button, Empty, ProblemNote, Working } from "../parts/controls";
import { Icon } from "../parts/icon";
import { missing, toAsked } from "../state/hits";
import { changeView } from "../state/history";
import type { SearchSettings, Work } from "../state/page";
import { session, startSearch, stopSearch } from "../state/searching";
import { WAYS } from "../words/ways";
import { Results } from "./results";
import { changeSettings, chooseColumn, settingsOf } from "./search-settings";

function Columns({ table, settings }: { table: TableInfo; settings: SearchSettings }) {
  const rest = table.columns.filter((column) => column.suggested && !settings.on.includes(column.column)).slice(0, 6);
  return (
    <div class="field">
      <span class="field-name">By my columns</span>
      <div class="chips" data-testid="chosen-columns">
        {settings.on.map((name) => (
          <button key={name} type="button" class="pick on" onClick={() => chooseColumn(table, name)} aria-label={`No longer by ${name}`}>
            {name}
            <Icon name="close" size={12} />
          </button>
        ))}
        {settings.on.length === 0 && <span class="pick-none">any that may be a key</span>}
        {rest.map(({ column }) => (
          <button key={column} type="button" class="pick" onClick={() => chooseColumn(table, column)} aria-label={`By ${column}`}>
            <Icon name="star" size={11} />
            {column}
          </button>
        ))}
        <select
          class="pick-more" aria-label="Choose another column" value="" data-testid="choose-column"
          onChange={(event) => {
            chooseColumn(table, event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="" disabled>+ column</option>
          {table.columns.filter(({ column }) => !settings.on.includes(column)).map(({ column }) => (
            <option key={column} value={column}>{column}</option>
          ))}
        </select>
      </div>
    </div>
  );
}

function Fine({ settings }: { settings: SearchSettings }) {
  if (settings.way === "containment") {
    const min = settings.min ?? 0.5;
    return (
      <label class="fine">
        <span>at least {Math.round(min * 100)}% of my values</span>
        <input type="range" min="5" max="100" step="5" value={min * 100} data-testid="min"
          onInput={(event) => changeSettings({ ...settings, min: Number(event.currentTarget.value) / 100 })} />
      </label>
    );
  }
  if (settings.way === "meaning") {
    const tau = settings.tau ?? 0.3;
    return (
      <div class="fine">
        <label class="fine">
          <span>{tau === "auto" ? "as far apart as fits" : `at most ${Math.round(tau * 100)}% apart`}</span>
          <input type="range" min="5" max="60" step="5" value={tau === "auto" ? 30 : tau * 100} disabled={tau === "auto"} data-testid="tau"
            onInput={(event) => changeSettings({ ...settings, tau: Number(event.currentTarget.value) / 100 })} />
        </label>
        <label class="check">
          <input type="checkbox" checked={tau === "auto"} onChange={() => changeSettings({ ...settings, tau: tau === "auto" ? 0.3 : "auto" })} />
          <span>find out (slow)</span>
        </label>
      </div>
    );
  }
  if (settings.way === "distance") {
    return (
      <label class="fine">
        <span>within</span>
        <input class="input small" value={settings.within ?? "500m"} data-testid="within" spellcheck={false}
          onInput={(event) => changeSettings({ ...settings, within: event.currentTarget.value })} />
        <span class="quiet">500m, 2km, 1% or a number</span>
      </label>
    );
  }
  return null;
}

export function SearchPanel({ work, table }: { work: Work; table: TableInfo }) {
  const settings = settingsOf(work, table);
  const now = session.value;
  const asked = toAsked(table.id, settings);
  const key = JSON.stringify(asked);
  const lacks = missing(settings);
  const fits = now.key === key;
  const start = (fresh = false) => {
    if (lacks) return;
    changeView({ search: settings, asked: true });
    void startSearch(asked, fresh);
  };
  // Opened by a link, or by the back button: the results belong to what is shown.
  useEffect(() => {
    if (work.view.asked && !lacks && session.peek().asked?.table !== table.id) void startSearch(asked);
  }, [table.id]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
  const running = now.status === "running";
  const mine = now.asked?.table === table.id;
  const way = WAYS.find((one) => one.way === settings.way);
  return (
    <section class="search" aria-label="Search for tables that join" data-testid="search-panel">
      <div class="search-ask">
        <Columns table={table} settings={settings} />
        <div class="field">
          <span class="field-name">In this way</span>
          <div class="ways" role="radiogroup" onKeyDown={arrows} aria-label="Way to search">
            {WAYS.map(({ way: one, name, what }) => (
              <button
                key={one} type="button" role="radio" aria-checked={settings.way === one} title={what}
                data-testid={`way-${one}`} onClick={() => changeSettings({ ...settings, way: one })}
              >
                {name}
              </button>
            ))}
          </div>
          <p class="way-what">{way?.what}</p>
        </div>
        <Fine settings={settings} />
        <div class="search-go">
          <Button look="primary" icon="search" disabled={lacks !== null || (running && fits)} onClick={() => start(mine && fits && !running)} testId="search-start">
            {mine && fits && now.status === "done" ? "Search again" : "Search the lake"}
          </Button>
          {lacks ? <span class="quiet">{lacks}</span> : <kbd class="wide-only">Ctrl ↵</kbd>}
        </div>
      </div>
      {mine && running && <Working progress={now.progress} started={now.started} onStop={stopSearch} fallback="Searching" />}
      {mine && now.problem && <ProblemNote problem={now.problem} onAgain={now.problem.passing ? () => start(true) : undefined} />}
      {mine && (now.answer || running) && <Results work={work} table={table} now={now} settings={settings} stale={!fits} />}
      {!mine && (
        <Empty icon="search" title="Which tables join with this one?">
          <p>
            Search by all columns at once, or click the heads of columns to search by these. Columns with
            a <Icon name="star" size={12} class="column-star" /> look like keys.
          </p>
        </Empty>
      )}
    </section>
  );
}
