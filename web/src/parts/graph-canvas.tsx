// Draws a join graph that can be dragged, zoomed and clicked.
import { useEffect, useRef, useState } from "preact/hooks";
import { shortName } from "../state/chain";
import type { DrawnGraph } from "../state/graph";
import { percent } from "../words/format";
import { Button } from "./controls";
import type { Spots } from "./graph-layout";

interface Look {
  x: number;
  y: number;
  scale: number;
}

function fitLook(spots: Spots, width: number, height: number): Look {
  const xs = [...spots.values()].map((spot) => spot.x);
  const ys = [...spots.values()].map((spot) => spot.y);
  const [left, right, top, bottom] = [Math.min(...xs) - 80, Math.max(...xs) + 80, Math.min(...ys) - 40, Math.max(...ys) + 50];
  const scale = Math.min(1.15, width / (right - left), height / (bottom - top));
  return { scale, x: width / 2 - ((left + right) / 2) * scale, y: height / 2 - ((top + bottom) / 2) * scale };
}

function cut(text: string, most: number): string {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

export function GraphCanvas({ drawn, spots, middle, chosen, onChoose, onExpand }: {
  drawn: DrawnGraph;
  spots: Spots;
  middle: string;
  chosen: string;
  onChoose: (id: string) => void;
  onExpand: (id: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; y: number } | null>(null);
  const [look, setLook] = useState<Look>({ x: 0, y: 0, scale: 1 });
  const fit = () => {
    const { clientWidth = 600, clientHeight = 400 } = box.current ?? {};
    if (spots.size) setLook(fitLook(spots, clientWidth, clientHeight));
  };
  useEffect(() => {
    fit();
    if (!box.current) return undefined;
    const observer = new ResizeObserver(fit);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [spots]);
  const zoom = (by: number, x: number, y: number) =>
    setLook((now) => {
      const scale = Math.min(3, Math.max(0.15, now.scale * by));
      const ratio = scale / now.scale;
      return { scale, x: x - (x - now.x) * ratio, y: y - (y - now.y) * ratio };
    });
  const middleOf = () => ({ x: (box.current?.clientWidth ?? 0) / 2, y: (box.current?.clientHeight ?? 0) / 2 });
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const frame = element.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 500), event.clientX - frame.left, event.clientY - frame.top);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
  const near = new Set(drawn.edges.flatMap((edge) => (edge.from === chosen || edge.to === chosen ? [edge.from, edge.to] : [])));
  // Zoomed out, there is room only for the most important names.
  const far = look.scale < 0.62;
  const named = (id: string, hop: number) => (far ? id === chosen || id === middle : drawn.nodes.length <= 45 || near.has(id) || hop < 2);
  return (
    <div
      ref={box} class="graph-canvas" data-testid="graph-canvas"
      onPointerDown={(event) => {
        if ((event.target as Element).closest(".graph-node, button")) return;
        drag.current = { x: event.clientX - look.x, y: event.clientY - look.y };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const start = drag.current;
        if (start) setLook((now) => ({ ...now, x: event.clientX - start.x, y: event.clientY - start.y }));
      }}
      onPointerUp={() => (drag.current = null)}
    >
      <svg role="group" aria-label="Join graph; the list next to it has the same content">
        <g transform={`translate(${look.x} ${look.y}) scale(${look.scale})`} font-size={11.5 / Math.min(1, Math.max(0.3, look.scale))}>
          {drawn.edges.map((edge) => {
            const from = spots.get(edge.from);
            const to = spots.get(edge.to);
            if (!from || !to) return null;
            const on = edge.from === chosen || edge.to === chosen;
            const best = edge.joins.reduce((a, b) => (b.containment > a.containment ? b : a));
            return (
              <g key={edge.key} class={`graph-edge ${on ? "on" : ""}`}>
                <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} stroke-width={0.8 + edge.best * 1.6}>
                  <title>{`${best.column} = ${best.other}, ${percent(best.containment)}`}</title>
                </line>
              </g>
            );
          })}
          {drawn.nodes.map((node) => {
            const spot = spots.get(node.id);
            if (!spot) return null;
            const kind = `${node.id === middle ? "middle" : ""} ${node.id === chosen ? "chosen" : ""} ${near.has(node.id) || node.id === chosen ? "near" : ""}`;
            return (
              <g
                key={node.id} class={`graph-node hop-${Math.min(2, node.hop)} ${kind}`} transform={`translate(${spot.x} ${spot.y})`}
                role="button" tabIndex={-1} aria-label={node.table} data-testid="graph-node" data-table={node.table}
                onClick={() => onChoose(node.id)} onDblClick={() => onExpand(node.id)}
              >
                <title>{node.table}</title>
                <circle r={node.id === middle ? 13 : 9} />
                {named(node.id, node.hop) && <text y={node.id === middle ? 30 : 24}>{cut(shortName(node.table), 20)}</text>}
              </g>
            );
          })}
        </g>
      </svg>
      <div class="graph-tools">
        <Button icon="plus" aria-label="Zoom in" title="Zoom in" onClick={() => zoom(1.3, middleOf().x, middleOf().y)} />
        <Button icon="minus" aria-label="Zoom out" title="Zoom out" onClick={() => zoom(1 / 1.3, middleOf().x, middleOf().y)} />
        <Button onClick={fit} title="Show the whole graph">Fit</Button>
      </div>
    </div>
  );
}
