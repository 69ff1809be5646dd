/** Everything that a person can do, and what the workers say to it. */

import { batch, effect } from "@preact/signals";
import { DatabaseClient, Interrupted, type Source } from "./database-client";
import { bytes as showBytes, message } from "./format";
import { engine } from "./engine-client";
import { saveFile } from "./save";
import { SAMPLES, type Sample } from "./samples";
import { formatSql } from "./sql-format";
import type { Cell } from "./cells";
import type { Trace } from "./trace";
import {
  askError, askWaits, database, databaseError, databaseState, episode, evidence, history, modelState, played, question, resultState, rowCounts,
  settings, sql, sqlOrigin, status, type Episode, type Result,
} from "./state";

export const client = new DatabaseClient();

// Databases

export async function openSource(source: Source): Promise<void> {
  const before = databaseState.value;
  databaseError.value = null;
  // A database that is open stays on the screen until the next one is.
  if (before.kind !== "open") databaseState.value = { kind: "opening", name: source.name };
  try {
    if (episode.value?.running === true) throw new Error("an episode is running on the open database; stop it first");
    const catalog = await client.open(source);
    batch(() => {
      databaseState.value = {
        kind: "open",
        database: { name: source.name, bytes: source.file.size, tables: catalog.tables, notices: catalog.notices },
      };
      rowCounts.value = new Map();
      resultState.value = { kind: "none" };
      keepEpisode();
      episode.value = null;
      played.value = null;
      sql.value = "";
      sqlOrigin.value = "person";
      status.value = `${source.name} is open.`;
    });
    void countRows(source.name);
  } catch (error) {
    if (before.kind === "open") databaseError.value = message(error);
    else databaseState.value = { kind: "failed", name: source.name, error: message(error) };
  }
}

/** Files from a picker or a drop: a database with its write-ahead log, a model, or a trace. */
export async function openFiles(files: File[]): Promise<void> {
  const model = files.find((file) => file.name.toLowerCase().endsWith(".gguf"));
  if (model !== undefined) return engine.useFile(model);
  const trace = files.find((file) => file.name.toLowerCase().endsWith(".json"));
  if (trace !== undefined) return openTrace(trace);
  const log = files.find((file) => /-wal$/i.test(file.name));
  const rest = files.filter((file) => file !== log && !/-shm$/i.test(file.name));
  const file = rest[0] ?? log;
  if (file === undefined) return;
  if (rest.length > 1) {
    databaseError.value = `${files.map((each) => each.name).join(", ")}: one database at a time; its -wal file may come with it`;
    return;
  }
  await openSource({ name: file.name, file, log: file === log ? null : (log ?? null) });
}

/** Opens a sample; one that nobody asked for gives way to a file that was chosen while it was fetched. */
export async function openSample(sample: Sample, unasked = false): Promise<void> {
  try {
    const response = await fetch(sample.address);
    if (!response.ok) throw new Error(`the sample could not be fetched (${response.status})`);
    const file = await response.blob();
    if (unasked && databaseState.value.kind !== "none") return;
    await openSource({ name: sample.file, file, log: null });
  } catch (error) {
    databaseError.value = message(error);
  }
}

/** A database at an address that this page may connect to. */
export async function openAddress(text: string): Promise<void> {
  databaseError.value = null;
  try {
    const address = new URL(text.trim(), document.baseURI);
    const name = decodeURIComponent(address.pathname.split("/").at(-1) ?? "") || address.host;
    let response: Response;
    try {
      response = await fetch(address, { credentials: "omit" });
    } catch {
      throw new Error(`${address.host} cannot be reached from here. This page connects only to its own site and to huggingface.co, so that nothing can leave your machine unseen; download the file and drop it here`);
    }
    if (!response.ok) throw new Error(`${address.host} answered ${response.status} for ${name}; check the address`);
    await openSource({ name, file: await response.blob(), log: null });
  } catch (error) {
    databaseError.value = message(error);
  }
}

