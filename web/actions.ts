/** Everything that a person can do, and what the workers say to it. */

import { batch, effect, signal } from "@preact/signals";
import { DatabaseClient, Interrupted, type RequestOptions, type Source } from "./database-client";
import { bytes as showBytes, message } from "./format";
import { engine } from "./engine-client";
import { saveFile } from "./save";
import { SAMPLES, type Sample } from "./samples";
import { followAgain } from "./scroll";
import { formatSql } from "./sql-format";
import type { Cell } from "./cells";
import { count, whyNoTrace, type Trace } from "./trace";
import {
  adapterState, answerSql, asking, askError, baseName, belongs, database, databaseError, databaseState, effective, episode, evidence, history, isAnswer,
  forgetRefusals, modelState, opening, played, question, queued, refuse, resultNote, resultProblem, resultState, rowCounts, sameEpisode, settings, sql, status, USUAL_BUDGET,
  type Asked, type Episode, type Result, type RowCount,
} from "./state";

export const client = new DatabaseClient();

// Databases

/** Opens what `get` gives. What is open stays on the screen, and in use, until the next one is there. */
async function openWith(name: string, get: (signal: AbortSignal) => Promise<Source>): Promise<void> {
  databaseError.value = null;
  askError.value = null;
  if (asking.value !== null) return refuse(databaseError, `an episode is running on the open database; stop it first, then open ${name}`);
  const control = new AbortController();
  const before = opening.value;
  const mine = { name, since: performance.now(), cancel: () => control.abort(new Error(`opening ${name} was cancelled`)) };
  opening.value = mine;
  before?.cancel();
  if (database.value === null) databaseState.value = { kind: "opening", name };
  try {
    const source = await get(control.signal);
    control.signal.throwIfAborted();
    const catalog = await client.open(source, control.signal);
    batch(() => {
      opening.value = null;
      databaseState.value = {
        kind: "open",
        database: { name: source.name, bytes: source.file.size, tables: catalog.tables, notices: catalog.notices },
      };
      rowCounts.value = new Map();
      clearResult();
      stopPlaying();
      sql.value = "";
      answerSql.value = null;
      keepEpisode();
      // An episode that waited for its database stays, and gets its rows.
      const last = episode.value;
      if (last !== null && !belongs(last.trace)) {
        episode.value = null;
        // What is written may be the next question, but not the last one, which was of another database.
        if (question.value.trim() === last.trace.config.question.trim()) {
          question.value = "";
          evidence.value = "";
        }
      }
      status.value = `${source.name} is open.`;
    });
    void countRows();
    if (episode.value !== null) await showAnswer(episode.value.trace);
  } catch (error) {
    // Another one was chosen meanwhile, and has the say.
    if (opening.value !== mine) return;
    const text = message(error);
    batch(() => {
      opening.value = null;
      if (database.value !== null) databaseError.value = text;
      else databaseState.value = { kind: "failed", name, error: text };
      const waits = queued.value;
      if (waits?.of === name) {
        queued.value = null;
        askError.value = `“${waits.question}” was not asked, because ${name} is not open`;
      }
    });
  }
}

export const openSource = (source: Source): Promise<void> => openWith(source.name, () => Promise.resolve(source));

/** Files from a picker or a drop: a database with its write-ahead log, a model, or a trace. */
export async function openFiles(files: File[]): Promise<void> {
  const log = files.find((file) => /-wal$/i.test(file.name));
  const rest = files.filter((file) => file !== log && !/-shm$/i.test(file.name));
  const file = rest[0] ?? log;
  if (file === undefined) return;
  if (rest.length > 1) {
    databaseError.value = `${files.map((each) => each.name).join(", ")}: one file at a time; a database may have its -wal file with it`;
    return;
  }
  const kind = await kindOf(file);
  if (kind === "model") return engine.useFile(file);
  if (kind === "trace") return openTrace(file);
  // The log of another database would replace pages of this one.
  if (log !== undefined && log !== file && log.name.toLowerCase() !== `${file.name.toLowerCase()}-wal`) {
    databaseError.value = `${log.name} does not belong to ${file.name}, whose log is called ${file.name}-wal; choose the two that belong together, or the database alone`;
    return;
  }
  await openSource({ name: file.name, file, log: file === log ? null : (log ?? null) });
}

