// Databases without a model: every kind of file, every kind of value, and queries that do not end.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import initSqlJs from "sql.js";
import { example, longTasks, openPage, runSql, startServer } from "./support.mjs";

let server;
let folder;
let SQL;

before(async () => {
  server = await startServer();
  folder = mkdtempSync(join(tmpdir(), "glowworm-"));
  SQL = await initSqlJs();
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A page without WebGPU: nothing here needs a model, and none is loaded. */
const open = () => openPage({ address: server.address, webgpu: false });

function write(name, bytes) {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

function make(name, ...statements) {
  const database = new SQL.Database();
  for (const statement of statements) database.run(statement);
  const path = write(name, database.export());
  database.close();
  return path;
}

async function openDatabase(page, path) {
  await page.getByTestId("database-file").setInputFiles(path);
  await isOpen(page, path.split("/").at(-1));
}

/** The sample opens by itself; a file of its name could not be told from it. */
const sample = (page) => isOpen(page, "chinook.sqlite");

async function isOpen(page, name) {
  await page.waitForFunction(
    (wanted) => document.querySelector('[data-testid="database-name"]')?.textContent === wanted && document.querySelector('[data-testid="table-list"]') !== null,
    name,
  );
}

/** The text of the cells of the result, a row an array. */
async function cells(page) {
  await page.locator('[data-testid="result-table"][aria-busy="false"]').waitFor();
  return page.getByTestId("result-table").evaluate((table) =>
    [...table.querySelectorAll("tbody tr:not([aria-hidden])")].map((row) => [...row.children].map((cell) => cell.textContent)),
  );
}

describe("files", () => {
  const chinook = readFileSync(example("chinook.sqlite"));
  const changed = (at, byte) => {
    const bytes = Buffer.from(chinook);
    bytes[at] = byte;
    return bytes;
  };
  let seed = 1;
  const noise = Buffer.from(Array.from({ length: 8192 }, () => (seed = (seed * 1103515245 + 12345) % 2147483648) >> 16 & 255));
  const cases = [
    ["empty.db", Buffer.alloc(0), /the file is empty \(0 bytes\)/],
    ["dump.db", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(x);\n", /this is SQL text, not a database/],
    ["packed.db", execFileSync("gzip", ["-c", example("chinook.sqlite")]), /compressed \(gzip\)/],
    ["noise.db", noise, /encrypted or damaged/],
    ["header.db", chinook.subarray(0, 100), /only 100 bytes/],
    ["half.db", chinook.subarray(0, chinook.length / 2), /incomplete: 503808 of 1007616 bytes/],
    ["newer.db", changed(19, 9), /needs a newer SQLite/],
    ["page.db", "<!DOCTYPE html><title>404</title>", /this is a web page/],
    ["table.csv", "id,name\n1,Anna\n", /this is a text file/],
  ];
  test("each that is no database gets its own sentence, and the open one stays", async () => {
    const { browser, page, id, problems } = await open();
    await page.waitForFunction(() => document.querySelector('[data-testid="database-name"]')?.textContent === "chinook.sqlite");
    await id("table-list").waitFor();
    for (const [name, bytes, sentence] of cases) {
      await id("database-file").setInputFiles(write(name, bytes));
      const error = page.getByTestId("error").filter({ hasText: name });
      await error.waitFor();
      assert.match(await error.textContent(), sentence, name);
      assert.match(await error.textContent(), /chinook\.sqlite stays open/);
    }
    await runSql(page, "SELECT count(*) FROM Album");
    assert.deepEqual(await cells(page), [["347"]]);
    assert.deepEqual(problems, []);
    await browser.close();
  });

  test("other encodings and page sizes open; a file of 2.2 GB is refused before it is read", async () => {
    const { browser, page, id } = await open();
    for (const [name, pragma] of [["utf16.db", "PRAGMA encoding = 'UTF-16le'"], ["small-pages.db", "PRAGMA page_size = 512"], ["large-pages.db", "PRAGMA page_size = 65536"]]) {
      await openDatabase(page, make(name, pragma, "CREATE TABLE t(x)", "INSERT INTO t VALUES('grün 漢字 🐛')"));
      await runSql(page, "SELECT x FROM t");
      assert.deepEqual(await cells(page), [["grün 漢字 🐛"]], name);
    }
    // Only its length is that large: the file has a hole.
    const large = write("large.db", chinook);
    truncateSync(large, 2_200_000_000);
    await id("database-file").setInputFiles(large);
    const error = page.getByTestId("error").filter({ hasText: "large.db" });
    await error.waitFor();
    assert.match(await error.textContent(), /too large to open here: 2\.20 GB/);
    assert.match(await error.textContent(), /large-pages\.db stays open/);
    await browser.close();
  });

  test("a damaged page is told of where it is met, and the rest is readable", async () => {
    const bytes = Buffer.from(chinook);
    // The schema is in the first pages; what follows is in the large tables.
    bytes.fill(0xaa, bytes.length / 4);
    const { browser, page, id } = await open();
    await openDatabase(page, write("damaged.db", bytes));
    await runSql(page, "SELECT max(length(Name)), max(Composer) FROM Track");
    await page.getByTestId("error").filter({ hasText: /malformed/ }).waitFor();
    await runSql(page, "SELECT count(*) FROM sqlite_master");
    assert.equal((await cells(page)).length, 1);
    assert.equal(await id("database-name").textContent(), "damaged.db");
    await browser.close();
  });

  test("a write-ahead log is read, and its absence said", async () => {
    const path = join(folder, "live.db");
    // Python keeps the connection, so that the log is not merged into the file.
    execFileSync("python3", ["-c", `
import sqlite3, shutil, sys
db = sqlite3.connect(sys.argv[1]); db.execute("PRAGMA journal_mode=WAL"); db.execute("CREATE TABLE t(x)"); db.execute("INSERT INTO t VALUES(1)"); db.commit()
db.execute("PRAGMA wal_checkpoint(TRUNCATE)"); db.execute("PRAGMA wal_autocheckpoint=0")
for i in range(99): db.execute("INSERT INTO t VALUES(?)", (i,)); db.commit()
shutil.copy(sys.argv[1], sys.argv[1] + "2"); shutil.copy(sys.argv[1] + "-wal", sys.argv[1] + "2-wal")
`, path]);
    const { browser, page, id } = await open();
    await openDatabase(page, `${path}2`);
    await page.getByText("no -wal file came with it").waitFor();
    await runSql(page, "SELECT count(*) FROM t");
    assert.deepEqual(await cells(page), [["1"]]);
    await id("database-file").setInputFiles([`${path}2`, `${path}2-wal`]);
    await page.getByText(/pages? with the latest rows comes? from it/).waitFor();
    await runSql(page, "SELECT count(*) FROM t");
    assert.deepEqual(await cells(page), [["100"]]);
    // The log of another database is not applied to this one.
    const file = (name, from) => ({ name, mimeType: "application/octet-stream", buffer: readFileSync(from) });
    await id("database-file").setInputFiles([file("this.db", `${path}2`), file("that.db-wal", `${path}2-wal`)]);
    await page.getByTestId("error").filter({ hasText: /that\.db-wal does not belong to this\.db/ }).waitFor();
    assert.equal(await id("database-name").textContent(), "live.db2");
    await browser.close();
  });

  test("are told by what is in them before their names are", async () => {
    const { browser, page, id } = await open();
    const file = (name, from) => ({ name, mimeType: "application/octet-stream", buffer: readFileSync(from) });
    await id("database-file").setInputFiles(file("export.json", example("northwind.sqlite")));
    await page.waitForFunction(() => document.querySelector('[data-testid="database-name"]').textContent === "export.json");
    await id("database-file").setInputFiles([file("a.sqlite", example("northwind.sqlite")), file("b.json", example("questions.json"))]);
    await page.getByTestId("error").filter({ hasText: /one file at a time/ }).waitFor();
    await browser.close();
  });
});

describe("values", () => {
  test("are shown as they are", async () => {
    const { browser, page, id } = await open();
    const png = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082";
    await openDatabase(page, make("values.db", "CREATE TABLE v(a, b)"));
    await runSql(page, `SELECT 9223372036854775807, -9223372036854775808, 9007199254740993, 1.0, 1, NULL, '', 'NULL', 1e400, -0.0, 1e23, x'${png}', '<script>alert(1)</script>'`);
    const [row] = await cells(page);
    assert.deepEqual(row.slice(0, 11), ["9223372036854775807", "-9223372036854775808", "9007199254740993", "1.0", "1", "NULL", "''", "NULL", "Inf", "-0.0", "1e+23"]);
    assert.match(row[11], /^PNG · 6\d B$/);
    assert.equal(row[12], "<script>alert(1)</script>");
    const classes = await id("result-table").evaluate((table) => [...table.querySelectorAll("tbody tr td")].map((cell) => cell.className));
    assert.notEqual(classes[5], classes[7], "NULL looks like the text 'NULL'");
    await page.getByRole("button", { name: /^PNG/ }).click();
    await page.waitForFunction(() => document.querySelector(".viewer img")?.naturalWidth === 1);
    await browser.close();
  });

  test("that are too long for a string are refused and not shown as empty", async () => {
    const { browser, page, id } = await open();
    await sample(page);
    await runSql(page, "SELECT hex(zeroblob(270000000)) AS long, '' AS empty");
    await page.locator(".answer").getByTestId("error").waitFor({ timeout: 60_000 });
    assert.equal(await id("result-table").count(), 0);
    await runSql(page, "SELECT '' AS empty");
    assert.deepEqual(await cells(page), [["''"]]);
    await browser.close();
  });

  test("of odd tables and columns are reached", async () => {
    const { browser, page, id } = await open();
    await openDatabase(page, make("odd.db", `CREATE TABLE "select"("from" INTEGER PRIMARY KEY, "a b" TEXT, "x""y" REAL)`, `INSERT INTO "select" VALUES(1, 'é', 2)`, `CREATE TABLE "semi;colon"(r REFERENCES "select")`, `CREATE VIEW broken AS SELECT * FROM gone`));
    await id("table-list").getByText("select", { exact: true }).click();
    await page.getByText('x"y').waitFor();
    await page.getByRole("button", { name: "Show rows" }).click();
    assert.deepEqual(await cells(page), [["1", "é", "2.0"]]);
    await id("table-list").getByText("semi;colon").click();
    await page.getByText("r → select.from").waitFor();
    await id("table-list").getByText("broken").click();
    await page.getByText(/Not readable: .*gone/).waitFor();
    await browser.close();
  });

  test("statements that write, and two at once, are refused", async () => {
    const { browser, page } = await open();
    await page.getByTestId("table-list").waitFor();
    for (const [text, said] of [["DELETE FROM Album", /read-only: DELETE/], ["SELECT 1; SELECT 2", /one statement at a time/], ["PRAGMA query_only=0", /PRAGMA query_only is not allowed/]]) {
      await runSql(page, text);
      await page.getByTestId("error").filter({ hasText: said }).waitFor();
    }
    await runSql(page, "SELECT count(*) FROM Album");
    assert.deepEqual(await cells(page), [["347"]]);
    await browser.close();
  });
});

describe("size", () => {
  test("100,000 rows scroll, sort and are saved; the page never stands still", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    await id("final-sql").waitFor();
    const long = await longTasks(page, async () => {
      await runSql(page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, 'row ' || i AS name, i * 0.5 AS half, NULL AS missing FROM n");
      await page.getByText(/^100,000 rows · /).waitFor();
      const grid = page.locator(".grid");
      await grid.evaluate((box) => (box.scrollTop = box.scrollHeight));
      await page.getByText("row 100000", { exact: true }).waitFor();
      assert.ok((await cells(page)).length < 150, "all rows were drawn");
      await page.getByRole("button", { name: "i", exact: true }).click();
      await page.getByRole("button", { name: /^i ↑/ }).click();
      await page.getByText("row 99999", { exact: true }).waitFor();
    });
    assert.deepEqual(long, []);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    const csv = readFileSync(await download.path(), "utf8").split("\r\n");
    assert.equal(csv.length, 100_002);
    assert.equal(csv[0], "i,name,half,missing");
    assert.equal(csv[1], "100000,row 100000,50000.0,");
    await browser.close();
  });

  test("a text of 20 MB is cut on the screen and there in full", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    await id("final-sql").waitFor();
    const long = await longTasks(page, async () => {
      await runSql(page, "SELECT 1 AS a, printf('%.20000000c', 'x') AS big");
      await page.getByRole("button", { name: /20,000,000 characters/ }).click();
      await page.getByText("20,000 of 20,000,000 characters are shown").waitFor();
    });
    assert.deepEqual(long, []);
    await browser.close();
  });
});

describe("width", () => {
  test("of 2,000 columns those in view are drawn, and all are reached", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    await id("final-sql").waitFor();
    const names = Array.from({ length: 2000 }, (_, at) => `c${at + 1}`);
    const row = names.map((_, at) => (at === 0 ? "'first'" : at + 1)).join(", ");
    await openDatabase(page, make("wide.db", `CREATE TABLE w(${names.join(", ")})`, ...Array.from({ length: 60 }, () => `INSERT INTO w VALUES (${row})`)));
    const long = await longTasks(page, async () => {
      await runSql(page, "SELECT * FROM w");
      await id("result-table").getByText("first").first().waitFor();
      assert.ok((await id("result-table").locator("td, th").count()) < 4000, "all columns were drawn");
      await page.locator(".grid").evaluate((grid) => (grid.scrollLeft = grid.scrollWidth));
      await id("result-table").getByRole("button", { name: "c2000" }).waitFor();
      await id("result-table").getByText("2000", { exact: true }).first().waitFor();
    });
    assert.deepEqual(long.filter((duration) => duration > 1000), []);
    await browser.close();
  });

  test("a number is never cut, and a text that is can be opened", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    await runSql(page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT CASE WHEN i < 300 THEN i ELSE 9223372036854775000 + i END AS number, printf('%.58c', 'w') AS t FROM n");
    await id("result-table").getByText("1", { exact: true }).waitFor();
    await page.locator(".grid").evaluate((grid) => (grid.scrollTop = grid.scrollHeight));
    const cell = id("result-table").getByText("9223372036854775400", { exact: true });
    await cell.waitFor();
    await page.waitForFunction(() => [...document.querySelectorAll('[data-testid="result-table"] td.number')].every((each) => each.scrollWidth <= each.clientWidth));
    await id("result-table").getByRole("button", { name: /^w+$/ }).first().click();
    await page.locator(".viewer").getByText("w".repeat(58), { exact: true }).waitFor();
    await browser.close();
  });
});

test("2,000 tables are listed in parts and counted while the page answers", async () => {
  const { browser, page, id } = await open();
  await id("table-list").waitFor();
  const path = make("many.db", ...Array.from({ length: 2000 }, (_, at) => `CREATE TABLE table_${at}(a)`));
  const long = await longTasks(page, async () => {
    await openDatabase(page, path);
    await page.getByText("200 of 2,000 tables are shown; show more").waitFor();
    await page.getByLabel("Filter tables").fill("1999");
    await id("table-list").getByRole("button", { name: /^table_1999/ }).waitFor();
    await page.getByText("2,000 tables · 0 rows").waitFor({ timeout: 60_000 });
  });
  assert.deepEqual(long.filter((duration) => duration > 600), []);
  await browser.close();
});

test("an address may be relative or without https, and each that fails has a sentence of its own", async () => {
  const { browser, page, id } = await open();
  await id("table-list").waitFor();
  const chosen = id("database-name");
  const enter = async (text) => {
    await page.getByLabel("Address of a database").fill(text);
    await page.getByRole("button", { name: "Open", exact: true }).click();
  };
  for (const [text, said] of [
    ["nope.db", /answered 404 for nope\.db/],
    ["example.com/x.db", /example\.com cannot be reached from here\. This page connects only/],
    ["https://huggingface.co/x.db", /huggingface\.co cannot be reached; check the connection/],
    ["https://example.org/%E0%A4%A", /example\.org cannot be reached/],
    ["http://", /is not an address of a file/],
    ["javascript:alert(1)", /is not an address of a file/],
  ]) {
    await enter(text);
    await page.locator(".side").getByTestId("error").filter({ hasText: said }).waitFor();
    assert.equal(await page.locator(".side").getByTestId("error").count(), 1);
  }
  const address = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name).find((name) => name.includes("chinook")));
  await enter(new URL(address).pathname.replace("/some/where/", ""));
  await page.waitForFunction(() => /^chinook-.*\.sqlite$/.test(document.querySelector('[data-testid="database-name"]').textContent));
  assert.match(await chosen.textContent(), /^chinook/);
  await browser.close();
});

