/** The engine worker: the model on WebGPU and its episodes. */

import * as Comlink from "comlink";
import builtIn from "../../models/builtin.gguf?url";
import init, { checkPrompt, inspectModel, Session } from "../generated/engine.js";
import wasm from "../generated/engine_bg.wasm?url";
import { message } from "../format";
import type { Live } from "../state";
import type { Trace } from "../trace";
import { findAdapter } from "./adapter";
import { destroyDevices, releaseDevices, watchDevices } from "./devices";
import { Recorder } from "./recorder";
import * as store from "./store";

const ready = init({ module_or_path: wasm });

let session: Session | null = null;
/** Rises with every load: one that is no longer wanted must not take the place of the next. */
let loads = 0;
let cancelled = false;
let lost: (reason: string) => void = () => undefined;
watchDevices((reason) => lost(reason));

export interface Facts {
  title: string | null;
  baseRepository: string | null;
  quantisation: string;
  context: number;
  longestContext: number;
  /** Bytes of GPU memory. */
  memory: number;
  temperature: number;
  prompt: { kind: "training" | "reconstructed"; source: string };
}

export interface Prompt {
  name: string;
  text: string;
}

export type ModelSource = { kind: "built-in" } | { kind: "file"; file: File } | { kind: "stored"; id: string };

export interface Ask {
  question: string;
  evidence: string | null;
  schema: string | null;
  temperature: number;
  seed: number;
  tokenBudget: number;
  database: string;
  /** For tests: what the model is made to say, a turn each, instead of what it would. */
  script?: string[];
}

/** What the loading of a model is busy with. */
export type Stage = "reading" | "compiling";

export interface Callbacks {
  begins(trace: Trace): void;
  /** `trace` is null where it has not changed. */
  changes(trace: Trace | null, live: Live | null): void;
  tool(name: string, args: string): Promise<string>;
  check(sql: string): Promise<string | null>;
}

async function open(source: ModelSource): Promise<{ name: string; blob: Blob; prompt: Prompt | null }> {
  switch (source.kind) {
    case "built-in": {
      const response = await fetch(builtIn);
      if (!response.ok) throw new Error(`the built-in model could not be fetched (${response.status}); load the page again`);
      return { name: "built-in", blob: await response.blob(), prompt: null };
    }
    case "file":
      return { name: source.file.name, blob: source.file, prompt: null };
    case "stored": {
      const { file, meta } = await store.fileOf(source.id);
      return { name: meta.path.split("/").at(-1) ?? meta.path, blob: file, prompt: meta.prompt };
    }
  }
}

function unload(): void {
  session?.free();
  session = null;
  releaseDevices();
}

const api = {
  async adapter() {
    return findAdapter();
  },
  onLost(tell: (reason: string) => void): void {
    lost = tell;
  },
  /** Loads a model in place of the one before. A prompt that is given goes before the one stored with it. */
  async load(source: ModelSource, context: number, given: Prompt | null, progress: (stage: Stage, done: number, total: number) => void): Promise<{ name: string; bytes: number; facts: Facts }> {
    const mine = (loads += 1);
    const superseded = (): Error => new Error("another model was chosen");
    await ready;
    const { name, blob, prompt } = await open(source);
    if (mine !== loads) throw superseded();
    unload();
    const words = given ?? prompt;
    let told = 0;
    const loaded = await Session.load(name, blob, words?.name, words?.text, context, (done: number, total: number) => {
      // Once everything is read, what remains to wait for is the driver.
      if (done < total && performance.now() - told < 100) return;
      told = performance.now();
      progress(done < total ? "reading" : "compiling", done, total);
    });
    if (mine !== loads) {
      loaded.free();
      throw superseded();
    }
    session = loaded;
    return { name, bytes: blob.size, facts: JSON.parse(session.facts()) as Facts };
  },
  /**
   * Reads what says whether a file is a model that can be loaded, before anything that is loaded is given up for it.
   */
  async inspect(source: ModelSource, given: Prompt | null): Promise<void> {
    await ready;
    const { name, blob, prompt } = await open(source);
    const named = (reason: string): Error => new Error(`${name}: ${reason}`);
    let head: ArrayBuffer;
    try {
      head = await blob.slice(0, 4).arrayBuffer();
    } catch {
      throw named("the file cannot be read; it was moved or changed, choose it again");
    }
    if (blob.size === 0) throw named("the file is empty (0 bytes); perhaps a download did not finish");
    if (new TextDecoder().decode(head) !== "GGUF") throw named("this is not a model in GGUF format; choose a .gguf file");
    try {
      await inspectModel(name, blob, 1);
    } catch (error) {
      const text = message(error);
      throw text.startsWith(`${name}: `) ? error : named(text);
    }
    const words = given ?? prompt;
    if (words !== null) checkPrompt(words.name, words.text);
  },
  async checkPrompt(name: string, text: string): Promise<void> {
    await ready;
    checkPrompt(name, text);
  },
  /** Runs an episode. The engine waits for the GPU all the time, so a stop is heard in between. */
  async ask(request: Ask, callbacks: Callbacks): Promise<Trace> {
    if (session === null) throw new Error("no model is loaded; choose one");
    cancelled = false;
    const recorder = new Recorder(
      (trace) => void callbacks.begins(trace),
      (trace, live) => void callbacks.changes(trace, live),
    );
    const { script, ...asked } = request;
    const text = await session.ask(JSON.stringify({ ...asked, startedAt: new Date().toISOString() }), script, {
      event: (event: string) => recorder.take(event),
      cancelled: () => cancelled,
      tool: (name: string, args: string) => callbacks.tool(name, args),
      check: (sql: string) => callbacks.check(sql),
    });
    recorder.flush();
    return JSON.parse(text) as Trace;
  },
  stop(): void {
    cancelled = true;
  },
  /** For tests: the logits after each of the tokens, in one pass after another. */
  async logits(ids: number[]): Promise<Float32Array> {
    if (session === null) throw new Error("no model is loaded");
    const result = await session.logits(new Uint32Array(ids));
    const values = result.values();
    session = result.intoSession();
    return values;
  },
  /** For measurements: what the engine did since the model was loaded. */
  counters(): Counters {
    if (session === null) throw new Error("no model is loaded");
    return JSON.parse(session.counters()) as Counters;
  },
  /** For tests: the device goes away as when a driver crashes. */
  destroyDevices,
};

/** The engine's work. */
export interface Counters {
  tokens: number;
  dispatches: number;
  readbacks: number;
  encodeMilliseconds: number;
}

export type EngineApi = typeof api;

Comlink.expose(api);
