/** The page's end of the engine worker: what model there is, and one episode at a time. */

import * as Comlink from "comlink";
import { message } from "./format";
import { adapterState, episode, modelState, settings, status, type Live } from "./state";
import type { Outcome, Trace } from "./trace";
import type { Ask, Callbacks, EngineApi, Facts, ModelSource, Prompt, Stage } from "./workers/engine";
import workerAddress from "./workers/engine.ts?worker&url";
import { startWorker } from "./workers/start";

/** A stop that the engine has not answered in this time ends its worker. */
const STOP_MS = 800;

/** How long an engine whose device is lost may take to end its episode itself. */
const LOST_MS = 1500;

export type PageCallbacks = Pick<Callbacks, "tool" | "check"> & {
  begins(trace: Trace): void;
  changes(trace: Trace, live: Live | null): void;
};

class EngineClient {
  #worker: Worker | null = null;
  #remote: Comlink.Remote<EngineApi> | null = null;
  /** What is loaded, to load it again after the worker was ended or the device lost. */
  #source: ModelSource | null = null;
  #prompt: Prompt | null = null;
  #longestContext = 0;
  #loads = 0;
  #abandon: ((ended: "cancelled" | "error", message: string | null) => void) | null = null;
  #stopTimer: ReturnType<typeof setTimeout> | undefined;

  get remote(): Comlink.Remote<EngineApi> {
    if (this.#remote === null) {
      this.#worker = startWorker(workerAddress, "glowworm-engine");
      this.#remote = Comlink.wrap<EngineApi>(this.#worker);
      void this.#remote.onLost(Comlink.proxy((reason: string) => this.#lost(reason)));
    }
    return this.#remote;
  }

  get prompt(): Prompt | null {
    return this.#prompt;
  }

  get canReload(): boolean {
    return this.#source !== null;
  }

  /** Finds out what adapter there is. */
  async checkAdapter(): Promise<boolean> {
    try {
      const found = await this.remote.adapter();
      adapterState.value = found.kind === "found" ? { kind: "good", adapter: found.adapter } : found;
      return found.kind === "found";
    } catch (error) {
      adapterState.value = { kind: "wrong", adapter: null, problem: message(error) };
      return false;
    }
  }

  /**
   * Lets the adapter compute known numbers, once, before anything is downloaded for it. One that computes wrong ones is
   * named and not used.
   */
  async selfTest(): Promise<void> {
    const state = adapterState.value;
    if (state.kind !== "good" || state.adapter.test !== "" || episode.value?.running === true) return;
    const told = (test: string): void => {
      adapterState.value = { kind: "good", adapter: { ...state.adapter, test } };
    };
    told("Self-test running.");
    try {
      told(`Self-test passed: ${await this.remote.selfTest()}.`);
    } catch (error) {
      adapterState.value = { kind: "wrong", adapter: state.adapter, problem: message(error) };
    }
  }

  useBuiltIn(): Promise<void> {
    return this.load({ kind: "built-in" }, null);
  }

  useFile(file: File): Promise<void> {
    return this.load({ kind: "file", file }, null);
  }

