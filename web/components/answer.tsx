import { useEffect, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { copyResult, copySql, runSql, saveCsv, stopQuery } from "../actions";
import { duration } from "../format";
import { now } from "../clock";
import { database, resultState, sql, sqlOrigin } from "../state";
import { count } from "../trace";
import { ErrorBox } from "./error-box";
import { ResultTable } from "./result-table";
import type { SqlEditor } from "./sql-editor";

export function Answer() {
  const result = resultState.value;
  const running = result.kind === "running";
  const answer = sqlOrigin.value === "answer";
  return (
    <section class="answer" aria-label={answer ? "Answer" : "SQL"}>
      <div class="answer-head">
        <h2 class="label">{answer ? "Answer" : "SQL"}</h2>
        {running ? (
          <button type="button" class="button stop" onClick={stopQuery}>Stop query</button>
        ) : (
          <button type="button" class="button" data-testid="run-sql" disabled={database.value === null || sql.value.trim() === ""} title="Ctrl+Enter" onClick={() => void runSql()}>Run</button>
        )}
        <button type="button" class="button" disabled={sql.value.trim() === ""} onClick={() => void copySql()}>Copy SQL</button>
        {result.kind === "rows" && (
          <>
            <button type="button" class="button" onClick={() => void copyResult()}>Copy rows</button>
            <button type="button" class="button" onClick={() => void saveCsv()}>CSV</button>
          </>
        )}
      </div>
      <Editor />
      {running && <p class="dim small">Running, {duration(Math.max(0, now.value - result.since))} of at most 5 s.</p>}
      {result.kind === "failed" && <ErrorBox text={result.error} />}
      {result.kind === "rows" && (
        <>
          <p class="small dim">
            {count(result.result.rows, "row")}
            {result.result.more && ", and more that are not shown"} · {duration(result.result.elapsed)}
          </p>
          <ResultTable key={result.result.id} result={result.result} />
        </>
      )}
    </section>
  );
}

function Editor() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let editor: SqlEditor | null = null;
    let stop: (() => void) | null = null;
    let gone = false;
    void import("./sql-editor").then(({ createEditor }) => {
      if (gone || place.current === null) return;
      const made = createEditor(place.current, sql.value, {
        change: (text) => (sql.value = text),
        run: () => void runSql(),
      });
      editor = made;
      const stopText = effect(() => made.set(sql.value));
      const stopSchema = effect(() => {
        const tables = database.value?.tables ?? [];
        made.schema(Object.fromEntries(tables.map((table) => [table.name, table.columns.map((column) => column.name)])));
      });
      stop = () => (stopText(), stopSchema());
    });
    return () => {
      gone = true;
      stop?.();
      editor?.destroy();
    };
  }, []);
  return <div class="editor" ref={place} style={{ minHeight: "40px" }} />;
}
