import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { ask, stop, STOP_AFTER_MS } from "../actions";
import { now } from "../clock";
import { engine } from "../engine-client";
import { integer } from "../format";
import {
  adapterState, asking, askError, database, effective, episode, evidence, modelPanelOpen, modelProblem, modelState, opening, question, queued, settings,
  type Settings,
} from "../state";
import { exampleQuestions } from "../samples";
import { clip, repeats } from "../trace";
import { ErrorBox } from "./error-box";
import { loadingWords } from "./loading-words";

export function AskForm() {
  const input = useRef<HTMLTextAreaElement>(null);
  const showEvidence = useSignal(false);
  const showSettings = useSignal(false);
  useEffect(() => input.current?.focus({ preventScroll: true }), []);
  const busy = asking.value;
  const model = modelState.value;
  const adapter = adapterState.value.kind;
  const usable = adapter === "checking" || adapter === "good";
  const waitable = model.kind === "ready" || model.kind === "loading" || model.kind === "none";
  const ready = usable && waitable && (database.value !== null || opening.value !== null);
  const builtIn = model.kind === "ready" ? model.model.source === "built-in" : model.kind !== "loading" || model.name === "built-in";
  const open = database.value?.name ?? "";
  const examples = usable ? exampleQuestions(open, builtIn) : [];
  const fresh = busy === null && queued.value === null && episode.value === null;
  /** Goes back to the question where the keyboard was on a button that is about to go. */
  const keepFocus = (): void => {
    if (document.activeElement?.matches("button:focus-visible") === true) input.current?.focus({ preventScroll: true });
  };
  return (
    <>
      <form
        class={busy === null ? "ask-line" : "ask-line running"}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (busy !== null) stop();
          else ask();
          keepFocus();
        }}
      >
        <label class="visually-hidden" for="question">Question</label>
        <textarea
          id="question"
          ref={input}
          data-testid="question"
          rows={1}
          placeholder="Ask about this database"
          value={question.value}
          onInput={(event) => (question.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              if (busy === null) ask();
            }
          }}
        />
        {busy !== null ? (
          <button key="stop" class="button stop" type="submit" data-testid="stop" disabled={busy.stopping || now.value - busy.since < STOP_AFTER_MS}>{busy.stopping ? "Stopping" : "Stop"}</button>
        ) : (
          <button key="ask" class="button main" type="submit" data-testid="ask" disabled={!ready || question.value.trim() === ""}>Ask</button>
        )}
        <Repetition />
      </form>
      <div class="ask">
        <div class="disclosures">
          <button type="button" class="toggle" aria-expanded={showEvidence.value} onClick={() => (showEvidence.value = !showEvidence.value)}>
            note for the model {evidence.value.trim() !== "" && !showEvidence.value ? "(given)" : "(optional)"}
          </button>
          <button type="button" class="toggle" aria-expanded={showSettings.value} onClick={() => (showSettings.value = !showSettings.value)}>
            settings (<SettingsWords />)
          </button>
        </div>
        {/* Always there, so that a note can be filled in without opening anything first. */}
        <label class={showEvidence.value ? "field" : "field visually-hidden"}>
          What the model should know and cannot find in the database, such as what a code in a column means
          <textarea data-testid="evidence" rows={2} value={evidence.value} tabIndex={showEvidence.value ? 0 : -1} onInput={(event) => (evidence.value = event.currentTarget.value)} />
        </label>
        {showSettings.value && <SettingsFields />}
        {examples.length > 0 && fresh && (
          <div class="examples">
            <span class="dim">Try:</span>
            {examples.map((text) => (
              <button key={text} type="button" class="link" onClick={() => ((question.value = text), ready ? (keepFocus(), ask()) : input.current?.focus())}>{text}</button>
            ))}
          </div>
        )}
        {fresh && usable && open !== "" && examples.length === 0 && (
          <p class="small dim">Ask in plain words and use the names of your tables and columns where you can, such as “How many rows does {clip(database.value?.tables[0]?.name || "a table", 40)} have?”</p>
        )}
        <Waiting />
        {(model.kind === "failed" || model.kind === "lost") && (
          <ErrorBox text={model.error}>
            {engine.canReload && <button type="button" class="button" onClick={() => void engine.loadAgain()}>Load again</button>}{" "}
            <button type="button" class="button" onClick={() => (modelPanelOpen.value = true)}>Choose a model</button>
          </ErrorBox>
        )}
        {modelProblem.value !== null && (
          <ErrorBox text={modelProblem.value} close={() => (modelProblem.value = null)}>
            {model.kind === "ready" && <p class="small">{model.model.name} stays loaded.</p>}
          </ErrorBox>
        )}
        {askError.value !== null && <ErrorBox text={askError.value} close={() => (askError.value = null)} />}
      </div>
    </>
  );
}

