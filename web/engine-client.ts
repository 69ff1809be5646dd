/** The page's end of the engine worker: what model there is, and one episode at a time. */

import * as Comlink from "comlink";
import { message } from "./format";
import { adapterState, asking, modelProblem, modelState, refuse, settings, status, USUAL_BUDGET, type Adapter, type Live } from "./state";
import type { Outcome, Trace } from "./trace";
import { WorkerHandle } from "./worker-handle";
import type { Found } from "./workers/adapter";
import type { Ask, Callbacks, EngineApi, Facts, ModelSource, Prompt, Stage } from "./workers/engine";
import workerAddress from "./workers/engine.ts?worker&url";
import type { LibraryApi } from "./workers/library";
import libraryAddress from "./workers/library.ts?worker&url";
import type { TesterApi } from "./workers/tester";
import testerAddress from "./workers/tester.ts?worker&url";

/** A stop that the engine has not answered in this time ends its worker. */
const STOP_MS = 800;

/** How long an engine whose device is lost may take to end its episode itself. */
const LOST_MS = 1500;

/** The temperature for a model that brings none of its own. */
const USUAL_TEMPERATURE = 0.6;

const RUNNING = "an episode is running; stop it first, then choose the model again";

export type PageCallbacks = Pick<Callbacks, "tool" | "check"> & {
  begins(trace: Trace): void;
  changes(trace: Trace, live: Live | null): void;
};

type Abandon = (ended: "cancelled" | "error", message: string | null) => void;

class EngineClient {
  #handle: WorkerHandle<EngineApi> | null = null;
  #library: WorkerHandle<LibraryApi> | null = null;
  /** What is loaded, to load it again after the worker was ended or the device lost. */
  #source: ModelSource | null = null;
  #prompt: Prompt | null = null;
  #longestContext = 0;
  /** Rises with every wish for a model: only the last is heard of. */
  #wishes = 0;
  /** Ends the episode from outside. Set from the question to the end of the episode. */
  #abandon: Abandon | null = null;
  #stopTimer: ReturnType<typeof setTimeout> | undefined;
  #lostTimer: ReturnType<typeof setTimeout> | undefined;
  #testing = false;

  get #engine(): WorkerHandle<EngineApi> {
    if (this.#handle === null) {
      const handle = new WorkerHandle<EngineApi>(workerAddress, "glowworm-engine");
      this.#handle = handle;
      const lost = Comlink.proxy((reason: string) => {
        if (this.#handle === handle) this.#lost(reason);
      });
      handle.call((remote) => remote.onLost(lost)).catch(() => undefined);
    }
    return this.#handle;
  }

  /** For tests. */
  get remote(): Comlink.Remote<EngineApi> {
    return this.#engine.remote;
  }

  /** Stored models. Their worker lives on when the engine's is ended, so a download goes on too. */
  get library(): WorkerHandle<LibraryApi> {
    return (this.#library ??= new WorkerHandle<LibraryApi>(libraryAddress, "glowworm-library"));
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
      const found = await this.#engine.call<Found>((remote) => remote.adapter() as Promise<Found>);
      adapterState.value = found.kind === "found" ? { kind: "good", adapter: found.adapter } : found;
      return found.kind === "found";
    } catch (error) {
      adapterState.value = { kind: "wrong", adapter: null, problem: message(error) };
      return false;
    }
  }