/** What a file is, by its first bytes where they tell and else by its name. */
async function kindOf(file: File): Promise<"database" | "model" | "trace"> {
  // One that cannot be read is told about by whoever opens it.
  const start = await file.slice(0, 16).text().catch(() => "");
  if (start.startsWith("SQLite format 3")) return "database";
  const name = file.name.toLowerCase();
  if (start.startsWith("GGUF") || name.endsWith(".gguf")) return "model";
  return name.endsWith(".json") ? "trace" : "database";
}

/** Opens a sample; one that nobody asked for gives way to a file that was chosen before. */
export async function openSample(sample: Sample, unasked = false): Promise<void> {
  if (unasked && (databaseState.value.kind !== "none" || opening.value !== null)) return;
  await openWith(sample.file, async (signal) => {
    const response = await fetch(sample.address, { signal }).catch(() => {
      throw new Error("the sample could not be fetched; check the connection");
    });
    if (!response.ok) throw new Error(`the sample could not be fetched (${response.status})`);
    return { name: sample.file, file: await response.blob(), log: null };
  });
}

/** What a person may have meant by an address; an error says what it must look like. */
export function readAddress(text: string, base: string): URL {
  const given = text.trim();
  // A host without https:// in front of it, and not a path on this site.
  const full = /^[\w-]+(\.[\w-]+)+(:\d+)?\//.test(given) ? `https://${given}` : given;
  let address: URL | null = null;
  try {
    address = new URL(full, base);
  } catch {
    // Said below.
  }
  if (address === null || !/^https?:$/.test(address.protocol)) {
    throw new Error(`${JSON.stringify(given.length > 80 ? `${given.slice(0, 79)}…` : given)} is not an address of a file; write https://… or choose the file instead`);
  }
  return address;
}

/** A database at an address that this page may connect to. */
export async function openAddress(text: string): Promise<void> {
  databaseError.value = null;
  let address: URL;
  try {
    address = readAddress(text, document.baseURI);
  } catch (error) {
    databaseError.value = message(error);
    return;
  }
  const last = address.pathname.split("/").at(-1) ?? "";
  let name = last;
  try {
    name = decodeURIComponent(last);
  } catch {
    // A name in another encoding is shown as it stands.
  }
  name ||= address.host;
  await openWith(name, async (signal) => {
    let response: Response;
    try {
      response = await fetch(address, { credentials: "omit", signal });
    } catch {
      const allowed = address.origin === location.origin || /(^|\.)(huggingface\.co|hf\.co)$/.test(address.hostname);
      throw new Error(
        allowed
          ? `${address.host} cannot be reached; check the connection, or download the file and drop it here`
          : `${address.host} cannot be reached from here. This page connects only to its own site and to huggingface.co, so that nothing can leave your machine unseen; download the file and drop it here`,
      );
    }
    if (!response.ok) throw new Error(`${address.host} answered ${response.status} for ${name}; check the address`);
    return { name, file: await response.blob(), log: null };
  });
}

/** Milliseconds between two changes of the row counts: a database may have thousands of tables. */
const COUNTS_MS = 400;

/** Counts the rows of one table after another while nothing else is to be done. */
async function countRows(): Promise<void> {
  const tables = database.value?.tables ?? [];
  const found = new Map<string, RowCount>();
  let shown = performance.now();
  const show = (): void => {
    shown = performance.now();
    rowCounts.value = new Map(found);
  };
  let given = false;
  for (const table of tables) {
    while (!client.idle) await new Promise((resolve) => setTimeout(resolve, 30));
    if (database.value?.tables !== tables) return;
    if (table.kind === "view" || table.problem !== null) continue;
    // Each count that is ended costs another opening of the file: after one the rest stays uncounted.
    if (given) {
      found.set(table.name, { problem: "counting was given up, because another table took too long" });
      continue;
    }
    try {
      found.set(table.name, await client.request((remote) => remote.countRows(table.name)));
    } catch (error) {
      given = error instanceof Interrupted;
      found.set(table.name, { problem: given ? "counting took longer than 5 s" : message(error) });
    }
    if (database.value?.tables !== tables) return;
    if (performance.now() - shown > COUNTS_MS || found.size <= 1) show();
  }
  show();
}

