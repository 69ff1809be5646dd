/** Puts an episode together from the engine's events, so that the page draws the same thing live and from a file. */

import type { Live } from "../state";
import type { ToolOutcome, Trace, Turn } from "../trace";

type Event =
  | { kind: "begins"; trace: Trace }
  | { kind: "turn"; number: number; final: boolean; context: number }
  | { kind: "think" | "text"; text: string; tokens: number }
  | { kind: "turnEnds"; turn: Turn; reused: number }
  | { kind: "toolEnds"; index: number; outcome: ToolOutcome };

/** Milliseconds between two messages to the page while text comes. */
const PACE = 50;

export class Recorder {
  trace: Trace | null = null;
  #live: Live | null = null;
  #traceChanged = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tell: (trace: Trace | null, live: Live | null) => void;
  #begins: (trace: Trace) => void;

  constructor(begins: (trace: Trace) => void, tell: (trace: Trace | null, live: Live | null) => void) {
    this.#begins = begins;
    this.#tell = tell;
  }

  take(json: string): void {
    const event = JSON.parse(json) as Event;
    const now = performance.timeOrigin + performance.now();
    switch (event.kind) {
      case "begins":
        this.trace = event.trace;
        this.#begins(event.trace);
        return;
      case "turn":
        this.#live = { number: event.number, final: event.final, think: "", text: "", tokens: 0, startedAt: now, firstTokenAt: null, contextBefore: event.context };
        this.flush();
        return;
      case "think":
      case "text":
        if (this.#live === null) return;
        this.#live = {
          ...this.#live,
          [event.kind]: this.#live[event.kind] + event.text,
          tokens: event.tokens,
          firstTokenAt: this.#live.firstTokenAt ?? now,
        };
        break;
      case "turnEnds":
        if (this.trace !== null) this.trace = { ...this.trace, turns: [...this.trace.turns, event.turn] };
        this.#live = null;
        this.#traceChanged = true;
        this.flush();
        return;
      case "toolEnds": {
        const turns = this.trace?.turns.slice() ?? [];
        const last = turns.at(-1);
        const call = last?.calls[event.index];
        if (this.trace === null || last === undefined || call === undefined) return;
        const calls = last.calls.slice();
        calls[event.index] = { ...call, status: "ran", result: event.outcome };
        turns[turns.length - 1] = { ...last, calls };
        this.trace = { ...this.trace, turns };
        this.#traceChanged = true;
        this.flush();
        return;
      }
    }
    this.#timer ??= setTimeout(() => this.flush(), PACE);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tell(this.#traceChanged ? this.trace : null, this.#live);
    this.#traceChanged = false;
  }
}