  async load(source: ModelSource, prompt: Prompt | null, name = nameOf(source)): Promise<void> {
    if (episode.value?.running === true) {
      modelState.value = { ...modelState.value };
      throw new Error("an episode is running; stop it first");
    }
    this.#source = source;
    this.#prompt = prompt;
    // Somebody may choose another model while one is being loaded: only the last is heard of.
    const mine = (this.#loads += 1);
    const since = performance.now();
    modelState.value = { kind: "loading", name, stage: "reading", done: 0, total: 0, since };
    status.value = `Loading ${name}.`;
    try {
      const loaded = await this.remote.load(
        source,
        settings.value.tokenBudget,
        prompt,
        Comlink.proxy((stage: Stage, done: number, total: number) => {
          if (mine === this.#loads && modelState.value.kind === "loading") modelState.value = { kind: "loading", name, stage, done, total, since };
        }),
      );
      if (mine !== this.#loads) return;
      this.#ready(loaded.name, loaded.bytes, loaded.facts, source);
    } catch (error) {
      if (mine !== this.#loads) return;
      modelState.value = { kind: "failed", name, error: message(error) };
      status.value = `${name} could not be loaded.`;
    }
  }

  #ready(name: string, bytes: number, facts: Facts, source: ModelSource): void {
    this.#longestContext = facts.longestContext;
    modelState.value = {
      kind: "ready",
      model: {
        name,
        source: source.kind,
        bytes,
        quantisation: facts.quantisation,
        context: facts.context,
        longestContext: facts.longestContext,
        memory: facts.memory,
        prompt: facts.prompt,
      },
    };
    // A model that was made for this agent brings the temperature that it works best at.
    if (facts.temperature !== settings.value.temperature && source.kind === "built-in") {
      settings.value = { ...settings.value, temperature: facts.temperature };
    }
    status.value = `${name} is ready.`;
  }

  async loadAgain(): Promise<void> {
    if (this.#source === null) return this.useBuiltIn();
    this.#restart();
    await this.checkAdapter();
    await this.load(this.#source, this.#prompt);
  }

  async setPrompt(prompt: Prompt | null): Promise<void> {
    if (prompt !== null) await this.remote.checkPrompt(prompt.name, prompt.text);
    if (this.#source === null) return;
    if (this.#source.kind === "stored") await this.remote.setPrompt(this.#source.id, prompt);
    await this.load(this.#source, prompt);
  }

  async ask(request: Ask, page: PageCallbacks): Promise<Trace> {
    const state = modelState.value;
    if (state.kind !== "ready") throw new Error("no model is loaded; choose one");
    // A larger budget than the model was loaded with: its cache has to grow first.
    if (request.tokenBudget > state.model.context && state.model.context < this.#longestContext && this.#source !== null) {
      await this.load(this.#source, this.#prompt);
    }
    let over = false;
    let latest: Trace | null = null;
    let live: Live | null = null;
    const shift = performance.timeOrigin;
    const callbacks: Callbacks = {
      begins: (trace) => page.begins((latest = trace)),
      changes: (trace, next) => {
        // These come on a channel of their own, and the last may arrive after the end.
        if (over) return;
        latest = trace ?? latest;
        // Times come on a clock that all threads share; the page's own begins with the page.
        live = next === null ? null : { ...next, startedAt: next.startedAt - shift, firstTokenAt: next.firstTokenAt === null ? null : next.firstTokenAt - shift };
        if (latest !== null) page.changes(latest, live);
      },
      tool: page.tool,
      check: page.check,
    };
    const abandoned = new Promise<Trace>((resolve, reject) => {
      this.#abandon = (ended, reason) => (latest === null ? reject(new Error(reason ?? "stopped")) : resolve(endedTrace(latest, live, ended, reason)));
    });
    try {
      return await Promise.race([this.remote.ask(request, Comlink.proxy(callbacks)), abandoned]);
    } finally {
      over = true;
      this.#abandon = null;
      clearTimeout(this.#stopTimer);
    }
  }

  /** Stops the episode: the engine hears of it between two readbacks; one that does not is ended. */
  stop(): void {
    if (this.#abandon === null) return;
    void this.remote.stop();
    this.#stopTimer = setTimeout(() => {
      const abandon = this.#abandon;
      if (abandon === null) return;
      this.#restart();
      abandon("cancelled", null);
      if (this.#source !== null) setTimeout(() => this.#source !== null && void this.load(this.#source, this.#prompt), 0);
    }, STOP_MS);
  }

  #restart(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#remote = null;
  }

  #lost(reason: string): void {
    const state = modelState.value;
    const name = state.kind === "ready" ? state.model.name : state.kind === "none" ? "the model" : state.name;
    modelState.value = {
      kind: "lost",
      name,
      error: `the GPU stopped working (${reason.replace(/\.$/, "")}). The text so far is kept. Load the model again to go on`,
    };
    status.value = "The GPU stopped working.";
    // Mostly the engine hears of it too and ends the episode; a promise of a lost device may also never settle.
    setTimeout(() => this.#abandon?.("error", "the GPU stopped working"), LOST_MS);
  }
}

/** The trace of an episode that the engine could not end itself: what is known of it, with its end. */
function endedTrace(trace: Trace, live: Live | null, ended: "cancelled" | "error", reason: string | null): Trace {
  const calls = trace.turns.flatMap((turn) => turn.calls);
  const working = calls.filter((call) => call.name === "run_query" && call.status === "ran" && call.result?.is_error === false).at(-1);
  const sql = typeof working?.args["sql"] === "string" ? working.args["sql"] : null;
  const written = live === null ? "" : (live.think + live.text).trim();
  const words = [reason, written === "" ? null : `the model was writing: ${written}`].filter((part) => part !== null);
  const outcome: Outcome = {
    sql,
    source: sql === null ? null : "last_working_query",
    ended_by: ended,
    final_turn: null,
    token_budget_hit: false,
    message: words.length === 0 ? null : words.join("; "),
  };
  return { ...trace, outcome };
}

function nameOf(source: ModelSource): string {
  switch (source.kind) {
    case "built-in":
      return "built-in";
    case "file":
      return source.file.name;
    case "stored":
      return decodeURIComponent(source.id).split("/").at(-1) ?? source.id;
  }
}

export const engine = new EngineClient();