// Queries

export function browse(table: string): void {
  sql.value = `SELECT * FROM "${table.replaceAll('"', '""')}"`;
  followAgain();
  void runSql().then(() => (reveal.value += 1));
}

/** Puts the model's answer back after other queries. */
export function backToAnswer(): void {
  if (answerSql.value === null) return;
  sql.value = answerSql.value;
  if (episode.value !== null && belongs(episode.value.trace)) void runSql();
  else clearResult();
}

/** Rises with every query of the person's and whenever its result is no longer wanted. */
let queries = 0;

export async function runSql(): Promise<void> {
  const text = sql.value;
  if (text.trim() === "" || resultState.value.kind === "running" || database.value === null) return;
  clearResult();
  const mine = queries;
  const control = new AbortController();
  const running = { kind: "running", sql: text, since: null, stop: () => control.abort() } as const;
  resultState.value = running;
  let since = performance.now();
  const begins = (): void => {
    since = performance.now();
    if (mine === queries) resultState.value = { ...running, since };
  };
  try {
    const summary = await client.request((remote) => remote.query(text), { signal: control.signal, begins });
    if (mine !== queries) return forget(summary.id);
    resultState.value = { kind: "rows", result: { ...summary, key: mine, order: null, sql: text, elapsed: performance.now() - since } };
    status.value = `${count(summary.rows, "row")}.`;
  } catch (error) {
    if (mine === queries) resultState.value = { kind: "failed", error: message(error) };
  }
}

/** Stops the person's own query, and no other. */
export function stopQuery(): void {
  const state = resultState.value;
  if (state.kind === "running") state.stop();
}

const forget = (id: number): void => void client.request((remote) => remote.forget(id)).catch(() => undefined);

/** No result, and none to come of a query that still runs. */
function clearResult(): void {
  const state = resultState.value;
  queries += 1;
  if (state.kind === "running") state.stop();
  if (state.kind === "rows") forget(state.result.id);
  resultState.value = { kind: "none" };
  resultProblem.value = null;
  resultNote.value = null;
}

/** A result as it is now: its query may have been run again since. */
function latest(result: Result): Result {
  const state = resultState.value;
  return state.kind === "rows" && state.result.key === result.key ? state.result : result;
}

/** The worker that held a result may have been ended since: then its query is run once more. */
async function withResult<T>(result: Result, use: (id: number) => Promise<T>): Promise<T> {
  try {
    return await use(latest(result).id);
  } catch (error) {
    if (!/no longer there|no database is open/.test(message(error))) throw error;
    return use((await runAgain(latest(result))).id);
  }
}

let again: { key: number; done: Promise<Result> } | null = null;

/** Runs the query of a result that is lost, once for all who miss it, and sorts its rows as they were. */
function runAgain(result: Result): Promise<Result> {
  if (again?.key === result.key) return again.done;
  const done = (async () => {
    const { order } = result;
    const summary = await client.request((remote) => remote.query(result.sql));
    const sorted = order !== null && order.column < summary.columns.length ? order : null;
    if (sorted !== null) await sortRows(summary.id, sorted);
    const next = { ...result, ...summary, order: sorted };
    const state = resultState.value;
    if (state.kind === "rows" && state.result.key === result.key) {
      resultState.value = { kind: "rows", result: next };
      say("The query was run again, because the database had to be opened anew");
    }
    return next;
  })();
  const mine = { key: result.key, done };
  again = mine;
  void done.catch(() => undefined).finally(() => {
    if (again === mine) again = null;
  });
  return done;
}

