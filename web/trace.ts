/** The trace of an episode as the agent writes it (docs/trace.md), and what the page reads out of it. */

export type Segment = { markup: string } | { text: string };

export type PromptOrigin =
  | { kind: "file"; location: string; constant: string }
  | { kind: "model_file" }
  | { kind: "given" }
  | { kind: "reconstruction" };

export interface Outcome {
  sql: string | null;
  source: "submit_sql" | "final_turn" | "last_working_query" | null;
  ended_by: EndedBy;
  final_turn: "tool_turns" | "failed_queries" | "token_budget" | null;
  token_budget_hit: boolean;
  message: string | null;
}

export type EndedBy =
  | "submit_sql"
  | "final_turn"
  | "fallback_to_last_working_query"
  | "token_budget"
  | "cancelled"
  | "error";

export interface ToolOutcome {
  text: string;
  is_error: boolean;
  rows?: number | null;
  elapsed_ms?: number | null;
}

export interface Call {
  name: string | null;
  args: Record<string, unknown>;
  raw: string;
  status: "ran" | "rejected" | "submitted" | "not_run" | "pending";
  result: ToolOutcome | null;
  withheld?: boolean;
}

export interface Completion {
  text: string;
  tokens: { appended: number; generated: number };
  stop: "end_of_turn" | "length" | "cancelled";
  started_ms: number;
  ended_ms: number;
}

export interface Turn {
  number: number;
  kind: "tool" | "final";
  append: Segment[];
  max_tokens: number;
  completion: Completion | null;
  think: string;
  calls: Call[];
  no_call?: string | null;
  tool_turns_left: number;
  context_tokens: number;
}

export interface Trace {
  format: string;
  version: number;
  glowworm: string;
  config: {
    question: string;
    evidence: string | null;
    schema: "withheld" | "shown";
    prompt: { system_from: PromptOrigin; user_from: PromptOrigin; segments: Segment[] };
    limits: { tool_turns: number; token_budget: number };
    run: {
      model: string;
      database: string;
      started_at: string | null;
      sampling: Record<string, unknown>;
      notes: Record<string, unknown>;
    };
  };
  measurements: unknown[];
  turns: Turn[];
  checks: { sql: string; error: string | null; elapsed_ms?: number | null }[];
  outcome: Outcome | null;
}

/**
 * Why a file is no trace, for people. `said` is what the reader in the database worker says of it: its own sentences are
 * kept, those of its JSON library are put in other words.
 */
export function whyNoTrace(text: string, said: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const kind = text.startsWith("SQLite format 3") ? "it is a database" : text.trim() === "" ? "the file is empty" : "it is not JSON, or it is cut short";
    return `this is not a Glowworm trace: ${kind}`;
  }
  const format = typeof value === "object" && value !== null && "format" in value ? value.format : undefined;
  if (format !== "glowworm-trace") return "this is not a Glowworm trace: nothing in it says that it is one; a trace comes from Save trace or --save-trace";
  const missing = /missing field `([^`]+)`/.exec(said)?.[1];
  if (missing !== undefined) return `this Glowworm trace is incomplete: the part “${missing}” is missing; save it again`;
  const place = / at line (\d+) column (\d+)/.exec(said);
  if (place !== null) return `this Glowworm trace cannot be read: something in it is not as it should be (line ${place[1]}, column ${place[2]}); save it again, or use the program that wrote it`;
  return said;
}

/** How an episode ended, for people. */
export const ENDED_BY: Record<EndedBy, string> = {
  submit_sql: "the model submitted its answer",
  final_turn: "the exploration limit was reached, and the model answered",
  fallback_to_last_working_query: "the final answer failed, so the last query that worked stands",
  token_budget: "the token budget ran out",
  cancelled: "stopped by you",
  error: "stopped by an error",
};

/** Characters of a text in which table names are looked for: no query and no list of keys is longer. */
const MOST_READ = 100_000;

/** What the model has seen of a table. */
export type Light = "dark" | "named" | "seen" | "used";

const ORDER: Light[] = ["dark", "named", "seen", "used"];

/**
 * What the model has seen of each table: its name in an answer, its columns or rows, or a query that read it.
 * Told from the calls and their answers, so a saved trace lights up just as a live one.
 */
export function lights(tables: string[], turns: Turn[], outcome: Outcome | null): Map<string, Light> {
  const found = new Map<string, Light>(tables.map((name) => [name, "dark"]));
  const byFolded = new Map(tables.map((name) => [name.toLowerCase(), name]));
  const light = (name: string | undefined, to: Light): void => {
    if (name === undefined) return;
    const known = found.has(name) ? name : byFolded.get(name.toLowerCase());
    if (known === undefined) return;
    if (ORDER.indexOf(to) > ORDER.indexOf(found.get(known) ?? "dark")) found.set(known, to);
  };
  const mentioned = (text: string, to: Light): void => {
    for (const word of words(text.slice(0, MOST_READ), byFolded)) light(word, to);
  };
  for (const turn of turns) {
    for (const call of turn.calls) {
      if (call.result === null || call.result.is_error || call.withheld === true) continue;
      const argument = (name: string): string | undefined => {
        const value = call.args[name];
        return typeof value === "string" ? value : undefined;
      };
      switch (call.name) {
        case "list_tables":
          for (const line of call.result.text.slice(0, 10 * MOST_READ).split("\n")) light(line, "named");
          break;
        case "foreign_keys":
        case "join_path":
          mentioned(call.result.text, "named");
          break;
        case "describe_table":
        case "sample_rows":
        case "distinct_values":
          light(argument("table_name"), "seen");
          break;
        case "run_query":
          mentioned(argument("sql") ?? "", "used");
          break;
      }
    }
  }
  if (outcome?.sql != null) mentioned(outcome.sql, "used");
  return found;
}

/** The table names that occur in a text as whole words, quoted or not. String literals do not count. */
function words(text: string, byFolded: Map<string, string>): Set<string> {
  const plain = text.replace(/'(?:[^']|'')*'/g, "''");
  const found = new Set<string>();
  for (const match of plain.matchAll(/"((?:[^"]|"")+)"|`([^`]+)`|\[([^[\]]+)\]|([\p{L}_][\p{L}\p{N}_$]*)/gu)) {
    const name = match[1]?.replaceAll('""', '"') ?? match[2] ?? match[3] ?? match[4] ?? "";
    const known = byFolded.get(name.toLowerCase());
    if (known !== undefined) found.add(known);
  }
  return found;
}

