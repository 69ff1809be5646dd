import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { engine } from "../engine-client";
import { bytes, duration, message } from "../format";
import { SUGGESTED } from "../hugging-face";
import {
  chosenPath, closePanel, downloadChosen, fetchAndLoad, freeBytes, hubBusy, hubError, listing, listRepository, pauseDownload, paused,
  progress, lookUpAgain, refreshStored, removeStored, repository, storedModels, storeError, useStored,
} from "../models";
import { now } from "../clock";
import { adapterState, asking, episode, modelPanelOpen, modelProblem, modelState } from "../state";
import { ErrorBox } from "./error-box";
import { loadingWords } from "./loading-words";

export function ModelPanel() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = modelPanelOpen.value;
  useEffect(() => {
    if (open && dialog.current?.open === false) {
      dialog.current.showModal();
      void refreshStored();
    } else if (!open && dialog.current?.open === true) dialog.current.close();
  }, [open]);
  const noGpu = adapterState.value.kind === "missing" || adapterState.value.kind === "wrong";
  return (
    <dialog ref={dialog} aria-labelledby="model-title" onClose={closePanel} onClick={(event) => event.target === dialog.current && closePanel()}>
      <div class="sheet">
        <div class="sheet-head">
          <h2 id="model-title">Model</h2>
          <button type="button" class="button" onClick={closePanel}>Close</button>
        </div>
        <Current />
        {noGpu && <p class="notice">Without a usable WebGPU adapter no model can run here. Databases, SQL and saved traces work.</p>}
        <section aria-label="Built-in model">
          <h3 class="label">Built-in</h3>
          <p>A tiny model that comes with the page, to show how Glowworm works. It manages simple questions, mostly of one table, about databases like the samples, and is often wrong.</p>
          <div><button type="button" class="button" disabled={busy() || noGpu} onClick={() => void engine.useBuiltIn()}>Use the built-in model</button></div>
        </section>
        <HuggingFace />
        <section aria-label="Model file">
          <h3 class="label">A file of yours</h3>
          <div class="row">
            <input
              id="model-file"
              class="hidden-input"
              type="file"
              accept=".gguf"
              data-testid="model-file"
              onChange={(event) => {
                const file = event.currentTarget.files?.[0];
                event.currentTarget.value = "";
                if (file !== undefined) void engine.useFile(file);
              }}
            />
            <label class="button" for="model-file">Choose a .gguf file</label>
            <span class="dim small">or drop it on the page. It is read in place, not copied.</span>
          </div>
        </section>
        <StoredModels />
        <PromptWords />
      </div>
    </dialog>
  );
}

function busy(): boolean {
  return modelState.value.kind === "loading" || asking.value !== null;
}

function Current() {
  const state = modelState.value;
  const adapter = adapterState.value;
  return (
    <>
      {(state.kind === "failed" || state.kind === "lost") && (
        <ErrorBox text={state.error}>
          {engine.canReload && <button type="button" class="button" onClick={() => void engine.loadAgain()}>Load again</button>}
        </ErrorBox>
      )}
      {modelProblem.value !== null && (
        <ErrorBox text={modelProblem.value}>{state.kind === "ready" && <p class="small">{state.model.name} stays loaded.</p>}</ErrorBox>
      )}
      <dl class="facts">
        {state.kind === "loading" && (
          <>
            <dt>Loading</dt>
            <dd>{loadingWords(state, now.value)}</dd>
          </>
        )}
        {state.kind === "ready" && (
          <>
            <dt>Loaded</dt>
            <dd>{state.model.name}, {bytes(state.model.bytes)}, {state.model.quantisation}</dd>
            <dt>GPU memory</dt>
            <dd>about {bytes(state.model.memory)} with a context of {state.model.context.toLocaleString("en")} tokens</dd>
          </>
        )}
        <dt>Adapter</dt>
        <dd>
          {adapter.kind === "good" && (
            <>
              {adapter.adapter.name}. {adapter.adapter.test} Buffers up to {bytes(adapter.adapter.maxBuffer)}, bindings up to {bytes(adapter.adapter.maxBinding)}.
            </>
          )}
          {adapter.kind === "checking" && "being checked"}
          {adapter.kind === "missing" && adapter.problem}
          {adapter.kind === "wrong" && adapter.problem}{" "}
          {(adapter.kind === "wrong" || adapter.kind === "missing") && (
            <button type="button" class="link" onClick={() => void engine.checkAgain(adapter.kind === "wrong" ? adapter.adapter : null)}>Look again</button>
          )}
        </dd>
      </dl>
    </>
  );
}

