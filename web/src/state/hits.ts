// Converts the results of every search method to one form.
import type {
  EngineResult,
  FusedResult,
  FusedCandidate,
  JoinHint,
  SearchAnswer,
  SearchRequest,
  TableId,
  JoinKind,
} from "../api/types";
import type { SearchSettings } from "./page";

export interface Candidate {
  kind: JoinKind;
  how: string;
  mine: string[];
  theirs: string[];
  matched: number;
  containment: number;
  rowCoverage: number | null;
  fanOut: number | null;
  accidental: string;
  verdict: FusedCandidate["verdict"] | null;
  words: string;
  join: JoinHint;
}

export interface Hit {
  key: string;
  rank: number;
  id: TableId;
  table: string;
  score: number | null;
  candidates: Candidate[];
  adds: { name: string; full: number | null }[];
  alreadyJoined: boolean;
  versions: string[];
  /** The other files of its series. */
  members: string[];
  reason: string;
  examples: { matched: string[]; unmatched: string[] } | null;
}

const JOIN_BY: Record<JoinKind, string> = { equal: "equal", rewritten: "transform", near: "nearest", meaning: "meaning" };

function hint(id: TableId, kind: JoinKind, mine: string[], theirs: string[], fromServer?: JoinHint): JoinHint {
  if (fromServer) return fromServer;
  const on = mine.map((left, place) => ({ left, right: theirs[place] ?? left }));
  return { right: id, on: on.length ? on : null, by: JOIN_BY[kind] };
}

function fusedCandidate(id: TableId, candidate: FusedCandidate): Candidate {
  return {
    kind: candidate.kind,
    how: candidate.how,
    mine: candidate.mine,
    theirs: candidate.theirs,
    matched: candidate.matched,
    containment: candidate.containment,
    rowCoverage: candidate.row_coverage,
    fanOut: candidate.fan_out,
    accidental: candidate.accidental,
    verdict: candidate.verdict,
    words: candidate.words,
    join: hint(id, candidate.kind, candidate.mine, candidate.theirs, candidate.join),
  };
}

function fusedHit(result: FusedResult): Hit {
  return {
    key: result.id,
    rank: result.rank,
    id: result.id,
    table: result.table,
    score: result.score,
    candidates: result.ways.map((candidate) => fusedCandidate(result.id, candidate)),
    adds: result.adds,
    alreadyJoined: result.already_joined,
    versions: result.versions.map((version) => (typeof version === "string" ? version : version.table)),
    members: result.members,
    reason: result.accidental || result.reason,
    examples: null,
  };
}

const ENGINE_KIND: Record<string, JoinKind> = { meaning: "meaning", distance: "near" };

/** The text of an example; a pair of similar values is `mine ~ theirs`. */
function exampleText(example: unknown): string {
  if (Array.isArray(example)) return example.map(String).join(" ~ ");
  if (typeof example === "object" && example !== null) return Object.values(example).map(String).join(" · ");
  return String(example);
}

function engineHit(result: EngineResult, by: string, on: string[]): Hit {
  const kind = ENGINE_KIND[by] ?? "equal";
  const candidate: Candidate = {
    kind,
    how: "",
    mine: on,
    theirs: result.columns,
    matched: result.matched,
    containment: result.containment,
    rowCoverage: result.row_coverage,
    fanOut: result.fan_out,
    accidental: "",
    verdict: null,
    words: "",
    join: hint(result.id, kind, on, result.columns, result.join),
  };
  return {
    key: `${result.id}\n${result.columns.join("\n")}`,
    rank: result.rank,
    id: result.id,
    table: result.table,
    score: null,
    candidates: [candidate],
    adds: [],
    alreadyJoined: false,
    versions: result.copy ? [result.copy] : [],
    members: [],
    reason: "",
    examples: {
      matched: (result.examples?.matched ?? []).map(exampleText),
      unmatched: (result.examples?.unmatched ?? []).map(exampleText),
    },
  };
}

export interface Hits {
  hits: Hit[];
  misses: Hit[];
}

/** Converts an answer; a search for rewritten values keeps only results with such a join. */
export function toHits(answer: SearchAnswer, settings: Pick<SearchSettings, "on" | "way">): Hits {
  if (answer.by !== "fused") {
    return { hits: answer.results.map((result) => engineHit(result as EngineResult, answer.by, settings.on)), misses: [] };
  }
  const hits = answer.results.map((result) => fusedHit(result as FusedResult));
  const misses = (answer.misses ?? []).map(fusedHit);
  if (settings.way !== "rewritten") return { hits, misses };
  const rewritten = (hit: Hit): Hit[] => {
    const rewritten = hit.candidates.filter((candidate) => candidate.kind === "rewritten");
    return rewritten.length ? [{ ...hit, candidates: [...rewritten, ...hit.candidates.filter((candidate) => candidate.kind !== "rewritten")] }] : [];
  };
  return { hits: hits.flatMap(rewritten), misses: [] };
}

/** The number of results for methods without a threshold on containment. */
const BEST = 10;

/** The chance of being right that a match by meaning must have, unless the user says otherwise. */
export const SURE = 0.9;

/** Builds the request from the settings that the user chose. */
export function toRequest(table: TableId, settings: SearchSettings): SearchRequest {
  const on = settings.on.length ? settings.on : null;
  const k = settings.k === undefined ? {} : { k: settings.k };
  switch (settings.way) {
    case "fused":
    case "rewritten":
      return { table, on, by: "fused", ...k };
    case "overlap":
    case "composite":
      return { table, on, by: "overlap", ...k };
    case "containment":
      return { table, on, by: "containment", min: settings.min ?? 0.5, ...k };
    case "meaning":
      return { table, on, by: "meaning", sure: settings.sure ?? SURE, k: settings.k ?? BEST };
    case "distance":
      return { table, on, by: "distance", within: settings.within ?? "500m", k: settings.k ?? BEST };
  }
}

/** What the user still has to choose; null if the search can start. */
export function missingHint(settings: SearchSettings): string | null {
  const chosen = settings.on.length;
  if (settings.way === "composite" && chosen < 2) return "Select two or more columns that form the key.";
  const needsOne: Method[] = ["overlap", "containment", "meaning", "distance"];
  if (needsOne.includes(settings.way) && chosen === 0) return "Select a column to search by.";
  return null;
}
type Method = SearchSettings["way"];