/** One line that says what came of a call. */
export function resultLine(call: Call): string {
  if (call.status === "submitted") return "submitted";
  if (call.status === "not_run") return "not run";
  const result = call.result;
  if (result === null) return call.status === "pending" ? "running" : "no result";
  if (result.is_error) return firstLine(result.text);
  const lines = lineCount(result.text);
  const more = /\n\.\.\. \(showing first \d+ rows?; more rows exist\)$/.test(result.text);
  switch (call.name) {
    case "list_tables":
      return count(lines, "name");
    case "describe_table":
      return count(columnsOf(result.text.slice(0, MOST_READ)), "column");
    case "foreign_keys":
      return result.text === "None" ? "no keys" : count(lines, "key");
    case "join_path":
      return firstLine(result.text);
    case "distinct_values":
      return result.text.endsWith("\n...") ? `first ${count(lines - 1, "value")}` : count(lines, "value");
    case "sample_rows":
    case "run_query": {
      const rows = result.rows ?? Math.max(0, lines - 1 - (more ? 1 : 0));
      if (rows === 1 && !more) return `1 row: ${clip(result.text.slice(result.text.indexOf("\n") + 1).split("\n", 1)[0] ?? "", 60)}`;
      return more ? `first ${count(rows, "row")}, more exist` : count(rows, "row");
    }
    default:
      return firstLine(result.text);
  }
}

function lineCount(text: string): number {
  if (text === "") return 0;
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

/** How many columns a CREATE statement on one line declares: commas at the depth of its own parentheses. */
function columnsOf(sql: string): number {
  const open = sql.indexOf("(");
  if (open < 0) return 0;
  let depth = 0;
  let quote = "";
  let columns = 0;
  let word = "";
  const close = (): void => {
    if (word !== "" && !/^(constraint|primary|foreign|unique|check)\b/i.test(word.trim())) columns += 1;
    word = "";
  };
  for (const letter of sql.slice(open)) {
    if (quote !== "") {
      if (letter === quote) quote = "";
      word += letter;
    } else if (letter === '"' || letter === "'" || letter === "`" || letter === "[") {
      quote = letter === "[" ? "]" : letter;
      word += letter;
    } else if (letter === "(") {
      depth += 1;
      if (depth > 1) word += letter;
    } else if (letter === ")") {
      depth -= 1;
      if (depth === 0) break;
    } else if (letter === "," && depth === 1) {
      close();
    } else {
      word += letter;
    }
  }
  close();
  return columns;
}

/** Characters that fit on the line of a call, with room to spare. */
const ONE_LINE = 400;

/** A call on one line: the tool apart, its arguments in words. */
export function callLine(call: Call): { tool: string; detail: string } {
  const args = call.args;
  const text = (name: string): string => (typeof args[name] === "string" ? args[name].slice(0, ONE_LINE) : "");
  switch (call.name) {
    case "run_query":
    case "submit_sql":
      return { tool: call.name, detail: text("sql").replace(/\s+/g, " ").trim() };
    case "join_path":
      return { tool: call.name, detail: `${text("table_a")} → ${text("table_b")}` };
    case "distinct_values":
      return { tool: call.name, detail: `${text("table_name")}.${text("column_name")}` };
    case null:
      return { tool: "unreadable call", detail: call.raw.slice(0, ONE_LINE).replace(/\s+/g, " ").trim() };
    default:
      return { tool: clip(call.name, 40), detail: text("table_name") };
  }
}

function firstLine(text: string): string {
  return clip(text.slice(0, 400).split("\n")[0] ?? "", 160);
}

export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Tokens in the context after the last finished turn. */
export function tokensUsed(trace: Trace): number {
  return mostTokens(trace.turns);
}

export const mostTokens = (turns: Turn[]): number => turns.reduce((most, turn) => Math.max(most, turn.context_tokens), 0);

/** Characters at the end of a text that must repeat before that is said. */
const REPEATED = 200;
/** Characters of the longest phrase whose repetition is noticed. */
const LONGEST_PHRASE = 60;

/** Whether a text ends in one phrase over and over: a model that does that seldom finds its way out. */
export function repeats(text: string): boolean {
  const end = text.slice(-(REPEATED + LONGEST_PHRASE));
  if (end.length < REPEATED + LONGEST_PHRASE) return false;
  for (let period = 1; period <= LONGEST_PHRASE; period += 1) {
    let at = end.length - 1;
    while (at >= end.length - REPEATED && end[at] === end[at - period]) at -= 1;
    if (at < end.length - REPEATED) return true;
  }
  return false;
}
