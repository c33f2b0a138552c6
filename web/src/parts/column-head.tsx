// The head of a column: its name, type, distinct and missing values, and how they are spread.
import { useEffect } from "preact/hooks";
import type { ColumnInfo, TableId } from "../api/types";
import { distribution, unwantDistribution, wantDistribution } from "../state/distributions";
import { percent, short, whole } from "../words/format";
import { Icon } from "./icon";
import { Spark, words } from "./spark";

interface Props {
  table: TableId;
  place: number;
  info: ColumnInfo;
  chosen: boolean;
  onChoose?: () => void;
}

export const HEAD = 82;

function facts(info: ColumnInfo): string {
  const missing = info.rows > 0 ? info.nulls / info.rows : 0;
  const unique = info.distinct !== null && info.distinct > 0 && info.distinct === info.rows - info.nulls;
  const distinct = info.distinct === null ? "" : `${short(info.distinct)} ${unique ? "unique" : "distinct"}`;
  return [distinct, missing > 0 ? `∅ ${percent(missing)}` : ""].filter(Boolean).join(" · ");
}

function described(info: ColumnInfo, spread: string): string {
  const lines = [
    `${info.column} · ${info.type}${info.date_format ? ` (${info.date_format})` : ""}`,
    info.distinct === null ? "" : `${whole(info.distinct)} distinct values in ${whole(info.rows)} rows`,
    info.nulls ? `${whole(info.nulls)} missing` : "nothing missing",
    spread,
    info.suggested ? "Looks like a key: a good column to search by" : "",
  ];
  return lines.filter(Boolean).join("\n");
}

export function ColumnHead({ table, place, info, chosen, onChoose }: Props) {
  useEffect(() => {
    wantDistribution(table, place);
    return () => unwantDistribution(table, place);
  }, [table, place]);
  const known = distribution(table, place).value;
  const spread = typeof known === "string" ? "" : words(known);
  return (
    <button
      type="button" class={`column-head ${chosen ? "chosen" : ""}`} aria-pressed={chosen} onClick={onChoose}
      title={described(info, spread)} data-testid="column-head" data-column-name={info.column}
    >
      <span class="column-name">
        <Icon name={info.type} size={13} class="column-type" />
        <span class="column-text">{info.column || "(no name)"}</span>
        {chosen ? <Icon name="check" size={14} class="column-check" /> : info.suggested && <Icon name="star" size={13} class="column-star" />}
      </span>
      <Spark of={known} />
      <span class="column-facts">{facts(info)}</span>
    </button>
  );
}
