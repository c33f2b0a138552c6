// The open table and what is done with it.
import { useState } from "preact/hooks";
import { Working } from "../parts/controls";
import { Icon, type IconName } from "../parts/icon";
import { changeView } from "../state/history";
import type { Tab, Work } from "../state/page";
import { opened } from "../state/tables";
import { NotOpened } from "./gone";
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
    <div class="tabs" role="tablist" aria-label="What to do with this table">
      {TABS.map((one, place) => (
        <button
          key={one.tab} type="button" role="tab" aria-selected={tab === one.tab} data-testid={`tab-${one.tab}`}
          title={`${one.name} (${place + 1})`} onClick={() => tab !== one.tab && changeView({ tab: one.tab }, "push")}
        >
          <Icon name={one.icon} size={15} />
          {one.name}
        </button>
      ))}
    </div>
  );
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
      {tab === "graph" && <GraphView key={work.view.around ?? table.id} table={work.view.around ?? table.id} />}
    </div>
  );
}
