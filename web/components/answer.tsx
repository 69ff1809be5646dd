import { useEffect, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { backToAnswer, copyResult, copySql, openSample, reveal, runSql, sampleOf, saveCsv, stopQuery } from "../actions";
import { bytes, duration } from "../format";
import { now } from "../clock";
import { QUERY_SECONDS } from "../database-client";
import { follow } from "../scroll";
import { answerSql, asking, belongs, database, episode, isAnswer, opening, resultNote, resultProblem, resultState, sql, type Result } from "../state";
import { tooLongToEdit } from "../sql-format";
import { clip, count } from "../trace";
import { ErrorBox } from "./error-box";
import { ResultTable } from "./result-table";
import type { SqlEditor } from "./sql-editor";

export function Answer() {
  const whole = useRef<HTMLElement>(null);
  useEffect(() => {
    // The table takes a moment to get its first rows, and its height with them.
    if (reveal.value > 0) requestAnimationFrame(() => follow(whole.current));
  }, [reveal.value]);
  const result = resultState.value;
  const running = result.kind === "running";
  const empty = sql.value.trim() === "";
  const heading = isAnswer.value ? "Answer" : empty ? "SQL" : "Your query";
  return (
    <section class="answer" aria-label={heading} ref={whole}>
      <div class="answer-head">
        <h2 class="label" data-testid="answer-heading">{heading}</h2>
        {running ? (
          <button type="button" class="button stop" onClick={stopQuery}>Stop query</button>
        ) : (
          <button type="button" class="button" data-testid="run-sql" disabled={database.value === null || empty} title="Ctrl+Enter" onClick={() => void runSql()}>Run</button>
        )}
        {answerSql.value !== null && !isAnswer.value && !running && asking.value === null && (
          <button type="button" class="button" data-testid="back-to-answer" onClick={backToAnswer}>Back to the answer</button>
        )}
        <button type="button" class="button" disabled={empty} onClick={() => void copySql()}>Copy SQL</button>
        {result.kind === "rows" && (
          <>
            <button type="button" class="button" onClick={() => void copyResult()}>Copy rows</button>
            <button type="button" class="button" onClick={() => void saveCsv()}>CSV</button>
          </>
        )}
        <span class="small note" data-testid="result-note">{resultNote.value}</span>
      </div>
      <Elsewhere />
      <Editor />
      {tooLongToEdit(sql.value) && (
        <p class="small dim" data-testid="sql-cut">
          This query of {bytes(sql.value.length)} is too long to be edited here. Its beginning is shown; it is run and copied in full.{" "}
          <button type="button" class="link" onClick={() => (sql.value = "")}>Clear it</button>
        </p>
      )}
      {running && (
        <p class="dim small">
          {result.since === null ? "Waiting for the database." : `Running, ${duration(Math.max(0, now.value - result.since))} of at most ${QUERY_SECONDS} s.`}
        </p>
      )}
      {result.kind === "failed" && <ErrorBox text={result.error} />}
      {resultProblem.value !== null && <ErrorBox text={resultProblem.value} close={() => (resultProblem.value = null)} />}
      {result.kind === "rows" && <Rows result={result.result} />}
    </section>
  );
}

function Rows({ result }: { result: Result }) {
  return (
    <>
      <p class="small dim">
        {count(result.rows, "row")}
        {result.more && ", and more that are not shown"} · {duration(result.elapsed)}
        {result.sql !== sql.value && " · of the query as it was when it was run"}
      </p>
      <ResultTable key={result.key} result={result} />
    </>
  );
}

/** Why the answer of the episode that is shown has no rows here. */
function Elsewhere() {
  const current = episode.value;
  if (current === null || current.running || asking.value !== null) return null;
  const { trace } = current;
  if (trace.outcome !== null && answerSql.value === null) return sql.value === "" ? <p class="dim small">This episode ended without a query.</p> : null;
  if (!isAnswer.value || belongs(trace)) return null;
  const name = clip(trace.config.run.database, 80) || "a database that it does not name";
  const sample = sampleOf(trace);
  return (
    <div class="notice row" data-testid="other-database">
      <span class="grow">
        This is the answer for {name}
        {database.value === null ? ", which is not open." : `, and ${database.value.name} is open. It is not run here by itself.`}
      </span>
      {sample !== undefined && <button type="button" class="button" disabled={opening.value !== null} onClick={() => void openSample(sample)}>Open {sample.title}</button>}
    </div>
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
