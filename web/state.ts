/** What the page knows, as signals. Components read them; `actions.ts` writes them. */

import { computed, signal } from "@preact/signals";
import { lights, type Light, type Trace, type Turn } from "./trace";

export interface Column {
  name: string;
  type: string;
  notNull: boolean;
  key: number;
  generated: boolean;
}

export interface Table {
  name: string;
  kind: "table" | "view" | "virtual";
  sql: string;
  columns: Column[];
  keys: { columns: string[]; parent: string; parentColumns: string[] }[];
  problem: string | null;
}

/** Rows of a table: counted, not yet, or the reason why they cannot be. */
export type RowCount = number | "counting" | { problem: string };

export interface Database {
  name: string;
  bytes: number;
  tables: Table[];
  notices: string[];
}

export type DatabaseState =
  | { kind: "none" }
  | { kind: "opening"; name: string }
  | { kind: "open"; database: Database }
  | { kind: "failed"; name: string; error: string };

export const databaseState = signal<DatabaseState>({ kind: "none" });
export const rowCounts = signal<ReadonlyMap<string, RowCount>>(new Map());
/** What went wrong with a file that did not replace the open one. */
export const databaseError = signal<string | null>(null);

export const database = computed<Database | null>(() => {
  const state = databaseState.value;
  return state.kind === "open" ? state.database : null;
});

export interface Adapter {
  /** Name for people. */
  name: string;
  software: boolean;
  maxBuffer: number;
  maxBinding: number;
  features: string[];
  /** What the self-test computed, in words. */
  test: string;
}

export type AdapterState =
  | { kind: "checking" }
  | { kind: "good"; adapter: Adapter }
  | { kind: "wrong"; adapter: Adapter | null; problem: string }
  | { kind: "missing"; problem: string };

export const adapterState = signal<AdapterState>({ kind: "checking" });

export type PromptKind = "training" | "reconstructed";

export interface Model {
  /** Where it came from: shown after the name. */
  name: string;
  source: "built-in" | "file" | "stored";
  bytes: number;
  quantisation: string;
  context: number;
  /** Tokens that it could be loaded with. */
  longestContext: number;
  /** Bytes of GPU memory. */
  memory: number;
  prompt: { kind: PromptKind; source: string };
}

export type ModelState =
  | { kind: "none" }
  | { kind: "loading"; name: string; stage: "reading" | "compiling"; done: number; total: number; since: number }
  | { kind: "ready"; model: Model }
  | { kind: "failed"; name: string; error: string }
  | { kind: "lost"; name: string; error: string };

export const modelState = signal<ModelState>({ kind: "none" });
export const modelPanelOpen = signal(false);

/** The text of a turn that is being written. */
export interface Live {
  number: number;
  final: boolean;
  think: string;
  text: string;
  tokens: number;
  startedAt: number;
  firstTokenAt: number | null;
  contextBefore: number;
}

export interface Episode {
  id: number;
  /** Everything that is finished. */
  trace: Trace;
  live: Live | null;
  running: boolean;
  stopping: boolean;
  origin: "asked" | "file";
  /** Of an opened trace: whether its steps follow from one another by the rules of the protocol. */
  check: string | null;
  /** Milliseconds at which it began and ended on the page's clock. */
  startedAt: number;
  endedAt: number | null;
}

export const episode = signal<Episode | null>(null);
export const history = signal<readonly Episode[]>([]);
/** Of an opened trace that is being played: how many turns are shown; null: all of them. */
export const played = signal<number | null>(null);

export const shownTurns = computed<Turn[]>(() => {
  const turns = episode.value?.trace.turns ?? [];
  return played.value === null ? turns : turns.slice(0, played.value);
});

export const tableLights = computed<ReadonlyMap<string, Light>>(() => {
  const names = database.value?.tables.map((table) => table.name) ?? [];
  const current = episode.value;
  if (current === null) return lights(names, [], null);
  return lights(names, shownTurns.value, played.value === null ? current.trace.outcome : null);
});

export interface Settings {
  schema: "withheld" | "shown";
  temperature: number;
  seed: number;
  tokenBudget: number;
}

export const question = signal("");
export const evidence = signal("");
export const settings = signal<Settings>({ schema: "withheld", temperature: 0.6, seed: 1, tokenBudget: 12_288 });
/** A question was asked while the model was loading. */
export const askWaits = signal(false);
/** What went wrong with asking, where no episode shows it. */
export const askError = signal<string | null>(null);

/** The SQL in the editor. */
export const sql = signal("");
export const sqlOrigin = signal<"answer" | "person">("person");

export interface Result {
  id: number;
  sql: string;
  columns: string[];
  rows: number;
  more: boolean;
  elapsed: number;
}

export type ResultState =
  | { kind: "none" }
  | { kind: "running"; sql: string; since: number }
  | { kind: "rows"; result: Result }
  | { kind: "failed"; error: string };

export const resultState = signal<ResultState>({ kind: "none" });

/** What a screen reader is told. */
export const status = signal("");

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>("auto");