/** Counts the rows of one table after another while nothing else is to be done. */
async function countRows(name: string): Promise<void> {
  const tables = database.value?.tables ?? [];
  for (const table of tables) {
    while (!client.idle) await new Promise((resolve) => setTimeout(resolve, 30));
    if (database.value?.name !== name || database.value.tables !== tables) return;
    if (table.kind === "view" || table.problem !== null) continue;
    let count: number | { problem: string };
    try {
      count = await client.request((remote) => remote.countRows(table.name));
    } catch (error) {
      count = { problem: message(error) };
    }
    if (database.value?.tables !== tables) return;
    rowCounts.value = new Map(rowCounts.value).set(table.name, count);
  }
}

// Queries

export function browse(table: string): void {
  sql.value = `SELECT * FROM "${table.replaceAll('"', '""')}"`;
  sqlOrigin.value = "person";
  void runSql();
}

export async function runSql(): Promise<void> {
  const text = sql.value;
  if (text.trim() === "" || resultState.value.kind === "running" || database.value === null) return;
  forgetResult();
  const since = performance.now();
  resultState.value = { kind: "running", sql: text, since };
  try {
    const summary = await client.request((remote) => remote.query(text));
    const elapsed = performance.now() - since;
    resultState.value = { kind: "rows", result: { ...summary, sql: text, elapsed } };
    status.value = `${summary.rows} rows.`;
  } catch (error) {
    resultState.value = { kind: "failed", error: message(error) };
  }
}

export function stopQuery(): void {
  client.interrupt();
}

function forgetResult(): void {
  const state = resultState.value;
  if (state.kind === "rows") void client.request((remote) => remote.forget(state.result.id)).catch(() => undefined);
}

/** The worker that held a result may have been ended since: then its query is run once more. */
async function withResult<T>(result: Result, use: (id: number) => Promise<T>): Promise<T> {
  try {
    return await use(result.id);
  } catch (error) {
    if (!/no longer there|no database is open/.test(message(error))) throw error;
    const again = await client.request((remote) => remote.query(result.sql));
    result.id = again.id;
    return use(result.id);
  }
}

export const windowOf = (result: Result, first: number, count: number): Promise<Cell[][]> =>
  withResult(result, (id) => client.request((remote) => remote.window(id, first, count)));

export const sortResult = (result: Result, order: { column: number; descending: boolean } | null): Promise<void> =>
  withResult(result, (id) => client.request((remote) => remote.sort(id, order?.column, order?.descending ?? false)));

export const valueOf = (result: Result, row: number, column: number): Promise<unknown> =>
  withResult(result, (id) => client.request((remote) => remote.value(id, row, column)));

/** Rows that are copied at most: more would stop many a spreadsheet. */
const COPIED_ROWS = 50_000;

export async function copyResult(): Promise<void> {
  const state = resultState.value;
  if (state.kind !== "rows") return;
  const text = await withResult(state.result, (id) => client.request((remote) => remote.tabbed(id, COPIED_ROWS)));
  await copy(text, `${Math.min(state.result.rows, COPIED_ROWS)} rows copied.`);
}

export const copySql = (): Promise<void> => copy(sql.value, "SQL copied.");

async function copy(text: string, said: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    status.value = said;
  } catch {
    status.value = "The browser did not allow copying.";
  }
}

export async function saveCsv(): Promise<void> {
  const state = resultState.value;
  if (state.kind !== "rows") return;
  const data = await withResult(state.result, (id) => client.request((remote) => remote.csv(id), false));
  saveFile(data, `${(database.value?.name ?? "result").replace(/\.\w+$/, "")}.csv`);
}

// Episodes

let episodes = 0;

/** For tests: what the model is made to say in the next episode. */
export const script: string[] = [];

function keepEpisode(): void {
  const current = episode.value;
  if (current !== null && current.trace.outcome !== null) {
    history.value = [current, ...history.value.filter((each) => each.id !== current.id)].slice(0, 50);
  }
}

