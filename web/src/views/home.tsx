// The first page: bring a table, or find one of the lake.
import { useEffect, useState } from "preact/hooks";
import { getTables } from "../api/client";
import type { TableEntry } from "../api/types";
import { Icon } from "../parts/icon";
import { TableName } from "../parts/controls";
import { opened } from "../state/chain";
import { go } from "../state/history";
import { examples } from "../state/examples";
import { many, short } from "../words/format";
import { Bring } from "./bring";
import { Find } from "./find";
import { Figures, useInfo } from "./lake";

function Examples() {
  const [tables, setTables] = useState<TableEntry[]>([]);
  useEffect(() => {
    const request = new AbortController();
    getTables({ begin: 0, limit: 1000 }, request.signal).then((body) => setTables(examples(body.tables)), () => undefined);
    return () => request.abort();
  }, []);
  if (!tables.length) return <div class="examples-waiting" />;
  return (
    <section class="examples" aria-label="Some tables of this lake">
      <h2>Or start from one of these</h2>
      <ul>
        {tables.map((entry) => (
          <li key={entry.id}>
            <button type="button" onClick={() => go({ page: "work", work: opened(entry.id) })} data-testid="example">
              <Icon name="table" size={15} />
              <TableName name={entry.table} />
              <span class="quiet">{short(entry.rows)} × {many(entry.columns, "column")}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Home() {
  const info = useInfo();
  return (
    <div class="home" data-testid="home">
      <div class="home-words">
        <h1>Which tables join with yours?</h1>
        <p>Bring a table. lakejoin finds what joins with it in {info ? many(info.tables, "table") : "the lake"}, shows why, and joins it.</p>
      </div>
      <div class="home-ways">
        <Bring info={info} />
        <Find />
      </div>
      <Examples />
      <button type="button" class="home-lake" onClick={() => go({ page: "lake" })} aria-label="See the lake">
        <Figures info={info} />
      </button>
    </div>
  );
}
