import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration, integer, rate } from "../format";
import { play, saveTrace, stopPlaying } from "../actions";
import { adapterState, asking, episode, modelState, played, shownTurns, type Episode, type Live } from "../state";
import { callLine, clip, count, ENDED_BY, mostTokens, resultLine, tokensUsed, type Call, type Turn } from "../trace";
import { ErrorBox } from "./error-box";
import { Folded, PIECE } from "./folded";
import { follow } from "../scroll";
import { now } from "../clock";

/** Turns, and calls of a turn, that are drawn at once. An episode has a dozen; a file may say that it had a million. */
const DRAWN = 60;

export function EpisodeView() {
  const current = episode.value;
  const whole = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const drawn = useSignal(DRAWN);
  const live = current?.live ?? null;
  const running = current?.running === true || played.value !== null;
  useEffect(() => {
    if (running) follow(end.current);
  }, [current, live?.text.length, live?.think.length, played.value]);
  useEffect(() => {
    drawn.value = DRAWN;
    if (current !== null && !running) follow(whole.current);
  }, [current?.id]);
  if (current === null) return null;
  const { trace } = current;
  const outcome = played.value === null ? trace.outcome : null;
  const turns = shownTurns.value;
  return (
    <section class="episode" aria-label="Episode" key={current.id} ref={whole}>
      <div class="episode-head">
        <h2>{clip(trace.config.question, 1000)}</h2>
        <div class="row">
          <PromptBadge kind={trace.config.prompt.system_from.kind} />
          {current.origin === "file" && <Replay current={current} />}
          <button type="button" class="button" data-testid="trace-save" disabled={current.running} onClick={() => saveTrace(current)}>Save trace</button>
        </div>
      </div>
      {current.origin === "file" && <Provenance current={current} />}
      {trace.config.evidence != null && trace.config.evidence !== "" && <div class="dim"><span>Note for the model:</span> <Folded text={trace.config.evidence} /></div>}
      {turns.slice(0, drawn.value).map((turn) => <Round key={turn.number} turn={turn} />)}
      {turns.length > drawn.value && (
        <button type="button" class="link" onClick={() => (drawn.value += 5 * DRAWN)}>
          {integer(drawn.value)} of {count(turns.length, "turn")} are shown; show more
        </button>
      )}
      {live !== null && <LiveRound live={live} />}
      <Meter current={current} />
      {outcome !== null && (
        <div class="ended">
          <span>
            <span class="dim">ended by </span>
            <strong data-testid="ended-by">{outcome.ended_by}</strong>
            <span class="dim">: {ENDED_BY[outcome.ended_by]}</span>
          </span>
          {outcome.token_budget_hit && <span class="dim">The token budget changed its course.</span>}
        </div>
      )}
      {outcome?.message != null && outcome.message !== "" && outcome.ended_by === "error" && (
        <ErrorBox text={clip(outcome.message, 2000)}>
          <p class="small">What the model wrote before is kept above.</p>
        </ErrorBox>
      )}
      {outcome?.message != null && outcome.message !== "" && outcome.ended_by !== "error" && <p class="dim">{clip(outcome.message, 2000)}</p>}
      <div ref={end} />
    </section>
  );
}

function PromptBadge({ kind }: { kind: string }) {
  const training = kind !== "reconstruction";
  return (
    <span
      class={training ? "badge good" : "badge"}
      data-testid="prompt-badge"
      title={training ? "The words that the model was trained on." : "Our own wording: the words that the model was trained on were not to be had. Answers may be worse."}
    >
      {training ? "training prompt" : "reconstructed"}
    </span>
  );
}

function Provenance({ current }: { current: Episode }) {
  const { run } = current.trace.config;
  const when = run.started_at === null ? "" : `, ${clip(run.started_at, 40).replace("T", " ").replace(/:\d\d(\.\d+)?Z$/, " UTC")}`;
  return (
    <div class="small dim">
      From a file: model {clip(run.model || "not named", 200)}, database {clip(run.database || "not named", 200)}{when}.{" "}
      {current.check === null ? (
        "Every step follows by the rules of the protocol."
      ) : (
        <details>
          <summary>It does not replay as it was recorded.</summary>
          <Folded class="opened" text={current.check} />
        </details>
      )}
    </div>
  );
}

