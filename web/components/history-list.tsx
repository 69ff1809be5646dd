import { openTrace, showEpisode } from "../actions";
import { duration } from "../format";
import { asking, episode, history, sameEpisode } from "../state";
import { clip, count } from "../trace";

/** Episodes of this visit, and the way to open a saved one. */
export function HistoryList() {
  const current = episode.value;
  const past = history.value.filter((each) => current === null || !sameEpisode(each, current));
  return (
    <section class="history no-print" aria-label="Episodes">
      {past.length > 0 && (
        <>
          <h2 class="label">Earlier in this visit</h2>
          <ul class="choices">
            {past.map((each) => (
              <li key={each.id}>
                <button type="button" class="link" disabled={asking.value !== null} onClick={() => showEpisode(each)}>{clip(each.trace.config.question, 200)}</button>
                <span class="small dim">
                  {each.trace.outcome?.ended_by} · {count(each.trace.turns.length, "turn")}
                  {each.endedAt !== null && ` · ${duration(each.endedAt - each.startedAt)}`}
                </span>
                <span class="small dim">{clip(each.trace.config.run.database, 80)}</span>
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
