/** Line breaks for a query, for reading. Nothing but white space is changed, and none inside strings or comments. */

/** Words that begin a line where they stand outside of parentheses. Longer ones first. */
const BREAKS = [
  "LEFT OUTER JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "INNER JOIN",
  "CROSS JOIN", "NATURAL JOIN", "JOIN", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "GROUP BY", "ORDER BY", "SELECT",
  "FROM", "WHERE", "HAVING", "LIMIT", "WINDOW",
];

const TOKEN = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|\[[^\]]*\]?|[\p{L}\p{N}_$]+|\s+|[\s\S]/gu;

const WORDS = BREAKS.map((words) => ({ words, begins: new RegExp(`^${words}\\b`) }));
const FIRST = new Set(BREAKS.map((words) => words.split(" ", 1)[0] ?? ""));
const JOINS = /^(LEFT|RIGHT|FULL|INNER|CROSS|NATURAL|OUTER)$/i;

/** Characters of a query that are laid out at most: one of more was not written to be read. */
const MOST = 50_000;
/** Characters after which a line is broken at the next white space or comma, wherever that is. */
const LINE = 400;

export function formatSql(sql: string): string {
  const text = sql.trim();
  // Somebody laid it out already.
  if (text.includes("\n")) return text;
  // What has no white space to break at stays one line; the editor shows it cut.
  if (text.length > MOST) return text;
  const tokens = text.match(TOKEN) ?? [];
  const lines: string[] = [];
  let line = "";
  let depth = 0;
  let last = "";
  const newLine = (): void => {
    lines.push(line.trimEnd());
    line = "";
  };
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    if (token === "(") depth += 1;
    if (token === ")") depth = Math.max(0, depth - 1);
    if (/^\s+$/.test(token)) {
      if (line.length > LINE) newLine();
      else if (line !== "") line += " ";
      continue;
    }
    if (depth === 0 && line.trim() !== "" && token.length < 10 && FIRST.has(token.toUpperCase())) {
      const rest = tokens.slice(at, at + 5).join("").slice(0, 40).replace(/\s+/g, " ").toUpperCase();
      // The second word of `LEFT JOIN` does not break once more.
      if (!JOINS.test(last) && WORDS.some(({ words, begins }) => rest === words || begins.test(rest))) newLine();
    }
    line += token;
    if (token === "," && line.length > LINE) newLine();
    last = token;
  }
  newLine();
  const laid = lines.join("\n");
  return laid.length > 60 ? laid : lines.join(" ");
}

/** Characters of one line that an editor can lay out without standing still. */
const LONGEST_LINE = 10_000;
/** Characters that are coloured at most. */
export const MOST_COLOURED = 100_000;
const MOST_EDITED = 1_000_000;
const CUT = 2000;

/** Whether a query is too much for the editor: then its beginning is shown, and it runs and is copied in full. */
export function tooLongToEdit(sql: string): boolean {
  if (sql.length <= LONGEST_LINE) return false;
  if (sql.length > MOST_EDITED) return true;
  for (let from = 0; from < sql.length; ) {
    const end = sql.indexOf("\n", from);
    const to = end < 0 ? sql.length : end;
    if (to - from > LONGEST_LINE) return true;
    from = to + 1;
  }
  return false;
}

export const cutSql = (sql: string): string => `${sql.slice(0, CUT)} …`;