export async function ask(): Promise<void> {
  const open = database.value;
  const text = question.value.trim();
  if (open === null || text === "" || episode.value?.running === true) return;
  askError.value = null;
  if (modelState.value.kind === "loading") {
    askWaits.value = true;
    return;
  }
  keepEpisode();
  played.value = null;
  const id = (episodes += 1);
  try {
    const chosen = settings.value;
    const schema = chosen.schema === "shown" ? await client.request((remote) => remote.schema()) : null;
    const begun = performance.now();
    const update = (change: (current: Episode) => Episode): void => {
      const current = episode.value;
      if (current?.id === id) episode.value = change(current);
    };
    const trace = await engine.ask(
      {
        question: text,
        evidence: evidence.value.trim() || null,
        schema,
        temperature: chosen.temperature,
        seed: chosen.seed,
        tokenBudget: chosen.tokenBudget,
        database: open.name,
        ...(script.length > 0 ? { script: script.splice(0) } : {}),
      },
      {
        begins: (first) =>
          (episode.value = { id, trace: first, live: null, running: true, stopping: false, origin: "asked", check: null, startedAt: begun, endedAt: null }),
        changes: (next, live) => update((current) => ({ ...current, trace: next, live })),
        tool: runTool,
        check: checkSql,
      },
    );
    update((current) => ({ ...current, trace, live: null, running: false, stopping: false, endedAt: performance.now() }));
    keepEpisode();
    await showAnswer(trace);
    status.value = `The episode is over: ${trace.outcome?.ended_by ?? "error"}.`;
  } catch (error) {
    askError.value = message(error);
    if (episode.value?.id === id) episode.value = null;
  }
}

// A question that came before the model was ready.
effect(() => {
  const { kind } = modelState.value;
  if (kind === "loading" || !askWaits.peek()) return;
  askWaits.value = false;
  if (kind === "ready") setTimeout(() => void ask(), 0);
});

export function stop(): void {
  const current = episode.value;
  if (current?.running !== true) return;
  episode.value = { ...current, stopping: true };
  engine.stop();
  client.interrupt();
}

export async function runTool(name: string, args: string): Promise<string> {
  try {
    return await client.request((remote) => remote.call(name, args));
  } catch (error) {
    // Ended from outside: the episode goes on with the same words that the native program has for it.
    if (error instanceof Interrupted) return JSON.stringify({ text: `Error: ${error.message}`, is_error: true });
    throw error;
  }
}

async function checkSql(text: string): Promise<string | null> {
  try {
    return await client.request((remote) => remote.check(text));
  } catch (error) {
    if (error instanceof Interrupted) return error.message;
    throw error;
  }
}

/** Puts the answer's SQL into the editor and runs it. */
async function showAnswer(trace: Trace): Promise<void> {
  const answer = trace.outcome?.sql;
  if (answer == null || answer.trim() === "") return;
  batch(() => {
    sql.value = formatSql(answer);
    sqlOrigin.value = "answer";
  });
  await runSql();
}

export function showEpisode(wanted: Episode): void {
  if (episode.value?.running === true) return;
  keepEpisode();
  played.value = null;
  episode.value = wanted;
  question.value = wanted.trace.config.question;
  evidence.value = wanted.trace.config.evidence ?? "";
  void showAnswer(wanted.trace);
}

// Traces

export function saveTrace(current: Episode): void {
  const words = current.trace.config.question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["episode"];
  const name = `${words.join("-").slice(0, 60)}.glowworm.json`;
  saveFile(new Blob([JSON.stringify(current.trace, null, 1)], { type: "application/json" }), name);
}

export async function openTrace(file: File): Promise<void> {
  askError.value = null;
  try {
    if (episode.value?.running === true) throw new Error("an episode is running; stop it first");
    if (file.size > 100e6) throw new Error(`${file.name}: ${showBytes(file.size)} is too large for a trace`);
    const text = await file.text();
    const read = await client.request((remote) => remote.readTrace(text)).catch((error: unknown) => {
      throw new Error(`${file.name}: ${message(error)}`);
    });
    const trace = JSON.parse(read.trace) as Trace;
    keepEpisode();
    played.value = null;
    const id = (episodes += 1);
    question.value = trace.config.question;
    evidence.value = trace.config.evidence ?? "";
    episode.value = { id, trace, live: null, running: false, stopping: false, origin: "file", check: read.check, startedAt: 0, endedAt: null };
    // A trace of a sample is shown with that sample.
    const sample = SAMPLES.find((each) => each.file === trace.config.run.database);
    if (database.value?.name === trace.config.run.database) await showAnswer(trace);
    else if (sample === undefined && trace.outcome?.sql != null) {
      sql.value = formatSql(trace.outcome.sql);
      sqlOrigin.value = "answer";
    }
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
