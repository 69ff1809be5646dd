import { openTrace, showEpisode } from "../actions";
import { duration } from "../format";
import { episode, history } from "../state";
import { count } from "../trace";

/** Episodes of this visit, and the way to open a saved one. */
export function HistoryList() {
  const past = history.value.filter((each) => each.id !== episode.value?.id);
  return (
    <section class="history no-print" aria-label="Episodes">
      {past.length > 0 && (
        <>
          <h2 class="label">Earlier in this visit</h2>
          <ul class="choices">
            {past.map((each) => (
              <li key={each.id}>
                <button type="button" class="link" onClick={() => showEpisode(each)}>{each.trace.config.question}</button>
                <span class="small dim">
                  {each.trace.outcome?.ended_by} · {count(each.trace.turns.length, "turn")}
                  {each.endedAt !== null && ` · ${duration(each.endedAt - each.startedAt)}`}
                </span>
                <span class="small dim">{each.trace.config.run.database}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="row" style={{ marginTop: "12px" }}>
        <input
          id="trace-open"
          class="hidden-input"
          type="file"
          accept=".json,application/json"
          data-testid="trace-open"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = "";
            if (file !== undefined) void openTrace(file);
          }}
        />
        <label class="button" for="trace-open">Open a trace</label>
        <span class="small dim">A saved episode replays here, without a GPU.</span>
      </div>
    </section>
  );
}
