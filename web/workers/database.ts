/** The database worker: the tools over sql.js. The page ends it when a query does not end. */

import * as Comlink from "comlink";
import initSqlJs from "sql.js";
import init, { DatabaseHost, checkTrace, headBytes, inspectFile, readTrace } from "../generated/database.js";
import type { Cell, QuerySummary } from "../cells";

/** What the page fetched and compiled once, for this worker and those after it. */
export interface Parts {
  host: WebAssembly.Module;
  sqlite: WebAssembly.Module;
}

let begun: (parts: Parts) => void;
const parts = new Promise<Parts>((resolve) => (begun = resolve));
const ready = parts.then(({ host }) => init({ module_or_path: host }));

let host: DatabaseHost | null = null;

function open(): DatabaseHost {
  if (host === null) throw new Error("no database is open");
  return host;
}

const api = {
  begin: (given: Parts): void => begun(given),
  /** Opens a file and gives its catalog as JSON. What was open before is closed only when this succeeds. */
  async open(name: string, file: Blob, log: Blob | null, seconds: number): Promise<string> {
    const { sqlite } = await parts;
    await ready;
    const unreadable = (): Error => new Error(`${name}: the file cannot be read; it was moved or changed, or there is not enough memory for it. Choose it again`);
    const head = new Uint8Array(
      await file.slice(0, headBytes()).arrayBuffer().catch(() => {
        throw unreadable();
      }),
    );
    inspectFile(name, head, file.size);
    const sql = await initSqlJs({
      instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void): object {
        void WebAssembly.instantiate(sqlite, imports).then(done);
        return {};
      },
      useOldExtensionFunctions: false,
    } as Parameters<typeof initSqlJs>[0]);
    let bytes: Uint8Array;
    try {
      bytes = new Uint8Array(await file.arrayBuffer());
    } catch {
      throw unreadable();
    }
    const logBytes = log === null ? undefined : new Uint8Array(await log.arrayBuffer());
    const opened = DatabaseHost.open(sql, name, bytes, logBytes, seconds);
    host?.free();
    host = opened;
    return opened.catalog();
  },
  schema: (): string => open().schema(),
  countRows: (table: string): number => open().countRows(table),
  call: (tool: string, args: string): string => open().call(tool, args),
  check: (sql: string): string | null => open().check(sql) ?? null,
  query: (sql: string): QuerySummary => open().query(sql) as QuerySummary,
  window: (id: number, first: number, count: number): Cell[][] => open().window(id, first, count) as Cell[][],
  sort: (id: number, column: number | undefined, descending: boolean): void => open().sort(id, column, descending),
  value: (id: number, row: number, column: number): unknown => open().value(id, row, column),
  csv: (id: number): Blob => new Blob([open().csv(id)], { type: "text/csv" }),
  tabbed: (id: number, rows: number): string => open().tabbed(id, rows),
  forget: (id: number): void => host?.forget(id),
  async readTrace(text: string): Promise<{ trace: string; check: string | null }> {
    await ready;
    return { trace: readTrace(text), check: checkTrace(text) ?? null };
  },
};

export type DatabaseApi = typeof api;

Comlink.expose(api);
