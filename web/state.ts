/** What the page knows, as signals. Components read them; `actions.ts` writes them. */

import { computed, signal, type Signal } from "@preact/signals";
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
/** A database that is being opened, beside the one that is open. */
export const opening = signal<{ name: string; since: number; cancel: () => void } | null>(null);
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
  /** What the self-test computed, in words; empty before it. */
  test: string;
  testing: boolean;
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
  /** The temperature that it works best at. */
  temperature: number;
  prompt: { kind: PromptKind; source: string };
}

export type ModelState =
  | { kind: "none" }
  | { kind: "loading"; name: string; stage: "reading" | "compiling"; done: number; total: number; since: number; moved: number; why: string | null }
  | { kind: "ready"; model: Model }
  | { kind: "failed"; name: string; error: string }
  | { kind: "lost"; name: string; error: string };

export const modelState = signal<ModelState>({ kind: "none" });
/** Why a model that was chosen is not taken; what is loaded stays. */
export const modelProblem = signal<string | null>(null);
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
  origin: "asked" | "file";
  /** Of an opened trace: the text that it was read from, which is saved again as it is. */
  text: string | null;
  /** Of an opened trace: whether its steps follow from one another by the rules of the protocol. */
  check: string | null;
  /** Milliseconds at which it began and ended on the page's clock. */
  startedAt: number;
  endedAt: number | null;
}

/** Whether two are the same episode: one that is opened from a file may be one of this visit, or have been opened before. */
export const sameEpisode = (a: Episode, b: Episode): boolean => {
  const [of, other] = [a.trace.config.run, b.trace.config.run];
  return a.id === b.id || (of.started_at !== null && of.started_at === other.started_at && a.trace.config.question === b.trace.config.question && a.trace.turns.length === b.trace.turns.length);
};

export const episode = signal<Episode | null>(null);
export const history = signal<readonly Episode[]>([]);
/** Of an opened trace that is being played: how many turns are shown; null: all of them. */
export const played = signal<number | null>(null);

export const shownTurns = computed<Turn[]>(() => {
  const turns = episode.value?.trace.turns ?? [];
  return played.value === null ? turns : turns.slice(0, played.value);
});

/** The name of a database file, without the folders that a native program may have been given. */
export const baseName = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

/** Whether an episode is about the database that is open. */
export const belongs = (trace: Trace): boolean => database.value !== null && baseName(trace.config.run.database) === database.value.name;

export const tableLights = computed<ReadonlyMap<string, Light>>(() => {
  const names = database.value?.tables.map((table) => table.name) ?? [];
  const current = episode.value;
  // A lamp says what was seen of this database: an episode of another one lights none here.
  if (current === null || !belongs(current.trace)) return lights(names, [], null);
  return lights(names, shownTurns.value, played.value === null ? current.trace.outcome : null);
});

export interface Settings {
  schema: "withheld" | "shown";
  /** null: what the model brings. */
  temperature: number | null;
  seed: number;
  /** null: as much as usual, or as the model can take. */
  tokenBudget: number | null;
}

/** Tokens of an episode where nobody says otherwise. */
export const USUAL_BUDGET = 12_288;

export const question = signal("");
export const evidence = signal("");
export const settings = signal<Settings>({ schema: "withheld", temperature: null, seed: 1, tokenBudget: null });

/** The settings as an episode would have them now; what only the model can tell is null until one is there. */
export const effective = computed(() => {
  const { temperature, tokenBudget } = settings.value;
  const model = modelState.value.kind === "ready" ? modelState.value.model : null;
  return {
    temperature: temperature ?? model?.temperature ?? null,
    tokenBudget: model === null ? tokenBudget : Math.min(tokenBudget ?? USUAL_BUDGET, model.longestContext),
  };
});

/** From the press on Ask to the end of the episode: as long as it is set nothing else can be asked, opened or loaded. */
export const asking = signal<{ since: number; stopping: boolean } | null>(null);
export interface Asked {
  question: string;
  evidence: string;
  /** Name of the database that it is asked of. */
  of: string;
}
/** A question that was asked before everything was there, as it was written then. */
export const queued = signal<Asked | null>(null);
/** What went wrong with asking, where no episode shows it. */
export const askError = signal<string | null>(null);

const refused = new Map<Signal<string | null>, string>();

/** Says in `place` that something cannot be done while an episode runs. */
export function refuse(place: Signal<string | null>, text: string): void {
  place.value = text;
  refused.set(place, text);
}

/** The episode is over, and what was said to be impossible meanwhile is possible again. */
export function forgetRefusals(): void {
  for (const [place, text] of refused) if (place.value === text) place.value = null;
  refused.clear();
}

/** The SQL in the editor. */
export const sql = signal("");
/** The SQL of the episode that is shown, as the editor was given it. */
export const answerSql = signal<string | null>(null);
/** Whether the editor holds the model's answer, unchanged. */
export const isAnswer = computed(() => answerSql.value !== null && sql.value === answerSql.value);

export interface Result {
  /** As the database worker knows it. */
  id: number;
  /** The same for as long as it is on the screen, also when its query had to be run again; of no other result of this visit. */
  key: number;
  /** By which column it is sorted; null: as the query gives it. */
  order: { column: number; descending: boolean } | null;
  sql: string;
  columns: string[];
  rows: number;
  more: boolean;
  elapsed: number;
}

export type ResultState =
  | { kind: "none" }
  /** `since` is null while the query waits for its turn. */
  | { kind: "running"; sql: string; since: number | null; stop: () => void }
  | { kind: "rows"; result: Result }
  | { kind: "failed"; error: string };

export const resultState = signal<ResultState>({ kind: "none" });
/** What went wrong with a result that is there: copying or saving it. */
export const resultProblem = signal<string | null>(null);
/** What was just copied or saved, in words; gone after some seconds. */
export const resultNote = signal<string | null>(null);

/** What a screen reader is told. */
export const status = signal("");

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>("auto");
