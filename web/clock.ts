import { effect, signal } from "@preact/signals";
import { asking, modelState, opening, resultState } from "./state";

/** Milliseconds, moving only while something is counted on the screen. */
export const now = signal(performance.now());

let timer: ReturnType<typeof setInterval> | undefined;
effect(() => {
  const running = asking.value !== null || opening.value !== null || modelState.value.kind === "loading" || resultState.value.kind === "running";
  if (running && timer === undefined) timer = setInterval(() => (now.value = performance.now()), 250);
  if (!running && timer !== undefined) {
    clearInterval(timer);
    timer = undefined;
  }
});