/** A model that says one thing over and over goes on until its tokens are used up: somebody may want to know. */
function Repetition() {
  const current = episode.value;
  const live = current?.running === true ? current.live : null;
  if (live === null || !(repeats(live.text) || repeats(live.think)) || asking.value?.stopping === true) return null;
  return <p class="small" role="status" data-testid="repetition">The model repeats itself. Stop it and ask in other words.</p>;
}

/** What a question waits for, with numbers that move, and else what to expect; a place of its own, so that nothing jumps. */
function Waiting() {
  const model = modelState.value;
  const waits = queued.value;
  const going = opening.value;
  const checking = model.kind === "none" && adapterState.value.kind === "checking";
  const built = model.kind === "ready" && model.model.source === "built-in" && asking.value === null;
  // Without an adapter nothing will ever wait here.
  if (adapterState.value.kind === "missing" || adapterState.value.kind === "wrong") return null;
  return (
    <div class="waiting small">
      {checking && <p class="dim">Looking for a graphics adapter.</p>}
      {model.kind === "loading" && <p class="dim">{loadingWords(model, now.value)}</p>}
      {waits !== null && (
        <p data-testid="queued">
          “{clip(waits.question, 200)}” is asked of {clip(waits.of, 80)} as soon as {going !== null ? "it is open" : "the model is there"}.{" "}
          <button type="button" class="link" onClick={() => (queued.value = null)}>Cancel</button>
        </p>
      )}
      {built && waits === null && (
        <p class="dim">
          The built-in model is tiny and often wrong: it is for simple questions, mostly of one table, about databases like the samples.{" "}
          <button type="button" class="link" onClick={() => (modelPanelOpen.value = true)}>Load a model of 2 billion parameters</button> for real ones.
        </p>
      )}
    </div>
  );
}

/** Settings on one line. What only the model can tell is left out until it is there. */
function SettingsWords() {
  const { schema, seed } = settings.value;
  const { temperature, tokenBudget } = effective.value;
  const words = [`schema ${schema}`];
  if (temperature !== null) words.push(`temperature ${temperature}`);
  words.push(`seed ${seed}`);
  if (tokenBudget !== null) words.push(`${integer(tokenBudget)} tokens`);
  return <>{words.join(" · ")}</>;
}

type NumberKey = "temperature" | "seed" | "tokenBudget";

function SettingsFields() {
  const problem = useSignal<string | null>(null);
  const chosen = settings.value;
  const known = { ...effective.value, seed: chosen.seed };
  const change = (part: Partial<Settings>): void => {
    settings.value = { ...settings.value, ...part };
  };
  const number = (key: NumberKey, label: string, help: string, min: number, max: number, whole: boolean) => (
    <label>
      {label}
      <input
        type="number"
        step="any"
        value={known[key] ?? ""}
        aria-describedby={`help-${key}`}
        onChange={(event) => {
          const field = event.currentTarget;
          const given = field.valueAsNumber;
          const range = `${whole ? "a whole number " : ""}from ${integer(min)} to ${integer(max)}`;
          if (!Number.isFinite(given)) {
            // Emptied: as the model has it.
            change(key === "seed" ? { seed: 1 } : { [key]: null });
            problem.value = field.validity.badInput ? `${label}: this is no number; it is ${range}.` : null;
          } else {
            const value = Math.min(max, Math.max(min, whole ? Math.round(given) : given));
            change({ [key]: value });
            const most = key === "tokenBudget" ? effective.value.tokenBudget : null;
            problem.value =
              value !== given ? `${label}: ${range}; it is now ${integer(value)}.`
              : most !== null && most < value ? `${label}: the model that is loaded can take ${integer(most)} at most, so it is that for now.`
              : null;
          }
          const after = key === "seed" ? settings.value.seed : effective.value[key];
          field.value = after === null ? "" : String(after);
        }}
      />
      <span class="help" id={`help-${key}`}>{help}</span>
    </label>
  );
  return (
    <>
      <div class="settings">
        <label>
          Schema
          <select value={chosen.schema} aria-describedby="help-schema" onChange={(event) => change({ schema: event.currentTarget.value as "withheld" | "shown" })}>
            <option value="withheld">withheld</option>
            <option value="shown">shown</option>
          </select>
          <span class="help" id="help-schema">Withheld: the model finds the tables itself. Shown: they are in its prompt.</span>
        </label>
        {number("temperature", "Temperature", "0: always the likeliest word. More: it strays farther.", 0, 2, false)}
        {number("seed", "Seed", "Another one gives another answer, where words are drawn at random.", 0, 4_294_967_295, true)}
        {number("tokenBudget", "Token budget of an episode", "How much it may read and write.", 512, 262_144, true)}
      </div>
      {problem.value !== null && <p class="small" role="alert" data-testid="settings-problem">{problem.value}</p>}
    </>
  );
}
