// The join graph: tables as nodes, joins as edges.
import type { Graph, GraphStep, TableId } from "../api/types";

export interface GraphNode {
  id: TableId;
  table: string;
  hop: number;
}

export interface GraphEdge {
  key: string;
  from: TableId;
  to: TableId;
  joins: { column: string; other: string; shared: number; containment: number }[];
  /** The largest containment of these joins. */
  best: number;
}

export interface DrawnGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

function addStep(nodes: Map<TableId, GraphNode>, edges: Map<string, GraphEdge>, step: GraphStep, base: number): void {
  if (!nodes.has(step.id)) nodes.set(step.id, { id: step.id, table: step.table, hop: base + step.hop - 1 });
  if (!nodes.has(step.other_id)) nodes.set(step.other_id, { id: step.other_id, table: step.other_table, hop: base + step.hop });
  const turned = step.id > step.other_id;
  const key = turned ? `${step.other_id}\n${step.id}` : `${step.id}\n${step.other_id}`;
  const edge = edges.get(key) ?? { key, from: step.id, to: step.other_id, joins: [], best: 0 };
  const same = edge.from === step.id;
  const join = {
    column: same ? step.column : step.other_column,
    other: same ? step.other_column : step.column,
    shared: step.shared,
    containment: step.containment,
  };
  if (!edge.joins.some(({ column, other }) => column === join.column && other === join.other)) edge.joins.push(join);
  edge.best = Math.max(edge.best, step.containment);
  edges.set(key, edge);
}

/** Adds the neighbors of one more table to the drawing. */
export function mergeGraph(before: DrawnGraph, graph: Graph): DrawnGraph {
  const nodes = new Map(before.nodes.map((node) => [node.id, node]));
  const edges = new Map(before.edges.map((edge) => [edge.key, { ...edge, joins: [...edge.joins] }]));
  const base = nodes.get(graph.id)?.hop ?? 0;
  if (!nodes.has(graph.id)) nodes.set(graph.id, { id: graph.id, table: graph.table, hop: 0 });
  for (const step of graph.steps) addStep(nodes, edges, step, base);
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** The neighbors of a table, best first. */
export function neighborsOf(drawn: DrawnGraph, id: TableId): { node: GraphNode; edge: GraphEdge }[] {
  const nodes = new Map(drawn.nodes.map((node) => [node.id, node]));
  return drawn.edges
    .filter((edge) => edge.from === id || edge.to === id)
    .flatMap((edge) => {
      const node = nodes.get(edge.from === id ? edge.to : edge.from);
      return node ? [{ node, edge }] : [];
    })
    .sort((a, b) => b.edge.best - a.edge.best);
}
