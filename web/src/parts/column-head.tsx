// A column header: name, type, distribution, distinct and missing values.
import { useEffect } from "preact/hooks";
import type { ColumnInfo, TableId } from "../api/types";
import { distribution, cancelDistribution, requestDistribution } from "../state/distributions";
import { percent, short, whole } from "../words/format";
import { Icon } from "./icon";
import { describeDistribution, Spark } from "./sparkline";

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

function describe(info: ColumnInfo, values: string): string {
  const lines = [
    `${info.column} · ${info.type}${info.date_format ? ` (${info.date_format})` : ""}`,
    info.distinct === null ? "" : `${whole(info.distinct)} distinct values in ${whole(info.rows)} rows`,
    info.nulls ? `${whole(info.nulls)} missing values` : "no missing values",
    values,
    info.suggested ? "Looks like a key: good to search by" : "",
  ];
  return lines.filter(Boolean).join("\n");
}

export function ColumnHead({ table, place, info, chosen, onChoose }: Props) {
  useEffect(() => {
    requestDistribution(table, place);
    return () => cancelDistribution(table, place);
  }, [table, place]);
  const known = distribution(table, place).value;
  const values = typeof known === "string" ? "" : describeDistribution(known);
  return (
    <button
      type="button" class={`column-head ${chosen ? "chosen" : ""}`} aria-pressed={chosen} onClick={onChoose}
      title={describe(info, values)} data-testid="column-head" data-column-name={info.column}
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