function Replay({ current }: { current: Episode }) {
  const turns = current.trace.turns.length;
  if (turns === 0) return null;
  return played.value === null ? (
    <button type="button" class="button" onClick={() => play(current)}>Play</button>
  ) : (
    <button type="button" class="button" onClick={stopPlaying}>Show all ({played.value} of {turns})</button>
  );
}

function Round({ turn }: { turn: Turn }) {
  const completion = turn.completion;
  const cost = completion === null ? null : `${duration(completion.ended_ms - completion.started_ms)} · ${count(completion.tokens.generated, "token")}`;
  const rest = turn.kind === "final" || turn.calls.length === 0 ? afterThink(completion?.text ?? "", turn.think) : "";
  return (
    <div class="round" data-testid="round" role="group" aria-label={`Turn ${turn.number}`}>
      <span class="number" aria-hidden="true">{turn.number}</span>
      <div>
        {(turn.think.trim() !== "" || cost !== null) && <Think text={turn.think.trim()} cost={cost} />}
        {turn.calls.length > 0 && <Calls calls={turn.calls} />}
        {rest !== "" && <Folded class="raw" text={rest} />}
        {turn.no_call != null && <p class="dim small">No call was found in this turn.</p>}
        {turn.kind === "final" && turn.calls.length === 0 && <p class="small dim">Final turn: the model had to answer.</p>}
      </div>
    </div>
  );
}

/** What a turn says after its thinking; nothing where the thinking never ended. */
function afterThink(text: string, think: string): string {
  const at = text.indexOf("</think>");
  if (at < 0) return think.trim() === "" ? text.trim() : "";
  return text.slice(at + "</think>".length).trim();
}

function Think({ text, cost }: { text: string; cost: string | null }) {
  const open = useSignal(false);
  const shown = useSignal(PIECE);
  const long = text.length > 200 || text.split("\n", 3).length > 2;
  const drawn = long && !open.value ? text.slice(0, 600) : text.slice(0, shown.value);
  return (
    <div class={open.value || !long ? "think" : "think closed"}>
      <div>
        <div class="text" data-testid="think">{drawn}</div>
        {open.value && text.length > shown.value && (
          <button type="button" class="link" onClick={() => (shown.value += Math.max(PIECE, shown.value))}>
            {integer(shown.value)} of {integer(text.length)} characters are shown; show more
          </button>
        )}
        {long && (
          <button type="button" class="toggle" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
            {open.value ? "less" : "all of it"}
          </button>
        )}
      </div>
      {cost !== null && <span class="cost">{cost}</span>}
    </div>
  );
}

function Calls({ calls }: { calls: Call[] }) {
  const open = useSignal<ReadonlySet<number>>(new Set());
  const toggle = (index: number): void => {
    const next = new Set(open.value);
    if (!next.delete(index)) next.add(index);
    open.value = next;
  };
  return (
    <ul class="calls">
      {calls.slice(0, DRAWN).map((call, index) => {
        const { tool, detail } = callLine(call);
        const failed = call.result?.is_error === true || call.status === "rejected";
        const opened = open.value.has(index);
        // Opened, it has its SQL below, in full.
        const isQuery = call.name === "run_query" || call.name === "submit_sql";
        const running = call.status === "pending" && call.result === null;
        return (
          <li key={index}>
            <button type="button" class={failed ? "call failed" : "call"} data-testid="tool-call" aria-expanded={opened} onClick={() => toggle(index)}>
              <span class="tool">{tool}</span>
              <span class="what" dir="auto">{opened && isQuery ? "" : detail}</span>
              <span class="gave" data-testid={opened ? undefined : "tool-result"}>
                {failed && <span class="visually-hidden">failed: </span>}
                {resultLine(call)}
                {running && <span class="caret" />}
              </span>
            </button>
            {opened && (
              <div class="opened" tabIndex={0} role="region" aria-label={`Result of ${tool}`}>
                {(isQuery || call.name === null) && <Folded text={call.name === null ? call.raw : String(call.args["sql"] ?? "")} />}
                <Folded testid="tool-result" text={call.result?.text ?? resultLine(call)} />
              </div>
            )}
          </li>
        );
      })}
      {calls.length > DRAWN && <li class="small dim">and {count(calls.length - DRAWN, "more call")}, which are in the saved trace</li>}
    </ul>
  );
}