export const windowOf = (result: Result, first: number, count: number): Promise<Cell[][]> =>
  withResult(result, (id) => client.request((remote) => remote.window(id, first, count)));

const sortRows = (id: number, order: Result["order"]): Promise<void> => client.request((remote) => remote.sort(id, order?.column, order?.descending ?? false));

export async function sortResult(result: Result, order: Result["order"]): Promise<void> {
  await withResult(result, (id) => sortRows(id, order));
  const sorted = latest(result);
  const state = resultState.value;
  if (state.kind === "rows" && state.result === sorted) resultState.value = { kind: "rows", result: { ...sorted, order } };
}

export const valueOf = (result: Result, row: number, column: number): Promise<unknown> =>
  withResult(result, (id) => client.request((remote) => remote.value(id, row, column)));

/** Rows that are copied at most: more would stop many a spreadsheet. */
const COPIED_ROWS = 50_000;

/** What may take as long as it needs, with its failure told where the result is. */
async function withRows(doing: string, use: (result: Result) => Promise<void>): Promise<void> {
  const state = resultState.value;
  if (state.kind !== "rows") return;
  resultProblem.value = null;
  try {
    await use(state.result);
  } catch (error) {
    resultProblem.value = `${doing}: ${message(error)}`;
  }
}

export const copyResult = (): Promise<void> =>
  withRows("copying the rows", async (result) => {
    const text = await withResult(result, (id) => client.request((remote) => remote.tabbed(id, COPIED_ROWS), { limit: null }));
    const rows = Math.min(result.rows, COPIED_ROWS);
    await copy(text, `${count(rows, "row")} copied${rows < result.rows ? `, the first of ${result.rows.toLocaleString("en")}` : ""}`);
  });

export const saveCsv = (): Promise<void> =>
  withRows("making the CSV file", async (result) => {
    const data = await withResult(result, (id) => client.request((remote) => remote.csv(id), { limit: null }));
    saveFile(data, `${(database.value?.name ?? "result").replace(/\.\w+$/, "")}.csv`);
    say(`${count(result.rows, "row")} saved`);
  });

export async function copySql(): Promise<void> {
  resultProblem.value = null;
  try {
    await copy(sql.value, "SQL copied");
  } catch (error) {
    resultProblem.value = message(error);
  }
}

async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error(`the browser did not allow copying ${showBytes(text.length)}; save the file instead`);
  }
  say(said);
}

let noteTimer: ReturnType<typeof setTimeout> | undefined;
function say(text: string): void {
  resultNote.value = text;
  status.value = `${text}.`;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => (resultNote.value = null), 6000);
}

// Episodes

let episodes = 0;

/** For tests: what the model is made to say in the next episode. */
export const script: string[] = [];

function keepEpisode(): void {
  const current = episode.value;
  if (current !== null && current.trace.outcome !== null) {
    history.value = [current, ...history.value.filter((each) => !sameEpisode(each, current))].slice(0, 50);
  }
}

/** Asks what is written, now or as soon as database and model are there. */
export function ask(): void {
  const of = opening.value?.name ?? database.value?.name ?? "";
  const asked = { question: question.value.trim(), evidence: evidence.value.trim(), of };
  if (asked.question === "" || asking.value !== null) return;
  askError.value = null;
  databaseError.value = null;
  const adapter = adapterState.value.kind;
  const model = modelState.value.kind;
  if (adapter === "missing" || adapter === "wrong") {
    askError.value = "no model can run here, so nothing can be asked; the note above says why";
  } else if (database.value === null && opening.value === null) {
    askError.value = "no database is open; choose one first";
  } else if (model === "failed" || model === "lost") {
    askError.value = "no model is loaded; load one, then ask again";
  } else if (model !== "ready" || opening.value !== null) {
    queued.value = asked;
  } else {
    queued.value = null;
    void put(asked);
  }
}

/** Ends what belongs to the episode in the database worker, and nothing of the person's. */
let control = new AbortController();

