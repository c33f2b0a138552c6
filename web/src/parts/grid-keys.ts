// Keyboard navigation in a grid.
import type { Place } from "./grid";

export type Move = "up" | "down" | "left" | "right" | "pageUp" | "pageDown" | "rowStart" | "rowEnd" | "top" | "bottom";

type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey">;

export function moveOf({ key, ctrlKey, metaKey }: KeyPress): Move | null {
  const far = ctrlKey || metaKey;
  switch (key) {
    case "ArrowUp":
      return far ? "top" : "up";
    case "ArrowDown":
      return far ? "bottom" : "down";
    case "ArrowLeft":
      return far ? "rowStart" : "left";
    case "ArrowRight":
      return far ? "rowEnd" : "right";
    case "PageUp":
      return "pageUp";
    case "PageDown":
      return "pageDown";
    case "Home":
      return far ? "top" : "rowStart";
    case "End":
      return far ? "bottom" : "rowEnd";
    default:
      return null;
  }
}

/** The cell after a move, inside the table. */
export function applyMove(from: Place, move: Move, rows: number, columns: number, page: number): Place {
  const row = (value: number) => Math.min(Math.max(0, value), Math.max(0, rows - 1));
  const column = (value: number) => Math.min(Math.max(0, value), Math.max(0, columns - 1));
  const moves: Record<Move, Place> = {
    up: { row: row(from.row - 1), column: from.column },
    down: { row: row(from.row + 1), column: from.column },
    left: { row: from.row, column: column(from.column - 1) },
    right: { row: from.row, column: column(from.column + 1) },
    pageUp: { row: row(from.row - page), column: from.column },
    pageDown: { row: row(from.row + page), column: from.column },
    rowStart: { row: from.row, column: 0 },
    rowEnd: { row: from.row, column: column(columns - 1) },
    top: { row: 0, column: from.column },
    bottom: { row: row(rows - 1), column: from.column },
  };
  return moves[move];
}
