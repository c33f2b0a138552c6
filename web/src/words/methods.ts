// Names and descriptions of the methods to search and to join.
import type { How } from "../api/types";
import type { Candidate } from "../state/hits";
import type { SearchMethod } from "../state/page";

export const SEARCH_METHODS: { method: SearchMethod; name: string; what: string }[] = [
  { method: "fused", name: "All methods", what: "Runs every method and ranks tables by all the evidence" },
  { method: "overlap", name: "Equal values", what: "Columns that share the most values with yours" },
  { method: "containment", name: "Contains", what: "Columns that contain at least a given share of your values" },
  { method: "composite", name: "Composite key", what: "Several of your columns together form the key" },
  { method: "meaning", name: "Meaning", what: "Values with the same meaning but a different spelling" },
  { method: "distance", name: "Near", what: "Coordinates, numbers or vectors close to yours" },
  { method: "rewritten", name: "Rewritten", what: "Values that match after rewriting, such as reordered names" },
];

export const KIND_WORDS: Record<Candidate["kind"], string> = {
  equal: "equal values",
  rewritten: "equal after rewriting",
  near: "near",
  meaning: "similar meaning",
};

/** The sign between two columns: = for equal values, ~ for similar ones. */
export function sign(kind: Candidate["kind"]): string {
  return kind === "equal" ? "=" : "~";
}

export const HOWS: { how: How; name: string; what: string }[] = [
  { how: "inner", name: "Inner", what: "Only rows that match" },
  { how: "left", name: "Left", what: "All your rows" },
  { how: "right", name: "Right", what: "All rows of the other table" },
  { how: "full", name: "Full", what: "All rows of both tables" },
];

export const JOIN_BYS: { by: string; name: string; what: string }[] = [
  { by: "auto", name: "Automatic", what: "Tries equal values, then rewriting, then similarity" },
  { by: "equal", name: "Equal values", what: "Values must be the same" },
  { by: "transform", name: "Rewritten", what: "Learns how to rewrite values so that they match" },
  { by: "fuzzy", name: "Similar spelling", what: "Misspelled or abbreviated values" },
  { by: "meaning", name: "Meaning", what: "Different words for the same thing" },
  { by: "nearest", name: "Nearest", what: "Coordinates or numbers within a distance" },
];
