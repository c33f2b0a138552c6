// The cells of one row, redrawn only when they change; scrolling only moves rows.
import { Component } from "preact";
import { useRef } from "preact/hooks";
import { cellText, whole } from "../words/format";
import type { GridColumn, GridProps } from "./grid";

/** Lengths as CSS pixels. */
export function box(lengths: Record<string, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(lengths).map(([name, value]) => [name, `${value}px`]));
}

/** Shows line breaks as ↵, since a cell is one line high. */
function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/\r\n|\r|\n/g, " ↵ ") : text;
}

export interface Across {
  index: number;
  start: number;
  size: number;
}

interface Props {
  id: string;
  grid: GridProps;
  columns: GridColumn[];
  across: Across[];
  row: number;
  left: number;
  gutter: number;
  /** Increases whenever cells arrive. */
  version: number;
  /** The column of the active cell, if it is in this row. */
  active: number;
}

const COMPARED = ["grid", "columns", "row", "left", "gutter", "version", "active"] as const;

export class Cells extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const before = this.props;
    return (
      COMPARED.some((name) => before[name] !== next[name]) ||
      before.across.length !== next.across.length ||
      before.across[0]?.index !== next.across[0]?.index
    );
  }

  override render({ id, grid, columns, across, row, left, gutter, active }: Props) {
    return (
      <>
        {across.map(({ index, start, size }) => {
          const value = grid.source.cell(row, index);
          const type = columns[index]?.type;
          const kinds = [
            "grid-cell",
            value === undefined ? "waiting" : value === null ? "nil" : "",
            type === "integer" || type === "decimal" ? "number" : "",
            active === index ? "active" : "",
            grid.columnClass?.(index) ?? "",
          ];
          return (
            <div
              key={index} id={`${id}-${row}-${index}`} role="gridcell" aria-colindex={index + 1} data-row={row}
              data-column={index} class={kinds.join(" ")} style={box({ left: gutter + start - left, width: size })}
            >
              {oneLine(cellText(value))}
            </div>
          );
        })}
        {gutter > 0 && <div class="grid-number" role="rowheader" style={box({ width: gutter })}>{whole(row + 1)}</div>}
      </>
    );
  }
}

/** The right edge of a column header, which can be dragged to resize the column. */
export function Resizer({ width, onResize }: { width: number; onResize: (width: number) => void }) {
  const start = useRef<{ x: number; width: number } | null>(null);
  return (
    <span
      class="grid-resizer" aria-hidden="true"
      onPointerDown={(event) => {
        start.current = { x: event.clientX, width };
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        if (start.current) onResize(Math.max(48, Math.min(1200, start.current.width + event.clientX - start.current.x)));
      }}
      onPointerUp={() => (start.current = null)}
    />
  );
}
