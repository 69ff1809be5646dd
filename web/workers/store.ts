/** Models in the browser's private file system: downloaded with resume, checked, listed, deleted. */

import { bytes as showBytes, message } from "../format";
import { fileAddress, hubFetch, HUB, HubError } from "../hugging-face";
import type { Sha256 } from "../generated/engine.js";

export interface Wanted {
  repository: string;
  revision: string;
  path: string;
  size: number;
  sha256: string | null;
}

export interface Stored extends Wanted {
  id: string;
  /** Bytes that are there. */
  have: number;
  complete: boolean;
  /** False where only the data was found: the size and the hash are then not known. */
  described: boolean;
  prompt: { name: string; text: string } | null;
}

export interface Progress {
  phase: "downloading" | "waiting" | "checking";
  done: number;
  total: number;
  /** Bytes a second, over the last seconds. */
  rate: number;
  note: string;
}

/** Written through to the disk so often, so that a crash loses little. */
const FLUSH_BYTES = 64e6;
/** Written at a time: when the storage is full, at most so much of what could be kept is lost. */
const WRITE_BYTES = 256 << 10;
/** Attempts without a new byte before giving up. */
const ATTEMPTS = 5;

async function folder(): Promise<FileSystemDirectoryHandle> {
  try {
    return await (await navigator.storage.getDirectory()).getDirectoryHandle("models", { create: true });
  } catch {
    throw new Error("this browser does not let the page keep files (a private window?); download the model yourself and choose the file");
  }
}

const idOf = (wanted: Wanted): string => encodeURIComponent(`${wanted.repository}/${wanted.path}`);

/** A description that is being written; it takes the place of the one before when it is whole. */
const unfinished = (id: string): string => `${id}.json.new`;

async function readMeta(models: FileSystemDirectoryHandle, id: string): Promise<Stored | null> {
  let have: number;
  try {
    have = (await (await models.getFileHandle(id)).getFile()).size;
  } catch {
    return null;
  }
  for (const name of [`${id}.json`, unfinished(id)]) {
    try {
      const meta = JSON.parse(await (await (await models.getFileHandle(name)).getFile()).text()) as Stored;
      return { ...meta, id, have, described: true };
    } catch {
      // Not there, or cut off while it was written: the other one is whole.
    }
  }
  return null;
}

/** What the name of some data tells where its description is lost. */
async function undescribed(models: FileSystemDirectoryHandle, id: string): Promise<Stored | null> {
  try {
    const [owner = "", name = "", ...path] = decodeURIComponent(id).split("/");
    const { size } = await (await models.getFileHandle(id)).getFile();
    return { id, repository: `${owner}/${name}`, revision: "main", path: path.join("/") || id, size: 0, sha256: null, have: size, complete: false, described: false, prompt: null };
  } catch {
    return null;
  }
}

/** Chromium 156 gives a negative error code as an unsigned number where it should throw that the storage is full. */
function writeAll(handle: FileSystemSyncAccessHandle, bytes: Uint8Array<ArrayBuffer>, at: number): void {
  for (let done = 0; done < bytes.length; ) {
    const piece = bytes.subarray(done, done + WRITE_BYTES);
    const count = handle.write(piece, { at: at + done });
    if (count <= 0 || count > piece.length) throw new DOMException("the storage is full", "QuotaExceededError");
    done += count;
  }
}

const isFull = (error: unknown): boolean => error instanceof DOMException && error.name === "QuotaExceededError";

const full = (have: number): Error =>
  new Error(`the browser's storage is full after ${showBytes(have)} of this model; free disk space or delete a stored model, then resume: what is there is kept. Or download the file yourself and choose it: it is then read in place`);

/**
 * Writes a description beside the one before, and only then over it: wherever this ends, by a full disk or a crash, one of
 * the two is whole.
 */
async function writeMeta(models: FileSystemDirectoryHandle, meta: Stored): Promise<void> {
  const data = new TextEncoder().encode(JSON.stringify(meta));
  for (const name of [unfinished(meta.id), `${meta.id}.json`]) {
    const handle = await (await models.getFileHandle(name, { create: true })).createSyncAccessHandle();
    try {
      writeAll(handle, data, 0);
      handle.truncate(data.length);
      handle.flush();
    } finally {
      handle.close();
    }
  }
  await models.removeEntry(unfinished(meta.id)).catch(() => undefined);
}

export async function stored(): Promise<Stored[]> {
  const models = await folder();
  const found: Stored[] = [];
  for await (const name of models.keys()) {
    if (name.endsWith(".json") || name.endsWith(".json.new")) continue;
    const meta = (await readMeta(models, name)) ?? (await undescribed(models, name));
    if (meta !== null) found.push(meta);
  }
  return found.sort((a, b) => a.id.localeCompare(b.id));
}

