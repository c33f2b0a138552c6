// The ways to search and to join, in people's words.
import type { How } from "../api/types";
import type { HitWay } from "../state/hits";
import type { Way } from "../state/page";

export const WAYS: { way: Way; name: string; what: string }[] = [
  { way: "fused", name: "Best of all ways", what: "All ways at once, ranked by what speaks for each table" },
  { way: "overlap", name: "Equal values", what: "Columns that share the most values with yours" },
  { way: "containment", name: "Contains", what: "Columns that hold at least a given part of your values" },
  { way: "composite", name: "Composite key", what: "Several of your columns that are a key together" },
  { way: "meaning", name: "Meaning", what: "Values that are spelled otherwise and mean the same" },
  { way: "distance", name: "Near", what: "Places, numbers or vectors that lie near yours" },
  { way: "rewritten", name: "Rewritten", what: "Values that are equal once they are rewritten" },
];

export const KIND_WORDS: Record<HitWay["kind"], string> = {
  equal: "equal values",
  rewritten: "equal once rewritten",
  near: "near",
  meaning: "alike in meaning",
};

/** The sign between the columns: = for equal values, ~ for all that is only alike. */
export function sign(kind: HitWay["kind"]): string {
  return kind === "equal" ? "=" : "~";
}

export const HOWS: { how: How; name: string; what: string }[] = [
  { how: "inner", name: "Inner", what: "Only rows that meet" },
  { how: "left", name: "Left", what: "All my rows" },
  { how: "right", name: "Right", what: "All their rows" },
  { how: "full", name: "Full", what: "All rows of both" },
];

export const JOIN_BYS: { by: string; name: string; what: string }[] = [
  { by: "auto", name: "Find out", what: "Tries equal values, then programs, then what is alike" },
  { by: "equal", name: "Equal values", what: "Values must be the same" },
  { by: "transform", name: "Rewritten", what: "Learns a program that makes values equal" },
  { by: "fuzzy", name: "Alike", what: "Misspelled or shortened values" },
  { by: "meaning", name: "Meaning", what: "Other words for the same" },
  { by: "nearest", name: "Nearest", what: "Places or numbers within a distance" },
];
