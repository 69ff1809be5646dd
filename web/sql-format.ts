/** Line breaks for a query, for reading. Nothing but white space is changed, and none inside strings or comments. */

/** Words that begin a line where they stand outside of parentheses. Longer ones first. */
const BREAKS = [
  "LEFT OUTER JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "INNER JOIN",
  "CROSS JOIN", "NATURAL JOIN", "JOIN", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "GROUP BY", "ORDER BY", "SELECT",
  "FROM", "WHERE", "HAVING", "LIMIT", "WINDOW",
];

const TOKEN = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|\[[^\]]*\]?|[\p{L}\p{N}_$]+|\s+|[\s\S]/gu;

export function formatSql(sql: string): string {
  const text = sql.trim();
  // Somebody laid it out already.
  if (text.includes("\n")) return text;
  const tokens = text.match(TOKEN) ?? [];
  let out = "";
  let depth = 0;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    if (token === "(") depth += 1;
    if (token === ")") depth = Math.max(0, depth - 1);
    if (/^\s+$/.test(token)) {
      if (!out.endsWith("\n")) out += " ";
      continue;
    }
    if (depth === 0 && out !== "" && /^\p{L}/u.test(token)) {
      const rest = tokens.slice(at, at + 5).join("").replace(/\s+/g, " ").toUpperCase();
      const word = BREAKS.find((candidate) => rest === candidate || new RegExp(`^${candidate}\\b`).test(rest));
      // The second word of `LEFT JOIN` does not break once more.
      if (word !== undefined && !/\b(LEFT|RIGHT|FULL|INNER|CROSS|NATURAL|OUTER)\s$/i.test(out)) {
        out = `${out.trimEnd()}\n`;
      }
    }
    out += token;
  }
  return out.length > 60 ? out : text.replace(/\s+/g, (space) => (space.includes("\n") ? space : " "));
}
