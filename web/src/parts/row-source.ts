// Sources of a grid's cells: a table on the server, fetched in windows, or rows in memory.
import { type Signal, signal } from "@preact/signals";
import { getRows } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Cell, TableId } from "../api/types";

export interface Span {
  begin: number;
  end: number;
}

export interface RowSource {
  readonly total: number;
  /** The cell, or undefined while it is not loaded. */
  cell(row: number, column: number): Cell | undefined;
  /** Loads these visible rows and columns. */
  need(rows: Span, columns: Span): void;
  /** Increases whenever cells arrive. */
  readonly changed: Signal<number>;
  readonly problem: Signal<Problem | null>;
  close(): void;
}

const PAGE_ROWS = 200;
const PAGE_COLUMNS = 48;
const KEPT_PAGES = 80;
/** Milliseconds to wait, so that windows that are only scrolled past are not fetched. */
const SETTLE = 45;

interface Page {
  rows: Cell[][];
  first: number;
}

export class ServerRows implements RowSource {
  readonly changed = signal(0);
  readonly problem = signal<Problem | null>(null);
  private readonly pages = new Map<string, Page>();
  private readonly running = new Map<string, AbortController>();
  private wanted: string[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private lastRequest = 0;
  private readonly blocks: boolean;

  constructor(
    private readonly table: TableId,
    readonly total: number,
    private readonly columns: number,
    private readonly fetchRows: typeof getRows = getRows,
  ) {
    // A narrow table is fetched with all columns, a wide one only with the visible columns.
    this.blocks = columns > PAGE_COLUMNS * 1.5;
  }

  private key(row: number, column: number): string {
    return `${Math.floor(row / PAGE_ROWS)}:${this.blocks ? Math.floor(column / PAGE_COLUMNS) : 0}`;
  }

  cell(row: number, column: number): Cell | undefined {
    const page = this.pages.get(this.key(row, column));
    return page?.rows[row % PAGE_ROWS]?.[column - page.first];
  }

  need(rows: Span, columns: Span): void {
    const wanted = new Set<string>();
    for (let row = rows.begin; row < rows.end; row = (Math.floor(row / PAGE_ROWS) + 1) * PAGE_ROWS) {
      for (let column = columns.begin; column < columns.end; ) {
        wanted.add(this.key(row, column));
        column = this.blocks ? (Math.floor(column / PAGE_COLUMNS) + 1) * PAGE_COLUMNS : columns.end;
      }
    }
    this.wanted = [...wanted];
    for (const [key, request] of this.running) {
      if (!wanted.has(key)) {
        request.abort();
        this.running.delete(key);
      }
    }
    if (this.wanted.every((key) => this.pages.has(key) || this.running.has(key))) return;
    const now = performance.now();
    const waits = now - this.lastRequest < SETTLE ? SETTLE : 0;
    this.lastRequest = now;
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => this.wanted.forEach((key) => void this.load(key)), waits);
  }

  private async load(key: string): Promise<void> {
    if (this.pages.has(key) || this.running.has(key)) return;
    const [rowPage = 0, columnPage = 0] = key.split(":").map(Number);
    const begin = rowPage * PAGE_ROWS;
    const first = columnPage * PAGE_COLUMNS;
    const count = Math.min(PAGE_COLUMNS, this.columns - first);
    const column = this.blocks ? Array.from({ length: count }, (_, place) => first + place) : undefined;
    const request = new AbortController();
    this.running.set(key, request);
    try {
      const end = Math.min(begin + PAGE_ROWS, this.total);
      const { rows } = await this.fetchRows({ table: this.table, begin, end, column }, request.signal);
      this.keep(key, { rows, first: this.blocks ? first : 0 });
      this.problem.value = null;
      this.changed.value += 1;
    } catch (error) {
      if (!isAbort(error)) this.problem.value = asProblem(error);
    } finally {
      if (this.running.get(key) === request) this.running.delete(key);
    }
  }

  private keep(key: string, page: Page): void {
    this.pages.set(key, page);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      if (!this.wanted.includes(old)) this.pages.delete(old);
    }
  }

  close(): void {
    if (this.timer) clearTimeout(this.timer);
    this.running.forEach((request) => request.abort());
    this.running.clear();
  }
}

/** Rows in memory. */
export class LocalRows implements RowSource {
  readonly changed = signal(0);
  readonly problem = signal<Problem | null>(null);

  constructor(private readonly rows: Cell[][]) {}

  get total(): number {
    return this.rows.length;
  }

  cell(row: number, column: number): Cell | undefined {
    return this.rows[row]?.[column] ?? null;
  }

  need(): void {}
  close(): void {}
}
