/** The page's end of the database worker: one request at a time, each with a limit on its time. */

import type * as Comlink from "comlink";
import sqlJsWasm from "sql.js/dist/sql-wasm-browser.wasm?url";
import { message } from "./format";
import hostWasm from "./generated/database_bg.wasm?url";
import type { Table } from "./state";
import { WorkerHandle } from "./worker-handle";
import type { DatabaseApi, Parts } from "./workers/database";
import workerAddress from "./workers/database.ts?worker&url";
import { keepScript } from "./workers/start";

/** Seconds that a query may run. SQLite in a browser cannot be interrupted: past it the worker is ended. */
export const QUERY_SECONDS = 5;

/** Seconds that opening may take: reading a large file from a slow disk, or a schema whose views multiply. */
export const OPEN_SECONDS = 60;

/** The worker itself looks at the clock between rows. It gets this long to notice before it is ended. */
const GRACE_MS = 150;

export interface Source {
  name: string;
  /** A file on disk or bytes in the browser's keeping: opened again after a runaway query. */
  file: Blob;
  log: Blob | null;
}

export interface Catalog {
  tables: Table[];
  notices: string[];
  /** What is said of a query that had to be ended. */
  tooLong: string;
}

/** The query was ended from outside. */
export class Interrupted extends Error {}

/** The worker gave way to that of another database. */
class Replaced extends Interrupted {}

type Remote = Comlink.Remote<DatabaseApi>;
type Handle = WorkerHandle<DatabaseApi>;

export interface RequestOptions {
  /** Another limit than that of a query, with what is said past it; null for none: the caller then has a way to end it. */
  limit?: { seconds: number; late: string } | null;
  /** Ends this request, and no other, whether it runs or waits. */
  signal?: AbortSignal;
  /** It is not about the database: when the worker gives way to another one's, that one is asked. */
  apart?: boolean;
  /** Called when it is this request's turn. */
  begins?: () => void;
}

const CANCELLED = "interrupted: the query was cancelled";

/**
 * All that a database worker consists of is fetched when the first one starts, and kept: a second database, or the same one
 * after a runaway query, asks the server for nothing.
 */
let parts: Promise<Parts> | null = null;

async function fetchParts(): Promise<Parts> {
  const compiled = async (address: string): Promise<WebAssembly.Module> => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`a part of the page could not be fetched (status ${answer.status}); load the page again`);
    return WebAssembly.compile(await answer.arrayBuffer());
  };
  const [host, sqlite] = await Promise.all([compiled(hostWasm), compiled(sqlJsWasm), keepScript(workerAddress)]);
  return { host, sqlite };
}

function start(): Handle {
  const handle = new WorkerHandle<DatabaseApi>(workerAddress, "glowworm-database");
  const fetched = (parts ??= fetchParts());
  fetched.catch(() => {
    // Whoever comes next tries again.
    if (parts === fetched) parts = null;
  });
  fetched
    .then((given) => handle.call((remote) => remote.begin(given)))
    .catch((error: unknown) => handle.end(error instanceof Error ? error : new Error(message(error))));
  return handle;
}

export class DatabaseClient {
  #handle: Handle | null = null;
  #source: Source | null = null;
  #tooLong = "";
  /** Settles when the worker can be used: after a restart, when the file is open again. */
  #ready: Promise<void> = Promise.resolve();
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get idle(): boolean {
    return this.#waiting === 0;
  }

  /**
   * Opens a database in a worker of its own, so that the one before can be used until then, stays open if this fails,
   * and opening can be ended at any time.
   */
  async open(source: Source, signal: AbortSignal): Promise<Catalog> {
    const handle = start();
    let catalog: Catalog;
    try {
      catalog = JSON.parse(await this.#opened(handle, source, signal)) as Catalog;
      signal.throwIfAborted();
    } catch (error) {
      handle.end(new Error("not opened"));
      throw error;
    }
    const before = this.#handle;
    this.#handle = handle;
    this.#source = source;
    this.#tooLong = catalog.tooLong;
    this.#ready = Promise.resolve();
    before?.end(new Replaced("interrupted: another database was opened"));
    return catalog;
  }

  async #opened(handle: Handle, source: Source, signal?: AbortSignal): Promise<string> {
    const late = new Error(`${source.name} could not be opened within ${OPEN_SECONDS} s; its views or its schema may be too much for a browser, and the command-line program has more time: glowworm ask --db`);
    const timer = setTimeout(() => handle.end(late), OPEN_SECONDS * 1000);
    const cancelled = (): void => handle.end(signal?.reason instanceof Error ? signal.reason : new Error("cancelled"));
    signal?.addEventListener("abort", cancelled, { once: true });
    try {
      return await handle.call((remote) => remote.open(source.name, source.file, source.log, QUERY_SECONDS));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancelled);
    }
  }

  /** Runs one request after those before it, within the time limit of a query unless there is another. */
  request<T>(run: (remote: Remote) => Promise<T>, { limit, signal, begins, apart }: RequestOptions = {}): Promise<T> {
    const job = async (): Promise<T> => {
      // A worker that is reopening its file is waited for, but not by somebody who has given up.
      await until(this.#ready, signal);
      if (signal?.aborted === true) throw new Interrupted(CANCELLED);
      const handle = (this.#handle ??= start());
      begins?.();
      const { seconds, late } = limit ?? { seconds: QUERY_SECONDS, late: this.#tooLong };
      const timer = limit === null ? undefined : setTimeout(() => this.#end(handle, new Interrupted(late)), seconds * 1000 + GRACE_MS);
      const cancelled = (): void => this.#end(handle, new Interrupted(CANCELLED));
      signal?.addEventListener("abort", cancelled, { once: true });
      try {
        return await handle.call(run);
      } catch (error) {
        if (apart === true && error instanceof Replaced) return job();
        // A worker that ran out of memory is of no use any more.
        if (error instanceof Error && (error.name === "RuntimeError" || error.name === "RangeError")) {
          const what = new Error(`this is too much for the memory of a browser (${message(error).replace(/\.$/, "")}); ask for fewer rows or columns, with a LIMIT`);
          this.#end(handle, what);
          throw what;
        }
        throw error;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancelled);
      }
    };
    return this.#enqueue(job);
  }

  /** Ends a worker and opens the file again in a new one. */
  #end(handle: Handle, reason: Error): void {
    if (handle === this.#handle) {
      const next = (this.#handle = start());
      const source = this.#source;
      if (source !== null) {
        this.#ready = this.#opened(next, source).then(() => undefined);
        // Whoever asks next hears of a failure; until then nobody waits for this.
        this.#ready.catch(() => undefined);
      }
    }
    handle.end(reason);
  }

  #enqueue<T>(job: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    // Counted down before the answer is there, so that whoever asks next finds nobody waiting.
    const counted = (): Promise<T> => job().finally(() => (this.#waiting -= 1));
    const result = this.#queue.then(counted, counted);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** What `promise` gives, or nothing more as soon as `signal` says so. */
function until(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    promise.then(resolve, reject);
  });
}
