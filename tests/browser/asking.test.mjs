// Asking twice, too early, while something else is going on, and stopping only what is meant.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, describe, test } from "node:test";
import initSqlJs from "sql.js";
import { example, fixture, modelReady, openPage, root, runSql, scriptReplies, startServer } from "./support.mjs";

/** A call as a model writes it. */
const call = (tool, args) => JSON.stringify({ tool, args });
const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
const ALBUMS = [call("list_tables", {}), call("submit_sql", { sql: "SELECT count(*) FROM Album" })];

let server;
let opened;
let page;
let id;
before(async () => {
  server = await startServer();
  opened = await openPage({ address: server.address, context: { viewport: { width: 1280, height: 620 } } });
  ({ page, id } = opened);
  await modelReady(page);
});
after(async () => {
  await opened.browser.close();
  await server.close();
});
beforeEach(async () => {
  await id("ask").waitFor();
  assert.deepEqual(opened.problems.splice(0), []);
});

const script = (replies) => scriptReplies(page, replies);
const errors = () => page.getByTestId("error").allTextContents();
const notIn = async (locator, what) => assert.equal(await locator.count(), 0, what);

async function ask(question) {
  await id("question").fill(question);
  await id("ask").click();
  // An episode of a scripted model may be over at once, so its end says nothing of its beginning.
  await page.waitForFunction((text) => document.querySelector(".episode h2")?.textContent === text, question);
}
async function answered() {
  await id("ask").waitFor({ timeout: 60_000 });
  await id("ended-by").waitFor();
}
/** Waits until the button to stop listens: its first moment belongs to a double click. */
async function stop() {
  await page.waitForTimeout(450);
  await id("stop").click();
}
/** A database whose views take some ten seconds and more to be looked through. */
async function slowDatabase() {
  const database = new (await initSqlJs()).Database();
  database.run("CREATE VIEW v0 AS SELECT 1 AS a");
  for (let n = 1; n < 16; n += 1) database.run(`CREATE VIEW v${n} AS SELECT x.a FROM v${n - 1} x, v${n - 1} y`);
  for (let n = 0; n < 60; n += 1) database.run(`CREATE VIEW w${n} AS SELECT x.a FROM v15 x`);
  return { name: "slow.db", mimeType: "application/octet-stream", buffer: Buffer.from(database.export()) };
}

