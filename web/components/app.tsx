import { useEffect } from "preact/hooks";
import { openFiles } from "../actions";
import { engine } from "../engine-client";
import { sentence } from "../format";
import { watchScrolling } from "../scroll";
import { adapterState, status } from "../state";
import { Answer } from "./answer";
import { AskForm } from "./ask-form";
import { DatabasePanel } from "./database-panel";
import { EpisodeView, statusWords } from "./episode-view";
import { Header } from "./header";
import { HistoryList } from "./history-list";
import { ModelPanel } from "./model-panel";

export function App() {
  useDrop();
  useEffect(watchScrolling, []);
  const adapter = adapterState.value;
  return (
    <div class="shell">
      <Header />
      <DatabasePanel />
      <main class="stage">
        <div class="column">
          {(adapter.kind === "missing" || adapter.kind === "wrong") && (
            <div class="notice" data-testid="no-adapter">
              <p><strong>No model can run here.</strong> {sentence(adapter.problem)}</p>
              <p>
                Everything else works: browse the database, run SQL, open a saved trace.{" "}
                <button type="button" class="link" onClick={() => void engine.checkAgain(adapter.kind === "wrong" ? adapter.adapter : null)}>Look again</button>
              </p>
            </div>
          )}
          <AskForm />
          <EpisodeView />
          <Answer />
          <HistoryList />
          <footer class="foot">
            Everything runs on your machine: question, database and model stay here. The page may connect only to its own site and to
            Hugging Face, and once a model is loaded asking connects to nothing. To check, open the browser's developer tools, choose
            Network, and ask.
          </footer>
        </div>
      </main>
      <ModelPanel />
      <p class="visually-hidden" aria-live="polite">{status.value}</p>
      <p class="visually-hidden" data-testid="status">{statusWords()}</p>
    </div>
  );
}

/** A file may be dropped anywhere. */
function useDrop(): void {
  useEffect(() => {
    let depth = 0;
    const show = (on: boolean): void => {
      document.body.classList.toggle("dropping", on);
      document.body.dataset["drop"] = "Drop a database, a model (.gguf) or a trace (.json)";
    };
    const carriesFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
    const enter = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      depth += 1;
      show(true);
    };
    const leave = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) show(false);
    };
    const over = (event: DragEvent): void => {
      if (carriesFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      depth = 0;
      show(false);
      void openFiles([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener("dragenter", enter);
    window.addEventListener("dragleave", leave);
    window.addEventListener("dragover", over);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragenter", enter);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("dragover", over);
      window.removeEventListener("drop", drop);
    };
  }, []);
}