/** Set to look at the answer once its rows are there. */
export const reveal = signal(0);

/** Runs an episode. From the first line on nothing else can be asked. */
async function put(asked: Asked): Promise<void> {
  const open = database.value;
  if (open === null || asking.value !== null) return;
  asking.value = { since: performance.now(), stopping: false };
  stopPlaying();
  keepEpisode();
  control = new AbortController();
  const { signal } = control;
  const id = (episodes += 1);
  let trace: Trace | null = null;
  try {
    const chosen = settings.value;
    const { temperature, tokenBudget } = effective.value;
    const schema = chosen.schema === "shown" ? await client.request((remote) => remote.schema(), { signal }) : null;
    const begun = performance.now();
    const update = (change: (current: Episode) => Episode): void => {
      const current = episode.value;
      if (current?.id === id) episode.value = change(current);
    };
    followAgain();
    const finished = await engine.ask(
      {
        question: asked.question,
        evidence: asked.evidence || null,
        schema,
        temperature: temperature ?? 0,
        seed: chosen.seed,
        tokenBudget: tokenBudget ?? USUAL_BUDGET,
        database: open.name,
        ...(script.length > 0 ? { script: script.splice(0) } : {}),
      },
      {
        begins: (first) =>
          batch(() => {
            episode.value = { id, trace: first, live: null, running: true, origin: "asked", text: null, check: null, startedAt: begun, endedAt: null };
            clearAnswer();
          }),
        changes: (next, live) => update((current) => ({ ...current, trace: next, live })),
        tool: (name, args) => runTool(name, args, { signal }),
        check: (text) => checkSql(text, { signal }),
      },
    );
    trace = finished;
    update((current) => ({ ...current, trace: finished, live: null, running: false, endedAt: performance.now() }));
    keepEpisode();
    status.value = `The episode is over: ${finished.outcome?.ended_by ?? "error"}.`;
  } catch (error) {
    if (!/^stopped before/.test(message(error))) askError.value = message(error);
    if (episode.value?.id === id) episode.value = null;
  } finally {
    asking.value = null;
    forgetRefusals();
  }
  if (trace === null || episode.value?.id !== id) return;
  await showAnswer(trace);
  if (episode.value?.id === id && asking.value === null) reveal.value += 1;
}

// A question that came before everything was there.
effect(() => {
  const waits = queued.value;
  const model = modelState.value.kind;
  const adapter = adapterState.value.kind;
  if (waits === null || opening.value !== null || model === "loading") return;
  if (model === "none" && (adapter === "checking" || adapter === "good")) return;
  queueMicrotask(() => {
    if (queued.peek() !== waits) return;
    queued.value = null;
    if (database.value?.name !== waits.of) askError.value = `“${waits.question}” was not asked: it was meant for ${waits.of}, and ${database.value?.name ?? "no database"} is open`;
    else if (model === "ready") void put(waits);
    else askError.value = `“${waits.question}” was not asked, because no model is loaded`;
  });
});

/** A second press of a double click on Ask must not stop what it has just begun. */
export const STOP_AFTER_MS = 400;

export function stop(): void {
  const current = asking.value;
  if (current === null || current.stopping || performance.now() - current.since < STOP_AFTER_MS) return;
  asking.value = { ...current, stopping: true };
  engine.stop();
  control.abort();
}

export async function runTool(name: string, args: string, options: RequestOptions = {}): Promise<string> {
  try {
    return await client.request((remote) => remote.call(name, args), options);
  } catch (error) {
    // Ended from outside: the episode goes on with the same words that the native program has for it.
    if (error instanceof Interrupted) return JSON.stringify({ text: `Error: ${error.message}`, is_error: true });
    throw error;
  }
}

async function checkSql(text: string, options: RequestOptions): Promise<string | null> {
  try {
    return await client.request((remote) => remote.check(text), options);
  } catch (error) {
    if (error instanceof Interrupted) return error.message;
    throw error;
  }
}

