/** The page's end of the database worker: one request at a time, each with a limit on its time. */

import * as Comlink from "comlink";
import type { DatabaseApi } from "./workers/database";
import workerAddress from "./workers/database.ts?worker&url";
import { startWorker } from "./workers/start";
import type { Table } from "./state";

/** Seconds that a query may run. SQLite in a browser cannot be interrupted: past it the worker is ended. */
export const QUERY_SECONDS = 5;

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

type Remote = Comlink.Remote<DatabaseApi>;

export class DatabaseClient {
  #worker: Worker | null = null;
  #remote: Remote | null = null;
  #source: Source | null = null;
  #tooLong = "";
  /** Settles when the worker can be used: after a restart, when the file is open again. */
  #ready: Promise<void> = Promise.resolve();
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Ends the request that is running. */
  #interrupt: ((reason: Error) => void) | null = null;
  /** Rises with every restart: results of the worker before are gone. */
  generation = 0;

  get idle(): boolean {
    return this.#waiting === 0;
  }

  #start(): Remote {
    this.#worker?.terminate();
    this.#worker = startWorker(workerAddress, "glowworm-database");
    this.#remote = Comlink.wrap<DatabaseApi>(this.#worker);
    return this.#remote;
  }

  /** Opens a database. One that was open before stays open if this fails. */
  open(source: Source): Promise<Catalog> {
    return this.#enqueue(async () => {
      await this.#ready.catch(() => undefined);
      const remote = this.#remote ?? this.#start();
      const catalog = JSON.parse(await remote.open(source.name, source.file, source.log, QUERY_SECONDS)) as Catalog;
      this.#source = source;
      this.#tooLong = catalog.tooLong;
      this.#ready = Promise.resolve();
      return catalog;
    });
  }

  /** Runs one request after those before it, within the time limit unless `limited` is false. */
  request<T>(run: (remote: Remote) => Promise<T>, limited = true): Promise<T> {
    return this.#enqueue(async () => {
      await this.#ready;
      const remote = this.#remote ?? this.#start();
      return new Promise<T>((resolve, reject) => {
        const timer = limited
          ? setTimeout(() => this.#end(new Interrupted(this.#tooLong)), QUERY_SECONDS * 1000 + GRACE_MS)
          : undefined;
        const done = (): void => {
          clearTimeout(timer);
          this.#interrupt = null;
        };
        this.#interrupt = (reason) => {
          done();
          reject(reason);
        };
        run(remote).then(
          (value) => (done(), resolve(value)),
          (error: unknown) => (done(), reject(error as Error)),
        );
      });
    });
  }

  /** Ends the request that is running, if there is one. */
  interrupt(): void {
    if (this.#interrupt !== null) this.#end(new Interrupted("interrupted: the query was cancelled"));
  }

  #end(reason: Error): void {
    const interrupt = this.#interrupt;
    this.generation += 1;
    const remote = this.#start();
    const source = this.#source;
    if (source !== null) {
      this.#ready = remote.open(source.name, source.file, source.log, QUERY_SECONDS).then(() => undefined);
      // Whoever asks next hears of a failure; until then nobody waits for this.
      this.#ready.catch(() => undefined);
    }
    interrupt?.(reason);
  }

  #enqueue<T>(job: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const result = this.#queue.then(job, job);
    this.#queue = result.catch(() => undefined);
    void this.#queue.then(() => (this.#waiting -= 1));
    return result;
  }
}