export async function remove(id: string): Promise<void> {
  const models = await folder();
  // The data first: if it is in use elsewhere, its description must stay.
  for (const name of [id, `${id}.json`, unfinished(id)]) {
    await models.removeEntry(name).catch((error: unknown) => {
      if (!(error instanceof DOMException)) throw error;
      if (error.name === "NoModificationAllowedError") throw new Error("it is being downloaded or read, perhaps in another tab; stop that first");
      if (error.name !== "NotFoundError") throw error;
    });
  }
}

export async function fileOf(id: string): Promise<{ file: File; meta: Stored }> {
  const models = await folder();
  const meta = await readMeta(models, id);
  if (meta === null || !meta.complete) throw new Error("this model is not stored in full; download it");
  return { file: await (await models.getFileHandle(id)).getFile(), meta };
}

export async function setPrompt(id: string, prompt: { name: string; text: string } | null): Promise<void> {
  const models = await folder();
  const meta = await readMeta(models, id);
  if (meta !== null) await writeMeta(models, { ...meta, prompt });
}

/** Bytes that the browser would still let this page store. */
export async function freeSpace(): Promise<number | null> {
  const { quota, usage } = await navigator.storage.estimate();
  return quota === undefined ? null : Math.max(0, quota - (usage ?? 0));
}

let abort: AbortController | null = null;

export function pause(): void {
  abort?.abort();
}

/** Downloads what is missing of a file and checks the whole. */
export async function download(wanted: Wanted, hash: () => Sha256, tell: (progress: Progress) => void): Promise<Stored> {
  const models = await folder();
  const id = idOf(wanted);
  const before = await readMeta(models, id);
  // A file of the same name that is another one: begin anew.
  const same = before !== null && before.size === wanted.size && before.sha256 === wanted.sha256;
  if (before !== null && !same) await remove(id);
  if (same && before.complete) return before;
  // Data whose description is lost is gone on with if the hash of the whole can tell whether that was right.
  const left = before === null ? await undescribed(models, id) : null;
  if (left !== null && wanted.sha256 === null) await remove(id);
  const have = same ? before.have : left !== null && wanted.sha256 !== null ? Math.min(left.have, wanted.size) : 0;
  const free = await freeSpace();
  if (free !== null && wanted.size - have > free) {
    throw new Error(`the browser lets this page store ${showBytes(free)} more, and ${showBytes(wanted.size - have)} are needed; free disk space, delete a stored model, or download the file yourself and choose it`);
  }
  // Asks that the browser does not clear the model away when space runs short; it may refuse.
  await navigator.storage.persist?.().catch(() => false);
  const meta: Stored = { ...wanted, id, have, complete: false, described: true, prompt: before?.prompt ?? null };
  const handle = await (await models.getFileHandle(id, { create: true })).createSyncAccessHandle().catch((error: unknown) => {
    if (isFull(error)) throw full(have);
    throw new Error("this model is being downloaded or read in another tab; close that one first");
  });
  try {
    await writeMeta(models, meta);
    abort = new AbortController();
    await fetchAll(wanted, handle, abort.signal, tell);
    if (wanted.sha256 !== null) {
      const found = digest(handle, wanted.size, hash(), tell);
      if (found !== wanted.sha256.toLowerCase()) {
        handle.truncate(0);
        handle.flush();
        throw new Error(`the file was damaged on its way: its SHA-256 is ${found.slice(0, 12)}… and should be ${wanted.sha256.slice(0, 12)}…; it was removed, download it again`);
      }
    }
  } catch (error) {
    throw isFull(error) ? full(have) : error;
  } finally {
    abort = null;
    handle.close();
  }
  const done: Stored = { ...meta, have: wanted.size, complete: true };
  await writeMeta(models, done);
  return done;
}

