// Finding a table of the lake by a part of its name, of a column, or of a value.
import { useEffect, useId, useState } from "preact/hooks";
import { find, getTables } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Found, TableEntry } from "../api/types";
import { ProblemNote, TableName } from "../parts/controls";
import { Icon } from "../parts/icon";
import { opened } from "../state/chain";
import { examples } from "../state/examples";
import { go } from "../state/history";
import { short } from "../words/format";

const WAIT = 180;
// Its list is drawn by the page and not a <datalist>, which the types of this role ask for.
const COMBOBOX: Record<string, string> = { role: "combobox" };

/** The text with what was looked for made bold; as text, never as markup. */
function Marked({ text, part }: { text: string; part: string }) {
  const place = text.toLowerCase().indexOf(part.toLowerCase());
  if (place < 0 || !part) return <>{text}</>;
  return <>{text.slice(0, place)}<mark>{text.slice(place, place + part.length)}</mark>{text.slice(place + part.length)}</>;
}

function Where({ found, part }: { found: Found; part: string }) {
  if (found.where === "name") return <span class="quiet">{short(found.rows)} rows × {found.columns}</span>;
  return (
    <span class="found-where">
      <span class="quiet">{found.where === "column" ? "column" : `value in ${found.column ?? "a column"}:`}</span>
      <code><Marked text={found.match} part={part} /></code>
    </span>
  );
}

/** Tables to begin with, as long as nothing is looked for. */
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
        Type, say, {["airport", "country"].map((word) => (
          <span key={word}><button type="button" class="text-button" onClick={() => onLook(word)}>{word}</button>, </span>
        ))}or any value that your data holds. Or start from one of these:
      </p>
      <ul class="found">
        {tables === null && [0, 1, 2, 3, 4, 5].map((place) => <li key={place}><span class="line-waiting" /></li>)}
        {tables?.map((entry) => (
          <li key={entry.id}>
            <button type="button" onClick={() => go({ page: "work", work: opened(entry.id) })} data-testid="example">
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
  const [body, setBody] = useState<{ tables: Found[]; complete: boolean; text: string } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState(false);
  const asked = text.trim();
  useEffect(() => {
    setProblem(null);
    if (!asked) {
      setBody(null);
      setBusy(false);
      return undefined;
    }
    const request = new AbortController();
    setBusy(true);
    const timer = setTimeout(() => {
      find(asked, 20, request.signal).then(
        (got) => {
          setBody({ ...got, text: asked });
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
  }, [asked]);
  const tables = body?.tables ?? [];
  const open = (found: Found | undefined) => found && go({ page: "work", work: opened(found.id) });
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
    <section class="find" aria-label="Find a table of the lake">
      <h2><Icon name="lake" /> Pick one from the lake</h2>
      <div class="find-box">
        <Icon name="search" />
        <input
          data-find type="search" value={text} placeholder="Part of a name, a column or a value" autocomplete="off" spellcheck={false}
          {...COMBOBOX} aria-expanded={tables.length > 0} aria-controls={id} aria-autocomplete="list" aria-label="Find a table"
          aria-activedescendant={tables.length ? `${id}-${at}` : undefined} data-testid="find"
          onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKeyDown}
        />
        {busy ? <span class="spinner" role="status" aria-label="Looking" /> : <kbd>/</kbd>}
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
      {!asked && <Examples onLook={setText} />}
      {asked && body && tables.length === 0 && <p class="find-hint quiet">Nothing holds “{body.text}”{body.complete ? "" : ", as far as there was time to look"}.</p>}
      {tables.length > 0 && !body?.complete && <p class="find-hint quiet">There was no time to look at all values.</p>}
    </section>
  );
}