  /**
   * Lets the adapter compute known numbers, once, before anything is downloaded for it. One that computes wrong ones is
   * named and not used. The test has a worker and a device of its own.
   */
  async selfTest(): Promise<void> {
    const state = adapterState.value;
    if (state.kind !== "good" || state.adapter.test !== "" || this.#testing || asking.value !== null) return;
    const { adapter } = state;
    const told = (test: string, testing = false): void => {
      adapterState.value = { kind: "good", adapter: { ...adapter, test, testing } };
    };
    this.#testing = true;
    told("Self-test running.", true);
    try {
      told(`Self-test passed: ${await this.runSelfTest()}.`);
    } catch (error) {
      adapterState.value = { kind: "wrong", adapter, problem: message(error) };
    } finally {
      this.#testing = false;
    }
  }

  async runSelfTest(): Promise<string> {
    const tester = new WorkerHandle<TesterApi>(testerAddress, "glowworm-self-test");
    try {
      return await tester.call((remote) => remote.selfTest());
    } finally {
      tester.end(new Error("the self-test is over"));
    }
  }

  /** Another try for an adapter that was found wanting: a driver may have been restarted meanwhile. */
  async checkAgain(adapter: Adapter | null): Promise<void> {
    adapterState.value = { kind: "checking" };
    if (!(await this.checkAdapter())) return;
    // One that computed wrong numbers has to compute right ones before it is used.
    if (adapter !== null) await this.selfTest();
    const after = adapterState.peek() as { kind: string };
    if (after.kind === "good" && modelState.value.kind === "none") await this.useBuiltIn();
  }

  useBuiltIn(): Promise<void> {
    return this.load({ kind: "built-in" }, null);
  }

  useFile(file: File): Promise<void> {
    return this.load({ kind: "file", file }, null);
  }

  /** Loads what a person has chosen. A file that is no model costs nothing: what is loaded stays. */
  async load(source: ModelSource, prompt: Prompt | null, name = nameOf(source)): Promise<void> {
    modelProblem.value = null;
    if (asking.value !== null) return refuse(modelProblem, RUNNING);
    const mine = (this.#wishes += 1);
    if (source.kind !== "built-in") {
      try {
        await this.#engine.call((remote) => remote.inspect(source, prompt));
      } catch (error) {
        if (mine === this.#wishes) modelProblem.value = message(error);
        return;
      }
      if (mine !== this.#wishes) return;
      // A question may have been asked while the file was looked at.
      if (asking.value !== null) return refuse(modelProblem, RUNNING);
    }
    await this.#load(source, prompt, name, null);
  }

  async #load(source: ModelSource, prompt: Prompt | null, name: string, why: string | null): Promise<void> {
    this.#source = source;
    this.#prompt = prompt;
    const mine = (this.#wishes += 1);
    const since = performance.now();
    modelState.value = { kind: "loading", name, stage: "reading", done: 0, total: 0, since, moved: since, why };
    status.value = `Loading ${name}.`;
    const progress = Comlink.proxy((stage: Stage, done: number, total: number) => {
      if (mine === this.#wishes && modelState.value.kind === "loading") modelState.value = { kind: "loading", name, stage, done, total, since, moved: performance.now(), why };
    });
    try {
      const loaded = await this.#engine.call((remote) => remote.load(source, settings.value.tokenBudget ?? USUAL_BUDGET, prompt, progress));
      if (mine === this.#wishes) this.#ready(loaded.name, loaded.bytes, loaded.facts, source);
    } catch (error) {
      if (mine !== this.#wishes) return;
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
        // A model that was made for this agent brings the temperature that it works best at.
        temperature: source.kind === "built-in" ? facts.temperature : USUAL_TEMPERATURE,
        prompt: facts.prompt,
      },
    };
    status.value = `${name} is ready.`;
  }

  async loadAgain(): Promise<void> {
    if (this.#source === null) return this.useBuiltIn();
    if (asking.value !== null) return;
    this.#restart("the model is loaded again");
    await this.checkAdapter();
    if (this.#source !== null) await this.#load(this.#source, this.#prompt, nameOf(this.#source), null);
  }

  async setPrompt(prompt: Prompt | null): Promise<void> {
    if (asking.value !== null) throw new Error(RUNNING);
    if (prompt !== null) await this.#engine.call((remote) => remote.checkPrompt(prompt.name, prompt.text));
    const source = this.#source;
    if (source === null) return;
    if (source.kind === "stored") await this.library.call((remote) => remote.setPrompt(source.id, prompt));
    await this.#load(source, prompt, nameOf(source), null);
  }

  async ask(request: Ask, page: PageCallbacks): Promise<Trace> {
    const state = modelState.value;
    if (state.kind !== "ready") throw new Error("no model is loaded; choose one");
    if (this.#abandon !== null) throw new Error("another question is being answered; stop it first");
    let over = false;
    let latest: Trace | null = null;
    let live: Live | null = null;
    const abandoned = new Promise<Trace>((resolve, reject) => {
      this.#abandon = (ended, reason) => (latest === null ? reject(new Error(reason ?? "stopped before the episode began")) : resolve(endedTrace(latest, live, ended, reason)));
    });
    abandoned.catch(() => undefined);
    const shift = performance.timeOrigin;
    const callbacks: Callbacks = {
      begins: (trace) => {
        if (!over) page.begins((latest = trace));
      },
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
    const run = async (): Promise<Trace> => {
      // A larger budget than the model was loaded with: its cache has to grow first.
      if (request.tokenBudget > state.model.context && state.model.context < this.#longestContext && this.#source !== null) {
        await this.#load(this.#source, this.#prompt, state.model.name, "A larger token budget needs more room.");
        if (over) throw new Error("stopped before the episode began");
      }
      return this.#engine.call((remote) => remote.ask(request, Comlink.proxy(callbacks)));
    };
    try {
      return await Promise.race([run(), abandoned]);
    } finally {
      over = true;
      this.#abandon = null;
      clearTimeout(this.#stopTimer);
      clearTimeout(this.#lostTimer);
    }
  }

  /** Stops the episode: the engine hears of it between two readbacks; one that does not is ended. */
  stop(): void {
    const abandon = this.#abandon;
    if (abandon === null) return;
    if (modelState.value.kind === "loading") return abandon("cancelled", null);
    this.#engine.call((remote) => remote.stop()).catch(() => undefined);
    clearTimeout(this.#stopTimer);
    this.#stopTimer = setTimeout(() => {
      if (this.#abandon !== abandon) return;
      abandon("cancelled", null);
      this.#restart("the episode was stopped");
      const source = this.#source;
      if (source !== null) void this.#load(source, this.#prompt, nameOf(source), "The engine did not hear the stop in time, so it was ended and starts anew.");
    }, STOP_MS);
  }

  #restart(reason: string): void {
    this.#handle?.end(new Error(reason));
    this.#handle = null;
  }

  #lost(reason: string): void {
    const state = modelState.value;
    const name = state.kind === "ready" ? state.model.name : state.kind === "none" ? "the model" : state.name;
    // A load that was under way is of no use any more, and must not overwrite this.
    this.#wishes += 1;
    modelState.value = {
      kind: "lost",
      name,
      error: `the GPU stopped working (${reason.replace(/\.$/, "")}). The text so far is kept. Load the model again to go on`,
    };
    status.value = "The GPU stopped working.";
    // Mostly the engine hears of it too and ends the episode; a promise of a lost device may also never settle.
    const abandon = this.#abandon;
    if (abandon === null) return;
    clearTimeout(this.#lostTimer);
    this.#lostTimer = setTimeout(() => {
      if (this.#abandon === abandon) abandon("error", "the GPU stopped working");
    }, LOST_MS);
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
