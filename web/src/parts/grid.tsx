// The grid: draws only the visible rows and columns, in a frame that stays while the content scrolls.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ColumnType } from "../api/types";
import { cellText, whole } from "../words/format";
import { box, Cells, Resizer } from "./grid-cells";
import { applyMove, type Move, moveOf } from "./grid-keys";
import type { RowSource } from "./row-source";
import { ScaledScroll } from "./scaled-scroll";
import { useVirtual } from "./use-virtual";

export interface GridColumn {
  name: string;
  type: ColumnType | null;
  width: number;
}

export interface Place {
  row: number;
  column: number;
}

export interface GridProps {
  label: string;
  source: RowSource;
  columns: GridColumn[];
  headHeight: number;
  head: (column: number) => ComponentChildren;
  rowClass?: (row: number) => string;
  columnClass?: (column: number) => string;
  onOpen?: (place: Place) => void;
  onSight?: (first: number, last: number) => void;
  /** Set from outside to go to a row. */
  goTo?: { row: number } | null;
  numbers?: boolean;
  testId?: string;
}

export const ROW = 28;
const OVERSCAN = 6;

function gutterWidth(total: number, shown: boolean): number {
  return shown ? Math.max(44, whole(total).length * 7.5 + 20) : 0;
}

export function Grid(props: GridProps) {
  const { source, headHeight } = props;
  const [widths, setWidths] = useState<Record<string, number>>({});
  const columns = useMemo(
    () => props.columns.map((column) => ({ ...column, width: widths[column.name] ?? column.width })),
    [props.columns, widths],
  );
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const scroll = useMemo(() => new ScaledScroll(), [source]);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [focused, setFocused] = useState(false);
  const gutter = gutterWidth(source.total, props.numbers !== false);
  const view = (element: HTMLElement) => ({
    width: Math.max(0, element.clientWidth - gutter),
    height: Math.max(0, element.clientHeight - headHeight),
  });

  // Measured when the frame is resized, not on each render.
  const size = useRef({ width: 0, height: 0 });

  const vertical = useVirtual({
    count: source.total,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    scrollToFn: () => undefined,
    observeElementRect: (instance, tell) => {
      const element = instance.scrollElement;
      if (!element) return undefined;
      const look = () => {
        const seen = view(element);
        size.current = { width: element.clientWidth, height: element.clientHeight };
        scroll.resize(source.total * ROW, seen.height);
        tell(seen);
      };
      look();
      const observer = new ResizeObserver(look);
      observer.observe(element);
      return () => observer.disconnect();
    },
    observeElementOffset: (instance, tell) => {
      const element = instance.scrollElement;
      if (!element) return undefined;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const look = () => {
        tell(scroll.scrolled(element.scrollTop), true);
        clearTimeout(timer);
        timer = setTimeout(() => {
          tell(scroll.offset, false);
          if (scroll.scaled) element.scrollTop = scroll.settled();
        }, 140);
      };
      look();
      element.addEventListener("scroll", look, { passive: true });
      return () => element.removeEventListener("scroll", look);
    },
  });

  const horizontal = useVirtual({
    horizontal: true,
    count: columns.length,
    getScrollElement: () => frame.current,
    estimateSize: (place) => columns[place]?.width ?? 120,
    overscan: 2,
    scrollToFn: () => undefined,
    observeElementRect: (instance, tell) => {
      const element = instance.scrollElement;
      if (!element) return undefined;
      tell(view(element));
      const observer = new ResizeObserver(() => tell(view(element)));
      observer.observe(element);
      return () => observer.disconnect();
    },
    observeElementOffset: (instance, tell) => {
      const element = instance.scrollElement;
      if (!element) return undefined;
      let before = -1;
      const look = () => {
        if (element.scrollLeft === before) return;
        before = element.scrollLeft;
        tell(before, false);
      };
      look();
      element.addEventListener("scroll", look, { passive: true });
      return () => element.removeEventListener("scroll", look);
    },
  });

  useLayoutEffect(() => horizontal.measure(), [columns]);
  useLayoutEffect(() => {
    vertical.measure();
    if (frame.current) {
      frame.current.scrollTop = 0;
      scroll.resize(source.total * ROW, view(frame.current).height);
    }
    setActive({ row: 0, column: 0 });
  }, [source]);

  const version = source.changed.value;
  const rows = vertical.getVirtualItems();
  const across = horizontal.getVirtualItems();
  const top = scroll.offset;
  const left = horizontal.scrollOffset ?? 0;
  const firstRow = rows[0]?.index ?? 0;
  const lastRow = (rows.at(-1)?.index ?? -1) + 1;
  const firstColumn = across[0]?.index ?? 0;
  const lastColumn = (across.at(-1)?.index ?? -1) + 1;

  useEffect(() => {
    if (lastRow > firstRow) source.need({ begin: firstRow, end: lastRow }, { begin: firstColumn, end: lastColumn });
  }, [source, firstRow, lastRow, firstColumn, lastColumn]);

  const seen = Math.max(0, size.current.height - headHeight);
  const sightFirst = Math.floor(top / ROW);
  const sightLast = Math.min(source.total, Math.ceil((top + seen) / ROW));
  useEffect(() => props.onSight?.(sightFirst, sightLast), [sightFirst, sightLast]);

  const show = (place: Place) => {
    const element = frame.current;
    if (!element) return;
    const room = view(element);
    const y = place.row * ROW;
    if (y < scroll.offset) element.scrollTop = scroll.place(y);
    else if (y + ROW > scroll.offset + room.height) element.scrollTop = scroll.place(y + ROW - room.height);
    const start = columns.slice(0, place.column).reduce((sum, column) => sum + column.width, 0);
    const width = columns[place.column]?.width ?? 0;
    if (start < element.scrollLeft) element.scrollLeft = start;
    else if (start + width > element.scrollLeft + room.width) element.scrollLeft = start + width - room.width;
    vertical.measure();
  };

  useEffect(() => {
    if (!props.goTo || !frame.current) return;
    const row = Math.min(Math.max(0, props.goTo.row), source.total - 1);
    frame.current.scrollTop = scroll.place(row * ROW);
    vertical.measure();
    setActive({ row, column: active.column });
    frame.current.focus({ preventScroll: true });
  }, [props.goTo]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== frame.current) return;
    if (event.key === "Enter") {
      event.preventDefault();
      props.onOpen?.(active);
      return;
    }
    if ((event.ctrlKey || event.metaKey) && event.key === "c" && !getSelection()?.toString()) {
      void navigator.clipboard?.writeText(cellText(source.cell(active.row, active.column)));
      return;
    }
    const move: Move | null = moveOf(event);
    if (!move) return;
    event.preventDefault();
    const next = applyMove(active, move, source.total, columns.length, Math.max(1, Math.floor(seen / ROW) - 1));
    setActive(next);
    show(next);
  };

  const onClick = (event: MouseEvent) => {
    const cell = (event.target as Element).closest<HTMLElement>("[data-row]");
    if (!cell) return;
    const place = { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
    const again = focused && place.row === active.row && place.column === active.column;
    setActive(place);
    if ((event.detail >= 2 || again) && !getSelection()?.toString()) props.onOpen?.(place);
  };

  const slots = rows.length || 1;
  return (
    <div
      ref={frame} class="grid" role="grid" tabIndex={0} aria-label={props.label} aria-rowcount={source.total + 1}
      aria-colcount={columns.length} onKeyDown={onKeyDown} onClick={onClick} data-testid={props.testId ?? "grid"}
      aria-activedescendant={focused ? `${id}-${active.row}-${active.column}` : undefined}
      onFocusIn={(event) => setFocused(event.target === frame.current)} onFocusOut={() => setFocused(false)}
    >
      <div class="grid-content" style={box({ height: scroll.height + headHeight, width: gutter + horizontal.getTotalSize() })}>
        <div class="grid-view" style={size.current.width ? box(size.current) : undefined}>
          <div class="grid-head" role="row" aria-rowindex={1} style={box({ height: headHeight })}>
            {across.map(({ index, start, size }) => (
              <div
                key={index} class={`grid-title ${props.columnClass?.(index) ?? ""}`} role="columnheader"
                aria-colindex={index + 1} style={box({ left: gutter + start - left, width: size })}
              >
                {props.head(index)}
                <Resizer width={size} onResize={(width) => setWidths({ ...widths, [columns[index]?.name ?? ""]: width })} />
              </div>
            ))}
            {gutter > 0 && <div class="grid-corner" style={box({ width: gutter, height: headHeight })} />}
          </div>
          <div class="grid-rows" style={box({ top: headHeight })}>
            {rows.map(({ index: row, start: y }) => (
              <div
                key={row % slots} class={`grid-row ${props.rowClass?.(row) ?? ""}`} role="row"
                aria-rowindex={row + 2} style={{ transform: `translateY(${Math.round(y - top)}px)` }}
              >
                <Cells
                  id={id} grid={props} columns={columns} across={across} row={row} left={left} gutter={gutter}
                  version={version} active={focused && active.row === row ? active.column : -1}
                />
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