function HuggingFace() {
  const found = listing.value;
  const going = progress.value;
  return (
    <section aria-label="Models on Hugging Face">
      <h3 class="label">From Hugging Face</h3>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          void listRepository();
        }}
      >
        <input
          class="grow"
          type="text"
          aria-label="Repository on Hugging Face"
          data-testid="model-repository"
          placeholder="owner/name or an address"
          value={repository.value}
          onInput={(event) => (repository.value = event.currentTarget.value)}
        />
        <button class="button" type="submit" disabled={hubBusy.value || repository.value.trim() === ""}>{hubBusy.value ? "Listing" : "List files"}</button>
      </form>
      <p class="small dim">As owner/name, owner/name:Q4_K_M, hf://owner/name/file.gguf, or an address of huggingface.co.</p>
      <p class="small">
        <span class="dim">Suggested: </span>
        <button type="button" class="link" onClick={() => ((repository.value = SUGGESTED), void listRepository())}>{SUGGESTED}</button>
      </p>
      {hubError.value !== null && (
        <ErrorBox text={hubError.value}>
          {found !== null && going === null && <button type="button" class="button" onClick={() => void downloadChosen()}>Try again</button>}
        </ErrorBox>
      )}
      {found !== null && <Files />}
      <Transfer />
    </section>
  );
}

function Files() {
  const found = listing.value;
  if (found === null) return null;
  const chosen = found.files.find((file) => file.path === chosenPath.value);
  const kept = storedModels.value.find((model) => model.repository === found.place.repository && model.path === chosen?.path);
  const free = freeBytes.value;
  const missing = chosen === undefined ? 0 : chosen.size - (kept?.have ?? 0);
  const adapter = adapterState.value.kind === "good" ? adapterState.value.adapter : null;
  const fits = free === null || missing <= free;
  return (
    <>
      <ul class="choices" aria-label={`Files of ${found.place.repository}`}>
        {found.files.map((file) => (
          <li key={file.path}>
            <label>
              <input type="radio" name="model-path" value={file.path} checked={file.path === chosenPath.value} disabled={file.problem !== null} onChange={() => (chosenPath.value = file.path)} />
              {file.path}
            </label>
            <span>{file.size > 0 ? bytes(file.size) : ""}</span>
            <span class="small dim">{file.problem ?? fit(file.size, adapter)}</span>
          </li>
        ))}
      </ul>
      {found.left > 0 && <p class="small dim">{found.left.toLocaleString("en")} more files are not shown; name one as hf://{found.place.repository}/file.gguf.</p>}
      {chosen !== undefined && (
        <>
          <dl class="facts">
            <dt>Download</dt>
            <dd>{bytes(missing)}{kept !== undefined && kept.have > 0 && ` (${bytes(kept.have)} are here already)`}</dd>
            <dt>Storage</dt>
            <dd>{free === null ? "the browser does not say how much there is" : `${bytes(free)} free for this page`}</dd>
            <dt>GPU memory</dt>
            <dd>about {bytes(chosen.size + 0.5e9)} with the cache. Browsers do not tell how much a GPU has; if it runs out, the page says so and you can take a smaller file.</dd>
            <dt>Verdict</dt>
            <dd>
              {!fits
                ? `does not fit: ${bytes(missing - (free ?? 0))} of storage are missing`
                : adapter === null
                  ? "cannot run here: no usable adapter"
                  : adapter.software
                    ? "runs, but slowly: this adapter computes on the processor"
                    : "should run on this adapter"}
            </dd>
          </dl>
          <div>
            <button type="button" class="button main" disabled={!fits || adapter === null || adapter.testing || progress.value !== null || busy()} onClick={() => void downloadChosen()}>
              {kept?.complete === true ? "Load" : kept !== undefined && kept.have > 0 ? "Resume download" : `Download ${bytes(missing)}`}
            </button>
          </div>
        </>
      )}
    </>
  );
}

function fit(size: number, adapter: { software: boolean; maxBuffer: number } | null): string {
  if (adapter === null) return "";
  if (adapter.software) return size > 400e6 ? "slow here" : "fits";
  return size > 6e9 ? "for large GPUs" : "fits most GPUs";
}

function Transfer() {
  const going = progress.value;
  const loading = modelState.value;
  const shown = going !== null || loading.kind === "loading" || paused.value !== null;
  return (
    <div data-testid="model-progress" aria-live="off">
      {going !== null && (
        <>
          <div class="bar" role="progressbar" aria-label="Download" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.floor((100 * going.done) / going.total)}>
            <i style={{ width: `${(100 * going.done) / going.total}%` }} />
          </div>
          <div class="row small">
            <span class="grow">
              {going.phase === "checking" ? "checking " : ""}
              {bytes(going.done)} of {bytes(going.total)}
              {going.rate > 0 && ` · ${bytes(going.rate)}/s · ${duration((1000 * (going.total - going.done)) / going.rate)} left`}
              {going.note !== "" && ` · ${going.note}`}
            </span>
            <button type="button" class="button" onClick={pauseDownload}>Pause</button>
          </div>
        </>
      )}
      {going === null && loading.kind === "loading" && <p class="small">{loadingWords(loading, now.value)}</p>}
      {going === null && paused.value !== null && <p class="small">{paused.value}</p>}
      {!shown && <span class="visually-hidden">no download</span>}
    </div>
  );
}

