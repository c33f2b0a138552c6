// The open table with its tabs.
import { useState } from "preact/hooks";
import type { TableInfo } from "../api/types";
import { arrows, Button, Empty, Working } from "../parts/controls";
import { Icon, type IconName } from "../parts/icon";
import { changeView } from "../state/history";
import type { Tab, Work } from "../state/page";
import { opened } from "../state/tables";
import { NotOpened } from "./open-errors";
import { GraphView } from "./graph";
import { JoinView } from "./join";
import { SearchPanel } from "./search";
import { SqlView } from "./sql";
import { TableView } from "./table";

const TABS: { tab: Tab; name: string; icon: IconName }[] = [
  { tab: "table", name: "Table", icon: "grid" },
  { tab: "search", name: "Search", icon: "search" },
  { tab: "sql", name: "SQL", icon: "code" },
  { tab: "graph", name: "Graph", icon: "graph" },
];

function Tabs({ tab }: { tab: Tab }) {
  return (
    <div class="tabs" role="tablist" onKeyDown={arrows} aria-label="Views of this table">
      {TABS.map((entry, place) => (
        <button
          key={entry.tab} type="button" role="tab" aria-selected={tab === entry.tab} data-testid={`tab-${entry.tab}`}
          title={`${entry.name} (${place + 1})`} onClick={() => tab !== entry.tab && changeView({ tab: entry.tab }, "push")}
        >
          <Icon name={entry.icon} size={15} />
          {entry.name}
        </button>
      ))}
    </div>
  );
}

/** The graph has only lake tables; for a result, it shows those that the result was joined from. */
function GraphTab({ work, table }: { work: Work; table: TableInfo }) {
  const joined = work.chain.steps.slice(0, work.at).flatMap((step) => (step.kind === "join" ? [step.right] : []));
  const choices = [...new Set([table.id, ...joined.reverse(), work.chain.start])].filter((id) => id.startsWith("lake:"));
  const around = choices.find((id) => id === work.view.around) ?? choices[0];
  if (!around) {
    return (
      <Empty icon="graph" title="The join graph shows only tables in the lake">
        <p>Search to find the tables that join with this one.</p>
        <Button icon="search" onClick={() => changeView({ tab: "search" }, "push")}>Search</Button>
      </Empty>
    );
  }
  return <GraphView key={around} table={around} choices={choices} onAround={(id) => changeView({ around: id })} />;
}

export function WorkView({ work }: { work: Work }) {
  const { tables, problem, progress } = opened.value;
  const [started] = useState(performance.now());
  if (problem) return <NotOpened work={work} problem={problem} />;
  const table = tables?.[work.at];
  if (!table) {
    return (
      <div class="opening">
        <Working progress={progress} started={started} fallback="Opening the table" />
        <div class="opening-grid" aria-hidden="true" />
      </div>
    );
  }
  if (work.view.join) return <JoinView key={table.id} work={work} left={table} settings={work.view.join} />;
  const { tab } = work.view;
  return (
    <div class={`work tab-${tab}`}>
      <TableView table={table} work={work} tabs={<Tabs tab={tab} />} above={tab === "sql" ? <SqlView work={work} table={table} /> : null} hidden={tab === "graph"} />
      {tab === "search" && <SearchPanel key={table.id} work={work} table={table} />}
      {tab === "graph" && <GraphTab work={work} table={table} />}
    </div>
  );
}
