// Finds tables in the lake by name, column name or value.
import { useEffect, useId, useState } from "preact/hooks";
import { find, getTables } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { FindResult, TableEntry } from "../api/types";
import { ProblemNote, TableName } from "../parts/controls";
import { Icon } from "../parts/icon";
import { startWork } from "../state/chain";
import { examples } from "../state/examples";
import { go } from "../state/history";
import { short } from "../words/format";

const WAIT = 180;
// The types expect a <datalist> for this role; the page draws its own list.
const COMBOBOX: Record<string, string> = { role: "combobox" };

/** Highlights the match; as text, never as markup. */
function Marked({ text, part }: { text: string; part: string }) {
  const place = text.toLowerCase().indexOf(part.toLowerCase());
  if (place < 0 || !part) return <>{text}</>;
  return <>{text.slice(0, place)}<mark>{text.slice(place, place + part.length)}</mark>{text.slice(place + part.length)}</>;
}

function Where({ found, part }: { found: FindResult; part: string }) {
  if (found.where === "name") return <span class="quiet">{short(found.rows)} rows × {found.columns}</span>;
  return (
    <span class="found-where">
      <span class="quiet">{found.where === "column" ? "column" : `value in ${found.column ?? "a column"}:`}</span>
      <code><Marked text={found.match} part={part} /></code>
    </span>
  );
}

/** Example tables, shown while the box is empty. */
function Examples({ onLook }: { onLook: (text: string) => void }) {
  const [tables, setTables] = useState<TableEntry[] | null>(null);
  useEffect(() => {
    const request = new AbortController();
    getTables({ begin: 0, limit: 1000 }, request.signal).then((body) => setTables(examples(body.tables)), () => setTables([]));
    return () => request.abort();
  }, []);
  return (
    <div class="examples">
      <p class="find-hint quiet">
        Try {["airport", "country"].map((word) => (
          <span key={word}><button type="button" class="text-button" onClick={() => onLook(word)}>{word}</button>, </span>
        ))}or any value in your data. Or start from one of these tables:
      </p>
      <ul class="found">
        {tables === null && [0, 1, 2, 3, 4, 5].map((place) => <li key={place}><span class="line-waiting" /></li>)}
        {tables?.map((entry) => (
          <li key={entry.id}>
            <button type="button" onClick={() => go({ page: "work", work: startWork(entry.id) })} data-testid="example">
              <TableName name={entry.table} />
              <span class="quiet">{short(entry.rows)} rows × {entry.columns}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Find() {
  const id = useId();
  const [text, setText] = useState("");
  const [body, setBody] = useState<{ tables: FindResult[]; complete: boolean; text: string } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState(false);
  const query = text.trim();
  useEffect(() => {
    setProblem(null);
    if (!query) {
      setBody(null);
      setBusy(false);
      return undefined;
    }
    const request = new AbortController();
    setBusy(true);
    const timer = setTimeout(() => {
      find(query, 20, request.signal).then(
        (got) => {
          setBody({ ...got, text: query });
          setAt(0);
          setBusy(false);
        },
        (error) => {
          if (isAbort(error)) return;
          setProblem(asProblem(error));
          setBusy(false);
        },
      );
    }, WAIT);
    return () => {
      clearTimeout(timer);
      request.abort();
    };
  }, [query]);
  const tables = body?.tables ?? [];
  const open = (found: FindResult | undefined) => found && go({ page: "work", work: startWork(found.id) });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(tables.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") open(tables[at]);
    else if (event.key === "Escape") setText("");
    else return;
    event.preventDefault();
  };
  useEffect(() => document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <section class="find" aria-label="Find a table in the lake">
      <h2><Icon name="lake" /> Pick a table from the lake</h2>
      <div class="find-box">
        <Icon name="search" />
        <input
          data-find type="search" value={text} placeholder="Table name, column name or value" autocomplete="off" spellcheck={false}
          {...COMBOBOX} aria-expanded={tables.length > 0} aria-controls={id} aria-autocomplete="list" aria-label="Find a table"
          aria-activedescendant={tables.length ? `${id}-${at}` : undefined} data-testid="find"
          onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown}
        />
        {busy ? <span class="spinner" role="status" aria-label="Searching" /> : <kbd>/</kbd>}
      </div>
      {problem && <ProblemNote problem={problem} />}
      <ul class="found" id={id} role="listbox" aria-label="Tables found" hidden={tables.length === 0}>
        {tables.map((found, place) => (
          <li
            key={`${found.id}\n${found.column ?? ""}`} id={`${id}-${place}`} role="option" aria-selected={place === at} data-testid="found"
            onClick={() => open(found)} onPointerMove={() => place !== at && setAt(place)}
          >
            <TableName name={found.table} />
            <Where found={found} part={body?.text ?? ""} />
          </li>
        ))}
      </ul>
      {!query && <Examples onLook={setText} />}
      {query && body && tables.length === 0 && <p class="find-hint quiet">{body.complete ? `No table contains “${body.text}”.` : `No table found with “${body.text}” before time ran out.`}</p>}
      {tables.length > 0 && !body?.complete && <p class="find-hint quiet">Not all values were searched: time ran out.</p>}
    </section>
  );
}
