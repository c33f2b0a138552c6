// The join graph around a table, as a drawing and as a list for the keyboard.
import { useEffect, useRef, useState } from "preact/hooks";
import { getGraph } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { TableId } from "../api/types";
import { Bar, Button, Empty, ProblemNote, TableName, Working } from "../parts/controls";
import { GraphCanvas } from "../parts/graph-canvas";
import type { Spots } from "../parts/graph-layout";
import { nameOfId, startWork } from "../state/chain";
import { type DrawnGraph, mergeGraph, neighborsOf } from "../state/graph";
import { changeView, go } from "../state/history";
import { page } from "../state/page";
import { opened } from "../state/tables";
import { many, whole } from "../words/format";

const AROUND = 30;

interface Props {
  table: TableId;
  /** Other tables whose neighbors can be shown. */
  choices?: TableId[];
  onAround?: (id: TableId) => void;
}

export function GraphView({ table, choices = [], onAround }: Props) {
  const [drawn, setDrawn] = useState<DrawnGraph>({ nodes: [], edges: [] });
  const [spots, setSpots] = useState<Spots>(new Map());
  const [chosen, setChosen] = useState<TableId>(table);
  const [expanded, setExpanded] = useState<Set<TableId>>(new Set());
  const [problem, setProblem] = useState<Problem | null>(null);
  const [kept, setKept] = useState(true);
  const [busy, setBusy] = useState<number | null>(null);
  const [middle, setMiddle] = useState<TableId>(table);
  const now = useRef({ drawn, spots });
  now.current = { drawn, spots };
  const requests = useRef(new AbortController());
  useEffect(() => () => requests.current.abort(), []);

  const expand = async (id: TableId) => {
    setBusy(performance.now());
    setProblem(null);
    try {
      const [graph, { layout }] = await Promise.all([getGraph(id, 1, AROUND, requests.current.signal), import("../parts/graph-layout")]);
      const next = mergeGraph(now.current.drawn, graph);
      const first = now.current.drawn.nodes.length === 0;
      if (first) {
        setMiddle(graph.id);
        setChosen(graph.id);
      }
      setKept(graph.kept);
      setSpots(layout(next, first ? graph.id : middle, now.current.spots));
      setDrawn(next);
      setExpanded((before) => new Set(before).add(graph.id));
    } catch (error) {
      if (!isAbort(error)) setProblem(asProblem(error));
    } finally {
      setBusy(null);
    }
  };
  useEffect(() => void expand(table), []);

  const node = drawn.nodes.find(({ id }) => id === chosen);
  const list = neighborsOf(drawn, chosen);
  const work = page.value.page === "work" ? page.value.work : null;
  const mine = chosen === (work ? opened.value.tables?.[work.at]?.id : middle);
  return (
    <section class="graph" aria-label="Join graph" data-testid="graph-view">
      <div class="graph-main">
        {busy !== null && <Working progress={null} started={busy} fallback="Searching for tables that join" />}
        {problem && <ProblemNote problem={problem} onAgain={problem.passing ? () => void expand(table) : undefined} />}
        {drawn.nodes.length > 0 && (
          <GraphCanvas drawn={drawn} spots={spots} middle={middle} chosen={chosen} onChoose={setChosen} onExpand={(id) => void expand(id)} />
        )}
        {drawn.nodes.length === 1 && busy === null && <Empty icon="graph" title="No other table joins with this one" />}
      </div>
      <aside class="graph-side" aria-label="Tables that join">
        <header>
          {choices.length > 1 && (
            <label class="field row">
              <span class="field-name">Around</span>
              <select class="input" value={table} onChange={(event) => onAround?.(event.currentTarget.value)}>
                {choices.map((id) => <option key={id} value={id}>{nameOfId(id)}</option>)}
              </select>
            </label>
          )}
          <h2><TableName name={node?.table ?? nameOfId(chosen)} /></h2>
          <p class="quiet">joins with {many(list.length, "table")} shown here{kept ? "" : " · found by a search, as the index has no join graph"}</p>
          <div class="graph-actions">
            {!expanded.has(chosen) && <Button icon="graph" disabled={busy !== null} onClick={() => void expand(chosen)} testId="graph-expand">Expand</Button>}
            {!mine && <Button icon="open" look="primary" testId="graph-open" onClick={() => go({ page: "work", work: startWork(chosen) })}>Start from this table</Button>}
            {work && !mine && (
              <Button testId="graph-join" onClick={() => changeView({ join: { right: chosen, on: null, by: "auto", how: "inner" } }, "push")}>Join with my table…</Button>
            )}
            {chosen !== middle && <Button look="ghost" onClick={() => setChosen(middle)}>Back to the center</Button>}
          </div>
        </header>
        <ul class="graph-list">
          {list.map(({ node: other, edge }) => (
            <li key={other.id}>
              <button type="button" onClick={() => setChosen(other.id)} data-testid="graph-neighbour">
                <TableName name={other.table} />
                <Bar share={edge.best} label="contained" />
                <span class="graph-joins">
                  {edge.joins.slice(0, 3).map((join, place) => {
                    const [a, b] = edge.from === chosen ? [join.column, join.other] : [join.other, join.column];
                    return <span key={place}>{a} = {b} <span class="quiet">({whole(join.shared)})</span></span>;
                  })}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </aside>
    </section>
  );
}
