// The page's functions that need no page: what people paste, what a server answers, what a query looks like.

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { rolldown } from "rolldown";
import { root } from "./support.mjs";

/** A module of the page, compiled and imported here. */
async function load(path) {
  const bundle = await rolldown({ input: join(root, path), platform: "node" });
  const { output } = await bundle.generate({ format: "esm" });
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}

let hub;
let sql;
let trace;
before(async () => {
  [hub, sql, trace] = await Promise.all(["web/hugging-face.ts", "web/sql-format.ts", "web/trace.ts"].map(load));
});

describe("a place on Hugging Face", () => {
  const place = (repository, more = {}) => ({ repository, revision: "main", file: null, quantisation: null, ...more });
  const good = [
    ["o/n", place("o/n")],
    ["o/n/", place("o/n")],
    ["o/n:Q4_K_M", place("o/n", { quantisation: "Q4_K_M" })],
    ["hf:o/n:Q4_K_M", place("o/n", { quantisation: "Q4_K_M" })],
    ["-hf o/n:Q4_K_M", place("o/n", { quantisation: "Q4_K_M" })],
    ["--hf-repo o/n", place("o/n")],
    ["hf://o/n:Q4_K_M", place("o/n", { quantisation: "Q4_K_M" })],
    ["hf://o/n/a/b.gguf", place("o/n", { file: "a/b.gguf" })],
    ["o/n/b.gguf", place("o/n", { file: "b.gguf" })],
    ["https://huggingface.co/o/n", place("o/n")],
    ["huggingface.co/o/n/tree/dev", place("o/n", { revision: "dev" })],
    ["https://hf.co/o/n/resolve/main/b%20c.gguf?download=true", place("o/n", { file: "b c.gguf" })],
  ];
  for (const [text, expected] of good) test(text, () => assert.deepEqual(hub.parsePlace(text), expected));
  const bad = [
    ["nonsense", /is not a repository/],
    ["o/n:", /stands no quantisation/],
    ["o/n:*(", /stands no quantisation/],
    ["a/b/../../c", /is not a repository/],
    ["https://", /is not a repository/],
    ["https://%zz", /is not a repository/],
    ["https://huggingface.co/%zz/%e0%a4%a", /is not a repository/],
    ["hf://a/b/%E0%A4%A.gguf", /is not a repository/],
    ["https://huggingface.co/datasets/a/b", /address of a dataset/],
    ["https://huggingface.co/spaces/a/b", /address of a space/],
    ["datasets/a/b", /address of a dataset/],
    ["https://ollama.com/library/qwen", /ollama\.com is not huggingface\.co/],
  ];
  for (const [text, said] of bad) test(`${text} is refused in words`, () => assert.throws(() => hub.parsePlace(text), said));
});

test("a listing is taken apart without trust in who sent it", () => {
  for (const text of ["<html>captive portal", "{}", "null", '"x"', "3", ""]) assert.throws(() => hub.readListing(text), /not a list of files/, text);
  const oid = "a".repeat(64);
  const odd = [null, 3, "x", {}, { type: "file" }, { type: "directory", path: "d" }, { type: "file", path: "a.gguf", size: -5 }, { type: "file", path: "b.gguf", size: "12" }, { type: "file", path: "c.gguf", lfs: null }, { type: "file", path: "d.gguf", size: 3, lfs: { oid, size: 12 } }, { type: "file", path: "e.gguf", size: 1.5 }];
  assert.deepEqual(hub.readListing(JSON.stringify(odd)), [
    { path: "a.gguf", size: null, sha256: null },
    { path: "b.gguf", size: null, sha256: null },
    { path: "c.gguf", size: null, sha256: null },
    { path: "d.gguf", size: 12, sha256: oid },
    { path: "e.gguf", size: null, sha256: null },
  ]);
});