function StoredModels() {
  const models = storedModels.value;
  if (models.length === 0 && storeError.value === null) return null;
  return (
    <section aria-label="Stored models">
      <h3 class="label">Stored in this browser</h3>
      {storeError.value !== null && <ErrorBox text={storeError.value} />}
      <ul class="choices">
        {models.map((model) => (
          <li key={model.id}>
            <span>
              {model.path} <span class="dim small">{model.repository}</span>
              {model.prompt !== null && <span class="dim small"> · training prompt</span>}
            </span>
            <span>{model.complete ? bytes(model.size) : model.described ? `${bytes(model.have)} of ${bytes(model.size)}` : `${bytes(model.have)}, description lost`}</span>
            <span class="row">
              <button type="button" class="button" disabled={busy() || progress.value !== null} onClick={() => void (model.complete ? useStored(model) : model.described ? fetchAndLoad(model) : lookUpAgain(model))}>{model.complete ? "Use" : model.described ? "Resume" : "Find again"}</button>
              <button type="button" class="button" disabled={progress.value?.path === model.path} aria-label={`Delete ${model.path}`} onClick={() => void removeStored(model)}>Delete</button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function PromptWords() {
  const state = modelState.value;
  const pasted = useSignal("");
  const problem = useSignal<string | null>(null);
  if (state.kind !== "ready") return null;
  const training = state.model.prompt.kind === "training";
  const use = async (name: string, text: string): Promise<void> => {
    problem.value = null;
    try {
      await engine.setPrompt({ name, text });
      pasted.value = "";
    } catch (error) {
      problem.value = message(error);
    }
  };
  return (
    <section aria-label="Prompt">
      <h3 class="label">Prompt</h3>
      <p>
        <span class={training ? "badge good" : "badge"} data-testid={episode.value === null ? "prompt-badge" : undefined}>{training ? "training prompt" : "reconstructed"}</span>{" "}
        <span class="dim">{state.model.prompt.source}</span>
      </p>
      {!training && <p class="small">The words that this model was trained on are not at hand, and Glowworm's own stand in for them. Answers may be worse. They are in the file sqale_agent.py (or protocol.py) of the original model's repository: choose that file, or paste its text.</p>}
      <label class="field">
        Text of the prompt file
        <textarea rows={3} value={pasted.value} placeholder={'SYSTEM_PROMPT = """…"""'} onInput={(event) => (pasted.value = event.currentTarget.value)} />
      </label>
      <div class="row">
        <button type="button" class="button" disabled={busy() || pasted.value.trim() === ""} onClick={() => void use("pasted text", pasted.value)}>Use this text</button>
        <input
          id="prompt-file"
          class="hidden-input"
          type="file"
          accept=".py,.txt"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = "";
            if (file !== undefined) void file.text().then((text) => use(file.name, text), () => (problem.value = `${file.name}: the file cannot be read; choose it again`));
          }}
        />
        <label class="button" for="prompt-file">Choose a .py file</label>
        {engine.prompt !== null && <button type="button" class="link" onClick={() => void engine.setPrompt(null).catch((error: unknown) => (problem.value = message(error)))}>Back to the model's own</button>}
      </div>
      {problem.value !== null && <ErrorBox text={problem.value} />}
    </section>
  );
}
