/**
 * The self-test's worker: known numbers, computed by the adapter with the engine's kernels. It has a device of its own,
 * which goes with the worker, so neither a model nor the test can take the other's away.
 */

import * as Comlink from "comlink";
import init, { selfTest } from "../generated/engine.js";
import wasm from "../generated/engine_bg.wasm?url";

const api = {
  async selfTest(): Promise<string> {
    await init({ module_or_path: wasm });
    return selfTest();
  },
};

export type TesterApi = typeof api;

Comlink.expose(api);
