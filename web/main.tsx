import { render } from "preact";
import { openSample, runTool, script } from "./actions";
import { App } from "./components/app";
import { engine } from "./engine-client";
import { SAMPLES } from "./samples";
import { modelState } from "./state";
import { startTheme } from "./theme";

startTheme();
const place = document.getElementById("app");
if (place === null) throw new Error("the page has no place for the app");
render(<App />, place);

// The sample and the built-in model are there before anybody has chosen anything.
const sample = SAMPLES[0];
if (sample !== undefined) void openSample(sample, true);
void engine.checkAdapter().then((good) => {
  if (good && modelState.value.kind === "none") void engine.useBuiltIn();
});

// For tests and measurements: numbers of the engine, a crash of the driver, a call as a model makes it, and a model that says what it is told.
Object.assign(globalThis, {
  glowworm: {
    logits: (ids: number[]) => engine.remote.logits(ids),
    counters: () => engine.remote.counters(),
    tool: runTool,
    script: (replies: string[]) => void script.push(...replies),
    selfTest: () => engine.runSelfTest(),
    destroyDevices: () => engine.remote.destroyDevices(),
  },
});

if ("serviceWorker" in navigator && import.meta.env.PROD) {
  // Without one the page works all the same, only not offline.
  void navigator.serviceWorker.register("./sw.js").catch(() => undefined);
}
