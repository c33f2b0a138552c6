// Types of the REST API, version 1.

export type Cell = string | number | boolean | null;
export type TableId = string;

export interface ProblemBody {
  kind: string;
  message: string;
  at?: { line: number; column: number; offset: number };
  limit?: string;
  retry_after?: number;
}

export interface Limits {
  upload_bytes: number;
  upload_rows: number;
  upload_columns: number;
  result_rows: number;
  result_bytes: number;
  seconds: number;
  sql_seconds: number;
  cache_bytes: number;
  uploads_bytes: number;
}

export interface LakeInfo {
  tables: number;
  columns: number;
  rows: number;
  cells: number;
  values: number;
  values_exact: boolean;
  bytes: number;
  segments: number;
  version: number;
  created: string;
  parts: string[];
  lakes: string[];
  index: string;
  graph: boolean;
  limits: Partial<Limits>;
}

export interface TableEntry {
  id: TableId;
  table: string;
  rows: number;
  columns: number;
}

export interface FindResult extends TableEntry {
  where: "name" | "column" | "value";
  column: string | null;
  match: string;
}

export type ColumnType = "text" | "integer" | "decimal" | "date" | "boolean" | "mixed" | "empty";

export interface ColumnInfo {
  column: string;
  type: ColumnType;
  indexed: boolean;
  rows: number;
  nulls: number;
  distinct: number | null;
  uniqueness: number | null;
  min_length: number | null;
  max_length: number | null;
  mean_length: number | null;
  key_likeness: number | null;
  examples: Cell[];
  date_format: string | null;
  suggested: boolean;
}

export interface TableInfo {
  id: TableId;
  table: string;
  rows: number;
  format: string | null;
  source: string | null;
  notes: string[];
  losses: { reason: string; count: number; detail: string }[];
  columns: ColumnInfo[];
  made: null | (Step & { left: TableId });
}

export interface Rows {
  table: TableId;
  columns: string[];
  rows: Cell[][];
  total: number;
  begin: number;
}

export interface Distribution {
  column: string;
  kind: "numbers" | "dates" | "values" | "none";
  bins: { from: number | string; to: number | string; rows: number }[];
  values: { value: Cell; rows: number }[];
  others: number;
  distinct: number | null;
  nulls: number;
  rows: number;
}

export interface UploadAnswer {
  tables: TableInfo[];
  skipped: { name: string; reason: string; detail: string }[];
}

export type SearchBy = "fused" | "overlap" | "containment" | "meaning" | "distance";

export interface SearchRequest {
  table: TableId;
  on: string[] | null;
  by: SearchBy;
  k?: number;
  start?: number;
  min?: number;
  sure?: number;
  within?: string | number;
}

export interface JoinHint {
  right: TableId;
  on: { left: string; right: string }[] | null;
  by: string | null;
  within?: string;
  tau?: number;
  precision?: number;
}

export type JoinKind = "equal" | "rewritten" | "near" | "meaning";

export interface FusedCandidate {
  kind: JoinKind;
  how: string;
  program: string | null;
  tau: number | null;
  radius: number | null;
  mine: string[];
  theirs: string[];
  matched: number;
  containment: number;
  row_coverage: number | null;
  fan_out: number | null;
  chance: number;
  score: number;
  sure: number;
  verdict: "strong" | "check" | "coincidence";
  words: string;
  also_equal: number;
  repeats: boolean;
  superseded: boolean;
  reasons: { what: string; nats: number; words: string }[];
  accidental: string;
  join?: JoinHint;
}

export interface FusedResult {
  rank: number;
  table: string;
  id: TableId;
  score: number;
  ways: FusedCandidate[];
  adds: { name: string; full: number | null }[];
  already_joined: boolean;
  versions: (string | { table: string })[];
  members: string[];
  together: number | null;
  accidental: string;
  reason: string;
}

/** A result of a single engine: overlap, containment, meaning or distance. */
export interface EngineResult {
  rank: number;
  table: string;
  id: TableId;
  columns: string[];
  matched: number;
  containment: number;
  query_size: number;
  column_size: number | null;
  row_coverage: number | null;
  fan_out: number | null;
  examples?: { matched?: unknown[]; unmatched?: unknown[] };
  copy?: string;
  estimate?: number | null;
  pairs?: number | null;
  tau?: number | null;
  join?: JoinHint;
}

export interface SearchAnswer {
  query: { table: string; columns?: unknown; column?: string | null; size?: number; rows?: number };
  by: SearchBy;
  k: number;
  /** How many tables join in all; only of a fused search. */
  total?: number;
  results: (FusedResult | EngineResult)[];
  misses?: FusedResult[];
  notes: string[];
  seconds: number;
  final: boolean;
  cached: boolean;
}

export type KeyValue = Cell | Record<string, Cell>;

export interface Explanation {
  matches: { value: KeyValue; partner?: KeyValue; distance?: number; mine: number; theirs: number }[];
  unmatched: { value: KeyValue; mine: number }[];
  matched: number;
  unmatched_total: number;
  sql: string | null;
}

export type How = "inner" | "left" | "right" | "full";

export interface JoinSettings {
  right: TableId;
  on: { left: string; right: string }[] | null;
  how: How;
  by: string | null;
  within?: string;
  tau?: number;
  precision?: number;
  one_to_one?: boolean;
  aggregate?: string[];
  columns?: string[] | null;
}

export interface JoinExample {
  step: number;
  before: Cell;
  after: Cell;
  partner: Cell;
  distance: number | null;
  unit: string | null;
}

export interface JoinFound {
  found?: true;
  left: string;
  right: string;
  on: { left: string; right: string }[] | null;
  how: How;
  rows: number;
  left_rows: number;
  right_rows: number;
  left_joined: number;
  right_joined: number;
  pairs: number;
  fan_out: number;
  left_columns: string[];
  right_columns: string[];
  steps: {
    kind: string;
    words: string;
    program: string | null;
    left_rows: number;
    right_rows: number;
    sure: number | null;
    why: string;
  }[];
  sure: number | null;
  examples: JoinExample[];
  unmatched: Record<"left" | "right", { row: number; value: Cell; nearest: Cell; distance: number | null }[]>;
  columns: string[];
  warnings: string[];
  notes: string[];
  preview: {
    columns: { name: string; side: "left" | "right"; key: boolean }[];
    rows: { cells: Cell[]; met: "both" | "left" | "right" }[];
  };
}

export interface JoinNotFound {
  found: false;
  left: string;
  right: string;
  why: string;
  attempt: null | { words: string; left_rows: number; right_rows: number; why: string };
  notes: string[];
}

export type JoinPreview = JoinFound | JoinNotFound;

export type Step = ({ kind: "join" } & JoinSettings) | { kind: "sql"; sql: string };

export interface Chain {
  start: TableId;
  steps: Step[];
}

export interface ChainTables {
  tables: TableInfo[];
}

export type CodeAs = "python" | "notebook" | "sql" | "pyspark";

export interface Code {
  code: string;
  filename: string;
  notes: string[];
}

export interface GraphStep {
  hop: number;
  table: string;
  id: TableId;
  column: string;
  other_table: string;
  other_id: TableId;
  other_column: string;
  shared: number;
  containment: number;
}

export interface Graph {
  table: string;
  id: TableId;
  reached: number[];
  steps: GraphStep[];
  complete: boolean;
  kept: boolean;
}

export interface Progress {
  doing: string;
  seconds: number;
}
