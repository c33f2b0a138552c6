// A small chart of a column's distribution.
import type { Distribution } from "../api/types";
import { cellText, numberText, percent, whole } from "../words/format";
import type { DistributionState } from "../state/distributions";

const WIDTH = 120;
const HEIGHT = 22;

function heights(counts: number[]): number[] {
  const most = Math.max(1, ...counts);
  return counts.map((count) => (count === 0 ? 0 : Math.max(1.5, (count / most) * HEIGHT)));
}

/** The range of numbers or dates, or the most frequent values. */
export function describeDistribution(of: Distribution): string {
  if (of.kind === "numbers" || of.kind === "dates") {
    const first = of.bins[0];
    const last = of.bins.at(-1);
    return first && last ? `${numberText(first.from)} to ${numberText(last.to)}` : "";
  }
  return of.values
    .slice(0, 3)
    .map(({ value, rows }) => `${cellText(value)} (${whole(rows)})`)
    .join(", ");
}

/** Bars for the most frequent values; one flat bar if all values are rare. */
function Shares({ of }: { of: Distribution }) {
  const all = Math.max(1, of.rows);
  const flat = (of.values[0]?.rows ?? 0) <= Math.max(1, all * 0.002);
  if (flat) {
    const filled = (all - of.nulls) / all;
    return (
      <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="spark-flat" x="0" y={HEIGHT - 5} width={WIDTH * filled} height="5" />
        <rect class="spark-nil" x={WIDTH * filled} y={HEIGHT - 5} width={WIDTH * (1 - filled)} height="5" />
      </svg>
    );
  }
  let x = 0;
  const tops = heights(of.values.map(({ rows }) => rows));
  const step = WIDTH / Math.max(10, of.values.length);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {tops.map((height, place) => {
        const from = x;
        x += step;
        return <rect key={place} class="spark-value" x={from} y={HEIGHT - height} width={step - 1.5} height={height} />;
      })}
    </svg>
  );
}

export function Spark({ of }: { of: DistributionState }) {
  if (of === "waiting") return <div class="spark waiting" />;
  if (of === "none" || of.kind === "none") return <div class="spark" />;
  if (of.kind === "values" || of.bins.length === 0) return <Shares of={of} />;
  const tops = heights(of.bins.map(({ rows }) => rows));
  const step = WIDTH / tops.length;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {tops.map((height, place) => (
        <rect key={place} class="spark-bin" x={place * step} y={HEIGHT - height} width={Math.max(1, step - 1)} height={height} />
      ))}
    </svg>
  );
}

/** The most frequent values as a list, for the cell panel. */
export function DistributionList({ of }: { of: Distribution }) {
  const most = Math.max(1, ...of.values.map(({ rows }) => rows));
  return (
    <ul class="counts">
      {of.values.map(({ value, rows }, place) => (
        <li key={place}>
          <span class="counts-bar" style={{ width: `${(rows / most) * 100}%` }} />
          <span class="counts-value">{value === null ? "missing" : cellText(value)}</span>
          <span class="counts-rows">{whole(rows)}</span>
        </li>
      ))}
      {of.others > 0 && (
        <li class="counts-others">
          <span class="counts-value">other values</span>
          <span class="counts-rows">{percent(of.others / Math.max(1, of.rows))}</span>
        </li>
      )}
    </ul>
  );
}