function LiveRound({ live }: { live: Live }) {
  const reading = live.firstTokenAt === null;
  return (
    <div class="round now" data-testid="round" role="group" aria-label={`Turn ${live.number}, being written`}>
      <span class="number" aria-hidden="true">{live.number}</span>
      <div>
        <div class="think">
          <div class={live.text === "" && !reading ? "text caret" : "text"} data-testid="think">
            {reading ? <span class="caret">{live.contextBefore === 0 ? "reading the question" : `reading what is new after ${integer(live.contextBefore)} tokens`}</span> : live.think.slice(-PIECE).trim()}
          </div>
          <span class="cost">{count(live.tokens, "token")}</span>
        </div>
        {live.text.trim() !== "" && <pre class="raw caret">{live.text.slice(-PIECE).trim()}</pre>}
      </div>
    </div>
  );
}

/** A limit of more turns is told in numbers only. */
const MOST_DOTS = 24;

function Meter({ current }: { current: Episode }) {
  const { limits } = current.trace.config;
  const turns = shownTurns.value;
  const live = current.live;
  const used = (live?.tokens ?? 0) + (turns === current.trace.turns ? tokensUsed(current.trace) : mostTokens(turns));
  const toolTurns = Math.min(limits.tool_turns, turns.filter((turn) => turn.kind === "tool").length + (live !== null && !live.final ? 1 : 0));
  let tokens = 0;
  let spent = 0;
  for (const turn of turns) {
    if (turn.completion === null) continue;
    tokens += turn.completion.tokens.generated;
    spent += turn.completion.ended_ms - turn.completion.started_ms;
  }
  const last = turns.at(-1)?.completion;
  const begun = turns[0]?.completion;
  const seconds =
    current.running ? now.value - current.startedAt
    : current.endedAt !== null ? current.endedAt - current.startedAt
    : begun != null && last != null ? last.ended_ms - begun.started_ms
    : null;
  const first = live?.firstTokenAt ?? null;
  const speed = live !== null && first !== null ? rate(live.tokens, now.value - first) : last != null ? rate(tokens, spent) : "–";
  return (
    <div class="meter" data-testid="budget">
      <span class="turns" aria-hidden="true">
        {limits.tool_turns <= MOST_DOTS && Array.from({ length: limits.tool_turns }, (_, index) => <i key={index} class={index < toolTurns ? "on" : ""} />)}
      </span>
      <span class="bar" role="img" aria-label={`${Math.round((100 * used) / limits.token_budget)}% of the token budget used`}>
        <i style={{ width: `${Math.min(100, (100 * used) / limits.token_budget)}%` }} />
      </span>
      <span>
        {toolTurns} of {count(limits.tool_turns, "turn")} · {integer(used)} of {integer(limits.token_budget)} tokens · {speed}
        {seconds !== null && ` · ${duration(seconds)}`}
      </span>
    </div>
  );
}

/** For tests and screen readers: what the page is doing. */
export function statusWords(): string {
  const current = episode.value;
  const model = modelState.value;
  if (asking.value?.stopping === true) return "stopping";
  if (current?.running === true) return `turn ${current.live?.number ?? current.trace.turns.length}`;
  if (asking.value !== null && model.kind !== "loading") return "asking";
  if (model.kind === "loading") return "loading the model";
  if (current?.trace.outcome != null) return `answered: ${current.trace.outcome.ended_by}`;
  if (model.kind === "ready") return "ready";
  if (adapterState.value.kind === "missing") return "no WebGPU: browse, run SQL, open a trace";
  return "no model";
}
