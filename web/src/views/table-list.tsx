// The tables in the lake, filtered by name; only visible ones are fetched and drawn.
import { elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import { useEffect, useRef, useState } from "preact/hooks";
import { getTables } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { TableEntry, TableId } from "../api/types";
import { Empty, ProblemNote, TableName } from "../parts/controls";
import { Icon } from "../parts/icon";
import { useVirtual } from "../parts/use-virtual";
import { many, short, whole } from "../words/format";

const PAGE = 100;
const HEIGHT = 46;

/** Turns a text into a glob that matches it anywhere in a name. */
function pattern(text: string): string {
  const words = text.trim();
  if (!words) return "";
  return /[*?]/.test(words) ? words : `*${words}*`;
}

export function TableList({ chosen, onChoose }: { chosen: TableId | undefined; onChoose: (id: TableId) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [text, setText] = useState("");
  const [pages, setPages] = useState<Map<number, TableEntry[]>>(new Map());
  const [total, setTotal] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const running = useRef(new Map<number, AbortController>());

  const load = (place: number) => {
    if (running.current.has(place)) return;
    const request = new AbortController();
    running.current.set(place, request);
    getTables({ pattern: pattern(text), begin: place * PAGE, limit: PAGE }, request.signal).then(
      (body) => {
        setTotal(body.total);
        setPages((before) => new Map(before).set(place, body.tables));
      },
      (error) => {
        if (!isAbort(error)) setProblem(asProblem(error));
      },
    );
  };
  useEffect(() => {
    setProblem(null);
    const timer = setTimeout(() => {
      running.current.forEach((request) => request.abort());
      running.current.clear();
      setPages(new Map());
      load(0);
    }, text ? 160 : 0);
    return () => clearTimeout(timer);
  }, [text]);

  const virtual = useVirtual({
    count: total ?? 0,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
  });
  const items = virtual.getVirtualItems();
  const first = Math.floor((items[0]?.index ?? 0) / PAGE);
  const last = Math.floor((items.at(-1)?.index ?? 0) / PAGE);
  useEffect(() => {
    if (total === null) return;
    for (let place = first; place <= last; place += 1) load(place);
  }, [first, last, total]);

  const move = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const buttons = [...(box.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const here = buttons.indexOf(document.activeElement as HTMLElement);
    buttons[here + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  };
  return (
    <section class="table-list" aria-label="Tables in the lake" onKeyDown={move}>
      <div class="find-box small">
        <Icon name="search" size={15} />
        <input
          data-find type="search" placeholder="Filter tables, e.g. *air*" aria-label="Filter tables by name" value={text} autocomplete="off"
          spellcheck={false} onInput={(event) => setText(event.currentTarget.value)} data-testid="table-filter"
        />
        {total !== null && <span class="quiet">{whole(total)}</span>}
      </div>
      {problem && <ProblemNote problem={problem} />}
      {total === 0 && <Empty icon="table" title="No matching table" />}
      <div class="table-scroll" ref={box} tabIndex={-1}>
        <ul style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map(({ index, start }) => {
            const entry = pages.get(Math.floor(index / PAGE))?.[index % PAGE];
            return (
              <li key={index} style={{ transform: `translateY(${start}px)`, height: `${HEIGHT}px` }}>
                {entry ? (
                  <button type="button" aria-current={entry.id === chosen ? "true" : undefined} onClick={() => onChoose(entry.id)} data-testid="lake-table">
                    <TableName name={entry.table} />
                    <span class="quiet">{short(entry.rows)} rows · {many(entry.columns, "column")}</span>
                  </button>
                ) : <span class="line-waiting" />}
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
}