test("copying says how much was copied", async () => {
  const { browser, page, context, id } = await open();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await id("table-list").waitFor();
  await runSql(page, "SELECT Name FROM Genre");
  await page.getByRole("button", { name: "Copy rows" }).click();
  await id("result-note").filter({ hasText: "25 rows copied" }).waitFor();
  assert.equal((await page.evaluate(() => navigator.clipboard.readText())).split("\n").length, 26);
  await browser.close();
});

test("the questions that are offered have answers", async () => {
  const { browser, page, id } = await open();
  const questions = JSON.parse(readFileSync(example("questions.json"), "utf8"));
  for (const name of ["chinook", "northwind"]) {
    await openDatabase(page, example(`${name}.sqlite`));
    const mine = questions.filter((each) => each.db_id === name && each.evidence === "");
    assert.ok(mine.length >= 3);
    for (const { question, SQL } of mine) {
      const { text, is_error } = JSON.parse(await page.evaluate((sql) => globalThis.glowworm.tool("run_query", JSON.stringify({ sql })), SQL));
      assert.equal(is_error, false, `${question}: ${text}`);
      assert.ok(text.includes("\n"), `${question}: no rows`);
    }
  }
  assert.equal(await id("database-name").textContent(), "northwind.sqlite");
  await browser.close();
});

