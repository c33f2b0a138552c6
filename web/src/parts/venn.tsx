// Join types as Venn diagrams.
import { useId } from "preact/hooks";
import type { How } from "../api/types";

export function Venn({ how, size = 40 }: { how: How; size?: number }) {
  const id = useId();
  const left = how === "left" || how === "full";
  const right = how === "right" || how === "full";
  return (
    <svg class="venn" width={size} height={size * 0.64} viewBox="0 0 50 32" aria-hidden="true">
      <clipPath id={id}><circle cx="19" cy="16" r="13" /></clipPath>
      <circle class={`venn-left ${left ? "in" : ""}`} cx="19" cy="16" r="13" />
      <circle class={`venn-right ${right ? "in" : ""}`} cx="31" cy="16" r="13" />
      <circle class="venn-both" cx="31" cy="16" r="13" clip-path={`url(#${id})`} />
      <circle class="venn-line" cx="19" cy="16" r="13" />
      <circle class="venn-line" cx="31" cy="16" r="13" />
    </svg>
  );
}
