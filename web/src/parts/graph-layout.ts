// Lays out a join graph with d3 forces, run to the end at once so that nothing jitters.
import { forceCollide, forceLink, forceManyBody, forceRadial, forceSimulation, type SimulationNodeDatum } from "d3-force";
import type { DrawnGraph } from "../state/graph";

export type Spots = Map<string, { x: number; y: number }>;

interface Spot extends SimulationNodeDatum {
  id: string;
  hop: number;
}

const RING = 190;
const TICKS = 260;

export function layout(drawn: DrawnGraph, middle: string, before: Spots): Spots {
  const spots: Spot[] = drawn.nodes.map((node, place) => {
    const old = before.get(node.id);
    const turn = place * 2.399963;
    const far = 40 + RING * node.hop;
    const spot: Spot = { id: node.id, hop: node.hop, x: old?.x ?? Math.cos(turn) * far, y: old?.y ?? Math.sin(turn) * far };
    if (node.id === middle) Object.assign(spot, { fx: 0, fy: 0 });
    return spot;
  });
  const links = drawn.edges.map((edge) => ({ source: edge.from, target: edge.to, best: edge.best }));
  forceSimulation(spots)
    .force("link", forceLink<Spot, (typeof links)[number]>(links).id((spot) => spot.id).distance((link) => 150 - 50 * link.best).strength(0.25))
    .force("charge", forceManyBody().strength(-260))
    .force("ring", forceRadial<Spot>((spot) => spot.hop * RING).strength(0.35))
    .force("collide", forceCollide(44).strength(0.9))
    .stop()
    .tick(TICKS);
  return new Map(spots.map((spot) => [spot.id, { x: (spot.x ?? 0) * 1.25, y: spot.y ?? 0 }]));
}
