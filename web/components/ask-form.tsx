import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { ask, stop } from "../actions";
import { now } from "../clock";
import { engine } from "../engine-client";
import { bytes, duration } from "../format";
import { adapterState, askError, askWaits, database, episode, evidence, modelPanelOpen, modelState, question, settings } from "../state";
import { exampleQuestions } from "../samples";
import { ErrorBox } from "./error-box";

export function AskForm() {
  const input = useRef<HTMLTextAreaElement>(null);
  const showEvidence = useSignal(false);
  const showSettings = useSignal(false);
  useEffect(() => input.current?.focus({ preventScroll: true }), []);
  const running = episode.value?.running === true;
  const stopping = episode.value?.stopping === true;
  const model = modelState.value;
  const ready = (model.kind === "ready" || model.kind === "loading") && database.value !== null;
  const chosen = settings.value;
  const budget = model.kind === "ready" ? Math.min(chosen.tokenBudget, model.model.longestContext) : chosen.tokenBudget;
  const builtIn = model.kind === "ready" ? model.model.source === "built-in" : model.kind !== "loading" || model.name === "built-in";
  const usable = adapterState.value.kind === "checking" || adapterState.value.kind === "good";
  const examples = !usable ? [] : exampleQuestions(database.value?.name ?? "", builtIn);
  return (
    <form
      class="ask"
      onSubmit={(event) => {
        event.preventDefault();
        if (running) stop();
        else void ask();
      }}
    >
      <label class="visually-hidden" for="question">Question</label>
      <div class="ask-line">
        <textarea
          id="question"
          ref={input}
          data-testid="question"
          rows={1}
          placeholder="Ask a question about this database"
          value={question.value}
          onInput={(event) => (question.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              if (!running) void ask();
            }
          }}
        />
        {running ? (
          <button class="button stop" type="submit" data-testid="stop" disabled={stopping}>{stopping ? "Stopping" : "Stop"}</button>
        ) : (
          <button class="button main" type="submit" data-testid="ask" disabled={!ready || question.value.trim() === ""}>Ask</button>
        )}
      </div>
      <div class="disclosures">
        <button type="button" class="toggle" aria-expanded={showEvidence.value} onClick={() => (showEvidence.value = !showEvidence.value)}>
          evidence{evidence.value.trim() !== "" && !showEvidence.value && " (given)"}
        </button>
        <button type="button" class="toggle" aria-expanded={showSettings.value} onClick={() => (showSettings.value = !showSettings.value)}>
          settings (schema {chosen.schema} · T {chosen.temperature} · seed {chosen.seed} · {budget.toLocaleString("en")} tokens)
        </button>
      </div>
      {/* Always there, so that a note can be filled in without opening anything first. */}
      <label class={showEvidence.value ? "field" : "field visually-hidden"}>
        Evidence: what the model should know, such as what a code in a column means
        <textarea data-testid="evidence" rows={2} value={evidence.value} tabIndex={showEvidence.value ? 0 : -1} onInput={(event) => (evidence.value = event.currentTarget.value)} />
      </label>
      {showSettings.value && <SettingsFields />}
      {examples.length > 0 && !running && episode.value === null && (
        <div class="examples">
          <span class="dim">Try:</span>
          {examples.map((text) => (
            <button key={text} type="button" class="link" onClick={() => ((question.value = text), ready ? void ask() : input.current?.focus())}>{text}</button>
          ))}
        </div>
      )}
      <Waiting />
      {model.kind === "ready" && model.model.source === "built-in" && episode.value === null && (
        <p class="small dim">
          The built-in model is tiny: it answers simple questions, mostly of one table, about Chinook-like databases.{" "}
          <button type="button" class="link" onClick={() => (modelPanelOpen.value = true)}>Load a model of 2 billion parameters</button> for real ones.
        </p>
      )}
      {(model.kind === "failed" || model.kind === "lost") && (
        <ErrorBox text={model.error}>
          {engine.canReload && <button type="button" class="button" onClick={() => void engine.loadAgain()}>Load again</button>}{" "}
          <button type="button" class="button" onClick={() => (modelPanelOpen.value = true)}>Choose a model</button>
        </ErrorBox>
      )}
      {askError.value !== null && <ErrorBox text={askError.value} />}
    </form>
  );
}

/** What a question waits for, with numbers that move. */
function Waiting() {
  const model = modelState.value;
  if (model.kind !== "loading" && (model.kind !== "none" || adapterState.value.kind !== "checking")) return null;
  const since = model.kind === "loading" ? ` · ${duration(Math.max(0, now.value - model.since))}` : "";
  return (
    <p class="small dim">
      {model.kind === "none" && "Looking for a graphics adapter."}
      {model.kind === "loading" && model.stage === "reading" && (model.total > 0 ? `Loading ${model.name} and compiling its shaders: ${bytes(model.done)} of ${bytes(model.total)}${since}.` : `Loading ${model.name}${since}.`)}
      {model.kind === "loading" && model.stage === "compiling" && `Loaded ${model.name}, compiling the last shaders${since}.`}
      {askWaits.value && " The question is asked as soon as the model is there."}
    </p>
  );
}

function SettingsFields() {
  const chosen = settings.value;
  const number = (key: "temperature" | "seed" | "tokenBudget", label: string, min: number, max: number, step: number) => (
    <label>
      {label}
      <input
        type="number"
        min={min}
        max={max}
        step={step}
        value={chosen[key]}
        onChange={(event) => {
          const value = event.currentTarget.valueAsNumber;
          if (Number.isFinite(value)) settings.value = { ...settings.value, [key]: Math.min(max, Math.max(min, value)) };
          else event.currentTarget.value = String(chosen[key]);
        }}
      />
    </label>
  );
  return (
    <div class="settings">
      <label>
        Schema
        <select value={chosen.schema} onChange={(event) => (settings.value = { ...settings.value, schema: event.currentTarget.value as "withheld" | "shown" })}>
          <option value="withheld">withheld: the model explores</option>
          <option value="shown">shown in the prompt</option>
        </select>
      </label>
      {number("temperature", "Temperature (0: always the likeliest)", 0, 2, 0.1)}
      {number("seed", "Seed", 0, 4_294_967_295, 1)}
      {number("tokenBudget", "Token budget of an episode", 512, 262_144, 512)}
    </div>
  );
}
