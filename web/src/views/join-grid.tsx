// The preview of a join: key columns first, with matched and unmatched rows.
import { useMemo } from "preact/hooks";
import type { Cell, JoinFound, JoinSettings } from "../api/types";
import { Grid } from "../parts/grid";
import { Icon } from "../parts/icon";
import { LocalRows } from "../parts/row-source";
import { cellText, many } from "../words/format";

function width(name: string, rows: { cells: Cell[] }[], place: number): number {
  const longest = Math.max(name.length + 3, ...rows.slice(0, 20).map((row) => cellText(row.cells[place]).length));
  return Math.round(Math.min(240, Math.max(80, longest * 7.9 + 24)));
}

type Met = "both" | "left" | "right";

/** The kinds of rows that a join type keeps. */
function keptRows(how: JoinSettings["how"]): Set<Met> {
  const kept = new Set<Met>(["both"]);
  if (how === "left" || how === "full") kept.add("left");
  if (how === "right" || how === "full") kept.add("right");
  return kept;
}

type Preview = JoinFound["preview"];

/** Puts key columns first, and some rows of every kind at the top. */
export function arrange(preview: Preview): Preview {
  const places = preview.columns.map((_, place) => place);
  const rank = (place: number) => (preview.columns[place]?.key ? 0 : 1);
  places.sort((a, b) => rank(a) - rank(b) || a - b);
  const first: Record<Met, number> = { both: 14, left: 5, right: 5 };
  const seen: Record<Met, number> = { both: 0, left: 0, right: 0 };
  const early: Preview["rows"] = [];
  const late: Preview["rows"] = [];
  for (const row of preview.rows) {
    seen[row.met] += 1;
    (seen[row.met] <= first[row.met] ? early : late).push({ met: row.met, cells: places.map((place) => row.cells[place] ?? null) });
  }
  return { columns: places.flatMap((place) => preview.columns[place] ?? []), rows: [...early, ...late] };
}

export function JoinGrid({ found, settings, stale }: { found: JoinFound; settings: JoinSettings; stale: boolean }) {
  const { columns, rows } = useMemo(() => arrange(found.preview), [found]);
  const source = useMemo(() => new LocalRows(rows.map((row) => row.cells)), [found]);
  const shown = useMemo(() => columns.map(({ name }, place) => ({ name, type: null, width: width(name, rows, place) })), [found]);
  const kept = keptRows(settings.how);
  const names = settings.columns ? new Set(settings.columns) : null;
  return (
    <div class={`join-preview ${stale ? "stale" : ""}`} data-testid="join-preview">
      <Grid
        label="Preview of the join" source={source} columns={shown} headHeight={34} numbers={false} testId="join-grid"
        head={(place) => (
          <span class={`plain-head ${columns[place]?.side === "left" ? "mine" : "theirs"}`}>
            {columns[place]?.key && <Icon name="equal" size={12} />}
            {columns[place]?.name}
          </span>
        )}
        columnClass={(place) => {
          const column = columns[place];
          return `${column?.side === "left" ? "side-mine" : "side-theirs"} ${column?.key ? "key" : ""} ${names && !names.has(column?.name ?? "") ? "dropped" : ""}`;
        }}
        rowClass={(row) => {
          const met = rows[row]?.met ?? "both";
          return `met-${met} ${kept.has(met) ? "" : "left-out"}`;
        }}
      />
      <p class="join-legend">
        <span><i class="swatch both" /> matched</span>
        <span><i class="swatch mine" /> only in your table: {many(found.left_rows - found.left_joined, "row")}{kept.has("left") ? "" : " (dropped)"}</span>
        <span><i class="swatch theirs" /> only in the other table: {many(found.right_rows - found.right_joined, "row")}{kept.has("right") ? "" : " (dropped)"}</span>
        <span class="space" />
        <span class="quiet">preview of {many(rows.length, "row")}, keys first</span>
      </p>
    </div>
  );
}