/** Takes the answer of an episode away, with its rows; what a person wrote stays. */
function clearAnswer(): void {
  const state = resultState.value;
  const shown = answerSql.value;
  const answers = shown !== null && (state.kind === "rows" ? state.result.sql === shown : state.kind !== "running" || state.sql === shown);
  if (isAnswer.value || answers) {
    clearResult();
    if (isAnswer.value) sql.value = "";
  }
  answerSql.value = null;
}

/** Puts the answer's SQL into the editor, and runs it if the episode is about the database that is open. */
async function showAnswer(trace: Trace): Promise<void> {
  clearAnswer();
  const answer = trace.outcome?.sql;
  if (answer == null || answer.trim() === "") return;
  const text = formatSql(answer);
  batch(() => {
    clearResult();
    answerSql.value = text;
    sql.value = text;
  });
  if (belongs(trace)) await runSql();
}

export function showEpisode(wanted: Episode): void {
  if (asking.value !== null) return;
  askError.value = null;
  stopPlaying();
  keepEpisode();
  episode.value = wanted;
  question.value = wanted.trace.config.question;
  evidence.value = wanted.trace.config.evidence ?? "";
  followAgain();
  void showAnswer(wanted.trace);
}

/** The sample that an episode is about, if it is about one. */
export const sampleOf = (trace: Trace): Sample | undefined => SAMPLES.find((each) => each.file === baseName(trace.config.run.database));

// Traces

export function saveTrace(current: Episode): void {
  const words = current.trace.config.question.slice(0, 500).toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["episode"];
  const name = `${words.join("-").slice(0, 60)}.glowworm.json`;
  // An opened one is saved as it was read: numbers of more digits than JavaScript has stay what they are.
  saveFile(new Blob([current.text ?? JSON.stringify(current.trace, null, 1)], { type: "application/json" }), name);
}

/** Bytes of a trace that are read at most: an episode has some hundred kilobytes. */
const LARGEST_TRACE = 64e6;

export async function openTrace(file: File): Promise<void> {
  askError.value = null;
  try {
    if (asking.value !== null) return refuse(askError, "an episode is running; stop it first, then open the trace");
    if (file.size > LARGEST_TRACE) throw new Error(`${file.name}: ${showBytes(file.size)} is too large for a trace`);
    const text = await file.text().catch(() => {
      throw new Error(`${file.name}: the file cannot be read; it was moved or changed, choose it again`);
    });
    const limit = { seconds: 30, late: "it takes longer than 30 s to read, and no trace of an episode does" };
    const read = await client.request((remote) => remote.readTrace(text), { limit, apart: true }).catch((error: unknown) => {
      throw new Error(`${file.name}: ${whyNoTrace(text, message(error))}`);
    });
    const trace = JSON.parse(read.trace) as Trace;
    if (asking.value !== null) throw new Error("an episode has begun meanwhile; open the trace again when it is over");
    stopPlaying();
    keepEpisode();
    const id = (episodes += 1);
    question.value = trace.config.question.slice(0, 4000);
    evidence.value = (trace.config.evidence ?? "").slice(0, 4000);
    episode.value = { id, trace, live: null, running: false, origin: "file", text: read.trace, check: read.check, startedAt: 0, endedAt: null };
    followAgain();
    await showAnswer(trace);
  } catch (error) {
    askError.value = message(error);
  }
}

let player: ReturnType<typeof setTimeout> | undefined;

/** Shows the turns one after another, at the pace they had, but none for longer than three seconds. */
export function play(current: Episode): void {
  const next = (shown: number): void => {
    if (episode.value?.id !== current.id) return;
    const turn = current.trace.turns[shown];
    if (turn === undefined) {
      played.value = null;
      return;
    }
    const took = turn.completion === null ? 500 : turn.completion.ended_ms - turn.completion.started_ms;
    played.value = shown;
    player = setTimeout(() => next(shown + 1), Math.min(3000, Math.max(400, took)));
  };
  stopPlaying();
  next(0);
}

export function stopPlaying(): void {
  clearTimeout(player);
  played.value = null;
}