async function fetchAll(wanted: Wanted, handle: FileSystemSyncAccessHandle, signal: AbortSignal, tell: (progress: Progress) => void): Promise<void> {
  let have = handle.getSize();
  if (have > wanted.size) {
    handle.truncate(0);
    have = 0;
  }
  const speed = new Speed();
  let failures = 0;
  let told = 0;
  while (have < wanted.size) {
    const begun = have;
    try {
      const address = fileAddress(wanted.repository, wanted.revision, wanted.path);
      const headers: HeadersInit = have > 0 ? { range: `bytes=${have}-` } : {};
      const response = await hubFetch(address, `${wanted.repository}/${wanted.path}`, { signal, headers, cache: "no-store" });
      if (have > 0 && response.status !== 206) {
        // A server that ignores ranges: everything comes again.
        have = 0;
        handle.truncate(0);
      }
      const total = lengthOf(response, have);
      if (total !== null && total !== wanted.size) {
        throw new HubError(`the server has a file of ${showBytes(total)} where ${showBytes(wanted.size)} were expected; list the repository again`, false);
      }
      const reader = response.body?.getReader();
      if (reader === undefined) throw new HubError("the server sent no data", true);
      let unflushed = 0;
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (have + value.length > wanted.size) throw new HubError("the server sent more than the file's size; list the repository again", false);
        writeAll(handle, value, have);
        have += value.length;
        unflushed += value.length;
        if (unflushed > FLUSH_BYTES) {
          handle.flush();
          unflushed = 0;
        }
        speed.add(value.length);
        if (performance.now() - told > 200) {
          told = performance.now();
          tell({ phase: "downloading", done: have, total: wanted.size, rate: speed.rate(), note: "" });
        }
      }
      handle.flush();
      if (have < wanted.size) throw new HubError("the connection was cut", true);
    } catch (error) {
      handle.flush();
      if (signal.aborted) throw new Error("paused");
      if (isFull(error)) {
        throw full(handle.getSize());
      }
      if (error instanceof HubError && !error.retry) throw error;
      failures = have > begun ? 1 : failures + 1;
      const reason = error instanceof HubError ? error.message : "the connection was cut";
      if (failures >= ATTEMPTS) throw new Error(`${reason}; ${showBytes(have)} of ${showBytes(wanted.size)} are kept, resume when the connection is back`);
      const wait = error instanceof HubError && error.wait !== null ? error.wait * 1000 : 500 * 2 ** failures;
      if (wait > 60_000) throw error;
      tell({ phase: "waiting", done: have, total: wanted.size, rate: 0, note: `${reason}; trying again in ${Math.ceil(wait / 1000)} s` });
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, wait);
        signal.addEventListener("abort", () => (clearTimeout(timer), reject(new Error("paused"))), { once: true });
      });
    }
  }
}

/** The length of the whole file that an answer tells of. */
function lengthOf(response: Response, have: number): number | null {
  const range = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
  if (range !== undefined) return Number(range);
  const length = response.headers.get("content-length");
  // A compressed answer has another length than its content.
  if (length === null || response.headers.get("content-encoding") !== null) return null;
  return have + Number(length);
}

function digest(handle: FileSystemSyncAccessHandle, size: number, hash: Sha256, tell: (progress: Progress) => void): string {
  const piece = new Uint8Array(4 << 20);
  let told = 0;
  try {
    for (let at = 0; at < size; ) {
      const read = handle.read(piece, { at });
      if (read === 0) throw new Error("the stored file is shorter than it was; download it again");
      hash.update(piece.subarray(0, read));
      at += read;
      if (performance.now() - told > 200) {
        told = performance.now();
        tell({ phase: "checking", done: at, total: size, rate: 0, note: "" });
      }
    }
    return hash.hex();
  } finally {
    hash.free();
  }
}

/** Bytes a second over the last five seconds. */
class Speed {
  #samples: { at: number; bytes: number }[] = [];
  add(count: number): void {
    const at = performance.now();
    this.#samples.push({ at, bytes: count });
    while ((this.#samples[0]?.at ?? at) < at - 5000) this.#samples.shift();
  }
  rate(): number {
    const first = this.#samples[0];
    if (first === undefined) return 0;
    const span = Math.max(0.25, (performance.now() - first.at) / 1000);
    return this.#samples.reduce((sum, sample) => sum + sample.bytes, 0) / span;
  }
}

/** Names of files that hold the words that a model was trained on. */
const PROMPT_FILES = ["sqale_agent.py", "protocol.py"];

/**
 * Looks for the training prompt: in the repository that the model was converted from, then next to the file. Nothing
 * found is no error; what cannot be reached is.
 */
export async function findPrompt(base: string | null, beside: { repository: string; revision: string } | null): Promise<{ name: string; text: string } | null> {
  const places: { repository: string; revision: string }[] = [];
  const found = base === null ? null : /^https:\/\/huggingface\.co\/([\w.-]+\/[\w.-]+)/.exec(base)?.[1];
  if (found != null) places.push({ repository: found, revision: "main" });
  if (beside !== null) places.push(beside);
  for (const place of places) {
    for (const name of PROMPT_FILES) {
      try {
        const response = await hubFetch(fileAddress(place.repository, place.revision, name), name);
        return { name: `${HUB}/${place.repository}/blob/${place.revision}/${name}`, text: await response.text() };
      } catch (error) {
        if (!(error instanceof HubError) || error.retry) throw new Error(`fetching the training prompt: ${message(error)}`);
      }
    }
  }
  return null;
}
