import { bytes, duration } from "../format";
import type { ModelState } from "../state";

type Loading = Extract<ModelState, { kind: "loading" }>;

/** Milliseconds without a byte after which it is the driver that is waited for. */
const STILL_MS = 700;

/** Whether the shaders are being compiled: all is read, or reading stands still for them. */
export const compiles = (model: Loading, at: number): boolean => model.stage === "compiling" || (model.done > 0 && at - model.moved > STILL_MS);

/** What a model that is loading is busy with, in a sentence. */
export function loadingWords(model: Loading, at: number): string {
  const since = duration(Math.max(0, at - model.since));
  const why = model.why === null ? "" : `${model.why} `;
  const read = model.total > 0 ? `: ${bytes(model.done)} of ${bytes(model.total)}` : "";
  if (compiles(model, at)) return `${why}Compiling the shaders of ${model.name}${model.stage === "compiling" ? "" : read} · ${since}.`;
  return `${why}Loading ${model.name}${read} · ${since}.`;
}
