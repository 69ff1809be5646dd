import { now } from "../clock";
import { bytes } from "../format";
import { adapterState, modelPanelOpen, modelState, theme, type Theme } from "../state";
import { setTheme } from "../theme";
import { compiles } from "./loading-words";

const NEXT: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };

export function Header() {
  return (
    <header class="top">
      <h1 class="brand">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <path d="M3 17c2.5-4.5 5-7.5 7.5-9" fill="none" stroke="var(--dim)" stroke-width="2.2" stroke-linecap="round" />
          <circle cx="13" cy="6.5" r="3.4" fill="var(--glow)" />
        </svg>
        Glowworm
      </h1>
      <button class="plain" type="button" data-testid="model-choice" aria-haspopup="dialog" onClick={() => (modelPanelOpen.value = true)}>
        <span class="dim">model: </span>
        <ModelWords /> <span aria-hidden="true">▾</span>
      </button>
      <span data-testid="adapter-status" class="small">
        <span class="dim">adapter: </span>
        <AdapterWords />
      </span>
      <button class="plain" type="button" onClick={() => setTheme(NEXT[theme.value])} aria-label={`Colours: ${theme.value}. Change to ${NEXT[theme.value]}`}>
        <span aria-hidden="true">{theme.value === "dark" ? "☾" : theme.value === "light" ? "☀" : "◑"}</span> {theme.value}
      </button>
    </header>
  );
}

function ModelWords() {
  const state = modelState.value;
  switch (state.kind) {
    case "none":
      return <>none</>;
    case "loading":
      return <>{state.name} · {compiles(state, now.value) ? "compiling" : state.total > 0 ? `${Math.floor((100 * state.done) / state.total)}%` : "loading"}</>;
    case "failed":
      return <>not loaded</>;
    case "lost":
      return <>{state.name} · lost</>;
    case "ready":
      return <>{state.model.name} · {bytes(state.model.bytes)}</>;
  }
}

function AdapterWords() {
  const state = adapterState.value;
  switch (state.kind) {
    case "checking":
      return <>checking …</>;
    case "missing":
      return <>none: no WebGPU here</>;
    case "wrong":
      return <>✗ {state.adapter?.name ?? "unknown"}: unusable</>;
    case "good":
      return <span title={state.adapter.test}>{state.adapter.name} {state.adapter.testing ? "· self-test running" : "✓"}</span>;
  }
}