describe("laying out a query", () => {
  const flat = (text) => text.replace(/\s+/g, "");
  test("changes white space only, and none inside strings", () => {
    for (const text of ["SELECT 'a  b'", "SELECT  a ,  'x  FROM y' FROM  t WHERE b = 'it''s  FROM'", `SELECT "a  b" FROM t LEFT  JOIN u ON t.a = u.a -- a  comment  FROM x`, "SELECT [a  b], `c  d` /*  FROM  */ FROM t"]) {
      const laid = sql.formatSql(text);
      assert.equal(flat(laid), flat(text));
      for (const [literal] of text.matchAll(/'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^\]]*\]/g)) assert.ok(laid.includes(literal), `${literal} in ${laid}`);
    }
  });
  test("begins lines with the clauses", () => {
    assert.equal(
      sql.formatSql("SELECT a.Name FROM Artist a LEFT OUTER JOIN Album b ON a.x = b.x WHERE a.y IN (SELECT y FROM z WHERE 1) GROUP BY a.Name"),
      "SELECT a.Name\nFROM Artist a\nLEFT OUTER JOIN Album b ON a.x = b.x\nWHERE a.y IN (SELECT y FROM z WHERE 1)\nGROUP BY a.Name",
    );
    assert.equal(sql.formatSql("SELECT 1  FROM t"), "SELECT 1 FROM t");
  });
  test("takes no longer than its length, and leaves no long lines where they can be broken", () => {
    const long = `SELECT a FROM t WHERE ${Array.from({ length: 4000 }, (_, i) => `a = ${i}`).join(" OR ")}`;
    const started = performance.now();
    const laid = sql.formatSql(long);
    assert.ok(performance.now() - started < 1000);
    assert.equal(flat(laid), flat(long));
    assert.ok(Math.max(...laid.split("\n").map((line) => line.length)) < 600);
    const huge = `SELECT '${"x".repeat(600_000)}'`;
    assert.equal(sql.formatSql(huge), huge);
  });
  test("a line or a text that would hold the editor up is known", () => {
    assert.equal(sql.tooLongToEdit("SELECT 1\n".repeat(20_000)), false);
    assert.equal(sql.tooLongToEdit("SELECT 1\n".repeat(200_000)), true);
    assert.equal(sql.tooLongToEdit(`SELECT 1\n${"x".repeat(20_000)}\n`), true);
  });
});

test("repetition is told from text that only has much in common", () => {
  for (const text of ["!".repeat(300), " ".repeat(400), "NOT".repeat(100), `well ${"word ".repeat(80)}`, "I think. I do not know. ".repeat(15)]) assert.equal(trace.repeats(text), true, text.slice(0, 20));
  const counting = Array.from({ length: 80 }, (_, i) => `row ${i}`).join(", ");
  for (const text of ["", "!!!!", counting, "The Album table has the columns AlbumId, Title and ArtistId, and the Artist table has ArtistId and Name; an artist's albums are counted by a join over ArtistId, grouped by artist, in descending order, and the first is taken. That is one query."]) assert.equal(trace.repeats(text), false, text.slice(0, 20));
});

test("why a file is no trace is said in plain words", () => {
  const whole = '{"format": "glowworm-trace"}';
  const cases = [
    ["SQLite format 3\0", "expected value at line 1 column 1", /not a Glowworm trace: it is a database/],
    ["", "EOF while parsing a value at line 1 column 0", /not a Glowworm trace: the file is empty/],
    ["hello", "expected value", /not a Glowworm trace: it is not JSON/],
    ["[1, 2]", "invalid type: sequence", /not a Glowworm trace: nothing in it says/],
    ["null", "x", /not a Glowworm trace/],
    ['{"format": "nothing"}', 'its "format" must be', /not a Glowworm trace/],
    [whole, "reading a trace as JSON: missing field `config` at line 1 column 27", /incomplete: the part “config” is missing/],
    [whole, "reading a trace as JSON: invalid type: string \"x\", expected u32 at line 1 column 27", /line 1, column 27/],
    [whole, "reading a trace: it is of version 9, and this program reads version 1", /version 9/],
  ];
  for (const [text, said, expected] of cases) assert.match(trace.whyNoTrace(text, said), expected, text);
});