describe("one question at a time", () => {
  test("three presses of Enter ask once", async () => {
    await script(ALBUMS);
    await id("question").fill("How many albums?");
    await id("question").evaluate((field) => {
      for (let press = 0; press < 3; press += 1) field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    });
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
    assert.deepEqual(await errors(), []);
    assert.equal(await page.getByText("Earlier in this visit").count(), 0);
    assert.equal(await id("answer-heading").textContent(), "Answer");
    await id("result-table").getByText("347").waitFor();
  });

  test("a double click asks and does not stop", async () => {
    await script(ALBUMS);
    await id("question").fill("How many albums, clicked twice?");
    await id("ask").dblclick();
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
  });

  test("a question while a database is being opened waits for it, and is not lost", async () => {
    await id("database-file").setInputFiles(await slowDatabase());
    await id("opening").waitFor();
    await id("question").fill("How many rows has t?");
    await id("question").press("Enter");
    await id("queued").waitFor();
    assert.match(await id("queued").textContent(), /“How many rows has t\?” is asked of slow\.db as soon as it is open/);
    // The one before can be used until then.
    await runSql(page, "SELECT count(*) FROM Album");
    await id("result-table").getByText("347").waitFor({ timeout: 4000 });
    await id("opening").getByRole("button", { name: "Cancel" }).click();
    await page.getByTestId("error").filter({ hasText: /opening slow\.db was cancelled/i }).waitFor();
    await page.getByTestId("error").filter({ hasText: /was not asked, because slow\.db is not open/ }).waitFor();
    assert.equal(await id("database-name").textContent(), "chinook.sqlite");
    await notIn(id("opening"));
    await script(ALBUMS);
    await ask("How many albums, after all?");
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
    assert.equal((await errors()).filter((text) => !text.includes("slow.db")).length, 0);
  });

  test("a database that is chosen during an episode is refused, and the episode goes on", async () => {
    await script([call("run_query", { sql: ENDLESS }), ...ALBUMS]);
    await ask("A long one");
    await id("tool-result").filter({ hasText: /^running/ }).waitFor();
    await id("database-file").setInputFiles(example("northwind.sqlite"));
    await page.getByTestId("error").filter({ hasText: /an episode is running/i }).waitFor();
    await page.locator("body").evaluate((body, name) => {
      const data = new DataTransfer();
      data.items.add(new File(["GGUF"], name));
      body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, "other.gguf");
    await page.locator(".ask").getByTestId("error").filter({ hasText: /an episode is running/i }).waitFor();
    await id("trace-open").setInputFiles(fixture("artists.glowworm.json"));
    await page.getByTestId("error").filter({ hasText: /then open the trace/ }).waitFor();
    assert.equal(await page.locator(".episode h2").textContent(), "A long one");
    await stop();
    await answered();
    assert.equal(await id("ended-by").textContent(), "cancelled");
    assert.equal(await id("database-name").textContent(), "chinook.sqlite");
    // What could not be done can be done now, and nothing says otherwise any more.
    assert.deepEqual(await errors(), []);
  });

  test("Stop stays on the screen, and pressed by keyboard it leaves the focus on the question", async () => {
    const describe = ["Album", "Artist", "Track", "Genre"].map((table) => call("describe_table", { table_name: table }));
    const all = ["Customer", "Employee", "Invoice", "Playlist"].map((table) => call("sample_rows", { table_name: table })).join("\n");
    await script([call("list_tables", {}), describe.join("\n"), all, call("run_query", { sql: ENDLESS }), ...ALBUMS]);
    await ask("One that takes long");
    await page.getByRole("button", { name: /^run_query .*running/ }).waitFor();
    await page.waitForTimeout(500);
    const [stage, top, bottom] = await id("stop").evaluate((button) => [document.querySelector(".stage").scrollTop, button.getBoundingClientRect().top, button.getBoundingClientRect().bottom]);
    assert.ok(stage > 100, "the episode is longer than the window");
    assert.ok(top >= 0 && bottom <= 620, `Stop is at ${top}`);
    await id("question").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await answered();
    assert.equal(await id("ended-by").textContent(), "cancelled");
    assert.equal(await page.evaluate(() => document.activeElement.id), "question");
  });

  test("what a person runs and what the model runs are stopped apart", async () => {
    await modelReady(page);
    await script([call("run_query", { sql: ENDLESS }), ...ALBUMS]);
    await ask("Which is whose?");
    await id("tool-result").filter({ hasText: /^running/ }).waitFor();
    await runSql(page, "SELECT 'mine'");
    await page.getByText("Waiting for the database.").waitFor();
    await page.getByRole("button", { name: "Stop query" }).click();
    await page.waitForTimeout(500);
    assert.equal(await id("tool-result").filter({ hasText: /^running/ }).count(), 1, "the model's query was stopped too");
    await answered();
    assert.match((await id("tool-result").allTextContents())[0], /ran longer than 5 s/);
    assert.equal(await id("ended-by").textContent(), "submit_sql");
    await id("result-table").getByText("347").waitFor();
  });
});

describe("whose answer it is", () => {
  test("an episode without a query leaves no answer of the one before", async () => {
    await script(ALBUMS);
    await ask("How many albums?");
    await answered();
    await id("result-table").getByText("347").waitFor();
    // The model says nothing that is a call, until it has to answer.
    await script(["I do not know."]);
    await ask("What is the meaning?");
    await answered();
    assert.notEqual(await id("ended-by").textContent(), "submit_sql");
    await page.getByText("This episode ended without a query.").waitFor();
    assert.equal(await id("answer-heading").textContent(), "SQL");
    await notIn(id("result-table"));
    await page.getByRole("button", { name: "How many albums?", exact: true }).last().click();
    await id("result-table").getByText("347").waitFor();
    assert.equal(await id("answer-heading").textContent(), "Answer");
    await runSql(page, "SELECT 'mine' AS whose");
    await id("result-table").getByText("mine").waitFor();
    assert.equal(await id("answer-heading").textContent(), "Your query");
  });

  test("comes back after the rows of a table, which come into view", async () => {
    await script(ALBUMS);
    await ask("How many albums, once more?");
    await answered();
    await id("result-table").getByText("347").waitFor();
    await id("table-list").getByRole("button", { name: /^Genre/ }).click();
    await page.getByRole("button", { name: "Show rows" }).click();
    await id("result-table").getByText("Rock", { exact: true }).waitFor();
    await page.waitForTimeout(300);
    const { top, bottom } = await id("result-table").locator("tbody tr").nth(1).evaluate((row) => ({ top: row.getBoundingClientRect().top, bottom: row.getBoundingClientRect().bottom }));
    assert.ok(top > 0 && bottom < 620, `the rows begin at ${top}`);
    assert.equal(await id("answer-heading").textContent(), "Your query");
    await id("back-to-answer").click();
    await id("result-table").getByText("347").waitFor();
    assert.equal(await id("answer-heading").textContent(), "Answer");
    await notIn(id("back-to-answer"));
  });

  test("an earlier episode of another database is shown without that one's rows and lamps", async () => {
    await id("database-file").setInputFiles(example("northwind.sqlite"));
    await page.waitForFunction(() => document.querySelector('[data-testid="database-name"]').textContent === "northwind.sqlite");
    await page.getByRole("button", { name: "How many albums?", exact: true }).first().click();
    await id("other-database").waitFor();
    assert.match(await id("other-database").textContent(), /answer for chinook\.sqlite, and northwind\.sqlite is open/);
    await notIn(id("result-table"));
    await notIn(page.locator(".table-row.used"));
    await id("other-database").getByRole("button", { name: "Open Chinook" }).click();
    await id("result-table").getByText("347").waitFor();
    assert.equal(await page.locator(".episode h2").textContent(), "How many albums?");
    assert.equal(await page.locator(".table-row.used").count(), 1);
  });

  test("is in view when the episode ends, and the page stays in its frame", async () => {
    await script([call("list_tables", {}), call("describe_table", { table_name: "Album" }), call("describe_table", { table_name: "Artist" }), call("sample_rows", { table_name: "Album" }), call("submit_sql", { sql: "SELECT Title FROM Album LIMIT 3" })]);
    await ask("Which albums are the first three?");
    await answered();
    await id("result-table").locator("tbody tr").nth(2).waitFor();
    await page.waitForTimeout(200);
    const { bottom, window: height } = await id("result-table").evaluate((table) => ({ bottom: table.getBoundingClientRect().bottom, window: innerHeight }));
    assert.ok(bottom <= height, `the answer ends at ${bottom} of ${height}`);
    for (const name of ["trace-open", "database-file", "evidence"]) {
      await id(name).focus();
      assert.deepEqual(await page.evaluate(() => [document.scrollingElement.scrollTop, document.scrollingElement.scrollHeight - innerHeight]), [0, 0], name);
    }
  });
});

describe("settings", () => {
  test("take what is sensible, round what must be whole, and say so where they change it", async () => {
    await page.getByRole("button", { name: /^settings \(/ }).click();
    const set = async (label, value) => {
      await page.getByLabel(label).fill(String(value));
      await page.getByLabel(label).blur();
      return page.getByLabel(label).inputValue();
    };
    assert.equal(await set("Temperature", 0.65), "0.65");
    assert.equal(await set("Token budget of an episode", 1500), "1500");
    assert.equal(await set("Seed", 1.5), "2");
    assert.match(await id("settings-problem").textContent(), /Seed: a whole number from 0 to 4,294,967,295; it is now 2/);
    assert.equal(await set("Seed", 1e20), "4294967295");
    assert.equal(await set("Seed", -1), "0");
    assert.equal(await set("Seed", 7), "7");
    await notIn(id("settings-problem"));
    await script(ALBUMS);
    await ask("With settings");
    await answered();
    const [download] = await Promise.all([page.waitForEvent("download"), id("trace-save").click()]);
    const { config } = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.equal(config.run.sampling.seed, 7);
    assert.ok(Math.abs(config.run.sampling.temperature - 0.65) < 1e-6);
    assert.equal(config.limits.token_budget, 1500);
    // Emptied, they are the model's again.
    await set("Temperature", "");
    assert.match(await page.getByRole("button", { name: /^settings \(/ }).textContent(), /temperature 0\.?\d* · seed 7/);
  });
});

describe("models that come and go", () => {
  const heading = () => id("model-choice").textContent();
  test("a file that is no model is named, and the loaded one stays", async () => {
    await modelReady(page);
    const before = await heading();
    for (const [name, bytes, said] of [["notes.gguf", "hello, this is text", /notes\.gguf: this is not a model in GGUF format/], ["empty.gguf", "", /empty\.gguf: the file is empty/], ["cut.gguf", readFileSync(`${root}/models/builtin.gguf`).subarray(0, 5000), /cut\.gguf: .*(ends|reaches past the end)/]]) {
      await id("model-file").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) });
      const error = page.locator(".ask").getByTestId("error").filter({ hasText: name });
      await error.waitFor();
      assert.match(await error.textContent(), said);
      assert.match(await error.textContent(), /built-in stays loaded/);
      assert.doesNotMatch(await error.textContent(), /\[\d/);
    }
    assert.equal(await heading(), before);
    await script(ALBUMS);
    await ask("Still there?");
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
  });

  test("a question that is asked while a model loads is kept as it was, can be taken back, and is asked", async () => {
    const load = async () => {
      await id("model-choice").click();
      await page.getByRole("button", { name: "Use the built-in model" }).click();
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await page.waitForFunction(() => document.querySelector('[data-testid="status"]').textContent === "loading the model");
    };
    await load();
    await id("question").fill("Taken back?");
    await id("question").press("Enter");
    await id("queued").getByRole("button", { name: "Cancel" }).click();
    await notIn(id("queued"));
    await id("question").fill("How many albums, as asked?");
    await id("question").press("Enter");
    await id("queued").filter({ hasText: "How many albums, as asked?" }).waitFor();
    await page.getByRole("button", { name: "How many albums?", exact: true }).first().click();
    await id("question").fill("something half typ");
    await script(ALBUMS);
    await page.waitForFunction(() => document.querySelector(".episode h2")?.textContent === "How many albums, as asked?", undefined, { timeout: 90_000 });
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
    assert.equal(await id("question").inputValue(), "something half typ");
    assert.equal(await page.getByRole("button", { name: "Taken back?" }).count(), 0);
  });

  test("a question that waits for the model is asked of no other database", async () => {
    await id("model-choice").click();
    await page.getByRole("button", { name: "Use the built-in model" }).click();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await id("question").fill("How many albums, of Chinook?");
    await id("question").press("Enter");
    await id("queued").filter({ hasText: "of Chinook?” is asked of chinook.sqlite" }).waitFor();
    await id("database-file").setInputFiles(example("northwind.sqlite"));
    await page.waitForFunction(() => document.querySelector('[data-testid="database-name"]').textContent === "northwind.sqlite");
    const error = page.locator(".ask").getByTestId("error").filter({ hasText: "it was meant for chinook.sqlite, and northwind.sqlite is open" });
    await error.waitFor({ timeout: 90_000 });
    await error.getByRole("button", { name: "Close this message" }).click();
    await notIn(error);
    await id("database-file").setInputFiles(example("chinook.sqlite"));
    await page.waitForFunction(() => document.querySelector('[data-testid="database-name"]').textContent === "chinook.sqlite");
    await modelReady(page);
  });

  test("the self-test and a load leave each other's devices alone", async () => {
    const test = page.evaluate(() => globalThis.glowworm.selfTest());
    await id("model-choice").click();
    await page.getByRole("button", { name: "Use the built-in model" }).click();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    assert.match(await test, /are right in f32/);
    await modelReady(page, 120_000);
    assert.match(await id("adapter-status").textContent(), /✓/);
    await ask("How many artists are there?");
    await answered();
    assert.equal(await id("ended-by").textContent(), "submit_sql");
  });
});
