// Formats numbers, sizes and cells for display.
import type { Cell, KeyValue } from "../api/types";

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** 12,614 */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** 12.6K */
export function short(value: number): string {
  return Math.abs(value) < 1000 ? whole(value) : SHORT.format(value);
}

/** 88%; never 100% for less than all, never 0% for more than nothing. */
export function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (share < 1 && rounded >= 100) return ">99%";
  if (share > 0 && rounded <= 0) return "<1%";
  return `${rounded}%`;
}

/** ×0.88, ×3.99, ×12 */
export function times(factor: number): string {
  return "×" + (factor >= 10 ? whole(factor) : factor.toFixed(2).replace(/\.?0+$/, ""));
}

/** 455 MB */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let scaled = value;
  let unit = 0;
  while (scaled >= 1000 && unit < units.length - 1) {
    scaled /= 1000;
    unit += 1;
  }
  return `${scaled >= 100 || unit === 0 ? Math.round(scaled) : scaled.toFixed(1)} ${units[unit]}`;
}

/** 0.4 s, 12 s, 2 min 5 s */
export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

/** 1 row, 2,000 rows */
export function many(count: number, singular: string, plural = `${singular}s`): string {
  return `${whole(count)} ${count === 1 ? singular : plural}`;
}

/** Turns a server message into a sentence; a leading name keeps its case. */
export function sentence(message: string): string {
  const capitalized = /^[a-z]+ /.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message;
  return /[.!?…]$/.test(capitalized) || capitalized.includes("\n") ? capitalized : `${capitalized}.`;
}

/** The text of a cell; empty if it is missing. */
export function cellText(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  return typeof cell === "boolean" ? (cell ? "true" : "false") : cell;
}

/** The text of a key value; the columns of a composite key are joined by a dot. */
export function keyText(value: KeyValue | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? Object.values(value).map(cellText).join(" · ") : cellText(value);
}

/** Shortens large numbers, but leaves years and codes unchanged. */
export function numberText(value: number | string): string {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value)) return Math.abs(value) < 10_000 ? String(value) : short(value);
  return Math.abs(value) >= 100 ? short(value) : String(Number(value.toPrecision(3)));
}
