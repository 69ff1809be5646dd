/** The worker of the stored models: it downloads, checks, lists and deletes, whatever becomes of the engine meanwhile. */

import * as Comlink from "comlink";
import init, { inspectModel, Sha256 } from "../generated/engine.js";
import wasm from "../generated/engine_bg.wasm?url";
import type { Facts } from "./engine";
import * as store from "./store";

const api = {
  stored: store.stored,
  remove: store.remove,
  setPrompt: store.setPrompt,
  freeSpace: store.freeSpace,
  pause: store.pause,
  async download(wanted: store.Wanted, tell: (progress: store.Progress) => void): Promise<store.Stored> {
    await init({ module_or_path: wasm });
    const done = await store.download(wanted, () => new Sha256(), (progress) => void tell(progress));
    if (done.prompt !== null) return done;
    const { file } = await store.fileOf(done.id);
    const facts = JSON.parse(await inspectModel(done.path, file, 1)) as Facts;
    const prompt = facts.prompt.kind === "training" ? null : await store.findPrompt(facts.baseRepository, wanted).catch(() => null);
    if (prompt !== null) await store.setPrompt(done.id, prompt);
    return { ...done, prompt };
  },
};

export type LibraryApi = typeof api;

Comlink.expose(api);