describe("a query that does not end", () => {
  test("is stopped within six seconds, and the next one works", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    await id("final-sql").waitFor();
    const started = Date.now();
    await runSql(page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    await page.getByTestId("error").filter({ hasText: "ran longer than 5 s" }).waitFor({ timeout: 8000 });
    assert.ok(Date.now() - started < 6000, `${Date.now() - started} ms`);
    await runSql(page, "SELECT count(*) FROM Album");
    assert.deepEqual(await cells(page), [["347"]]);
    await browser.close();
  });

  test("of a model is answered with an error, and the episode's next call works", async () => {
    const { browser, page, id } = await open();
    await id("table-list").waitFor();
    const endless = JSON.stringify({ sql: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n" });
    const outcome = JSON.parse(await page.evaluate((args) => globalThis.glowworm.tool("run_query", args), endless));
    assert.equal(outcome.is_error, true);
    assert.match(outcome.text, /^Error: interrupted: the query ran longer than 5 s/);
    const next = JSON.parse(await page.evaluate(() => globalThis.glowworm.tool("run_query", '{"sql": "SELECT count(*) FROM Album"}')));
    assert.deepEqual([next.text, next.is_error], ["count(*)\n347", false]);
    await browser.close();
  });

  test("leaves a result sorted as it was, and it is said that its query ran again", async () => {
    const { browser, page, id } = await open();
    await sample(page);
    await runSql(page, "SELECT TrackId FROM Track LIMIT 1000");
    const header = id("result-table").getByRole("button", { name: /TrackId/ });
    await header.click();
    await header.click();
    await id("result-table").getByText("1000", { exact: true }).waitFor();
    const ended = await page.evaluate((sql) => globalThis.glowworm.tool("run_query", JSON.stringify({ sql })), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    assert.equal(JSON.parse(ended).is_error, true);
    // The last rows are not here yet.
    await page.locator(".grid").evaluate((grid) => (grid.scrollTop = grid.scrollHeight));
    await id("result-table").getByRole("cell", { name: "1", exact: true }).waitFor();
    await id("result-note").filter({ hasText: "run again" }).waitFor();
    assert.equal(await id("result-table").locator("th").getAttribute("aria-sort"), "descending");
    await browser.close();
  });

  test("asks the server for nothing, nor does another database: the workers' parts are kept", async () => {
    const { browser, page, context, id } = await open();
    await id("table-list").waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForTimeout(500);
    const requests = [];
    context.on("request", (request) => requests.push(request.url()));
    const served = server.requests.length;
    await id("database-file").setInputFiles(make("another.sqlite", "CREATE TABLE gull (id INTEGER PRIMARY KEY)", "INSERT INTO gull VALUES (7)"));
    await page.getByTestId("database-name").filter({ hasText: "another.sqlite" }).waitFor();
    await runSql(page, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    await page.getByTestId("error").filter({ hasText: "ran longer than 5 s" }).waitFor({ timeout: 8000 });
    await runSql(page, "SELECT id FROM gull");
    assert.deepEqual(await cells(page), [["7"]]);
    assert.deepEqual(requests.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:")), []);
    assert.deepEqual(server.requests.slice(served), []);
    await browser.close();
  });
});

test("without WebGPU the page says why, and all but generation works", async () => {
  const { browser, page, id, problems } = await open();
  await id("no-adapter").waitFor();
  assert.match(await id("no-adapter").textContent(), /WebGPU/);
  assert.equal(await id("ask").isDisabled(), true);
  await id("trace-open").setInputFiles(join(import.meta.dirname, "data/artists.glowworm.json"));
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  assert.equal(await id("round").count(), 4);
  assert.match(await id("table-list").textContent(), /Albumused/);
  await page.getByText("Every step follows by the rules of the protocol.").waitFor();
  assert.deepEqual((await cells(page))[0], ["Iron Maiden", "21"]);
  assert.deepEqual(problems, []);
  await browser.close();
});
