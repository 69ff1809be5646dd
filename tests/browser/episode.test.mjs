// The whole job with the built-in model: it asks, explores, answers; and everything that can come between.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { example, modelReady, openPage, root, scriptReplies, startServer } from "./support.mjs";

/** The question of `make demo`, and what the answer must show. */
const QUESTION = "What is the name of the artist with the highest number of albums?";
const ANSWER = "Iron Maiden";

let server;
before(async () => {
  server = await startServer();
});
after(() => server.close());

async function settings(page, values) {
  await page.getByRole("button", { name: /^settings \(/ }).click();
  for (const [label, value] of Object.entries(values)) {
    await page.getByLabel(label).fill(String(value));
    await page.getByLabel(label).blur();
  }
}

async function ask(page, question) {
  await page.getByTestId("question").fill(question);
  await page.getByTestId("ask").click();
  await page.getByTestId("stop").waitFor();
}

/** Waits for the end of the episode and of its query. */
async function answered(page, timeout = 120_000) {
  await page.getByTestId("ask").waitFor({ timeout });
  await page.getByTestId("ended-by").waitFor();
}

async function save(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId("trace-save").click()]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}

/** The text of an episode: what was appended and what the model wrote. */
const contextOf = (trace) =>
  trace.turns.map((turn) => [...(turn.number === 1 ? trace.config.prompt.segments : turn.append).map((part) => part.markup ?? part.text), turn.completion?.text ?? ""].join("")).join("");

test("the sample and the built-in model answer a question at once; a second one costs less; nothing leaves the page", async () => {
  const opened = await openPage({ address: server.address });
  const { browser, page, context, id, problems } = opened;
  await modelReady(page);
  // A service worker keeps the page for later, out of the page's sight: what it fetches belongs to the visit's start.
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForTimeout(500);
  const requests = [];
  context.on("request", (request) => requests.push(request.url()));
  const served = server.requests.length;
  assert.equal(await id("database-name").textContent(), "chinook.sqlite");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-testid")), "question");
  assert.match(await id("adapter-status").textContent(), /✓/);
  await settings(page, { "Temperature": 0 });
  await ask(page, QUESTION);
  await answered(page);
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  await id("result-table").waitFor();
  assert.equal(await id("result-table").locator("tbody td").first().textContent(), ANSWER);
  assert.match(await id("final-sql").textContent(), /FROM.*Artist/is);
  assert.ok((await id("round").count()) >= 2);
  assert.ok((await id("tool-call").count()) >= 2);
  assert.match(await id("budget").textContent(), /\d of 6 turns · [\d,]+ of [\d,]+ tokens/);
  assert.equal(await id("prompt-badge").textContent(), "training prompt");
  assert.match(await id("table-list").textContent(), /Artistused/);
  const first = await save(page);

  await ask(page, QUESTION);
  await answered(page);
  const second = await save(page);
  assert.equal(contextOf(second), contextOf(first), "the same question at temperature 0 was answered differently");
  await page.getByRole("button", { name: QUESTION }).first().waitFor();

  // A saved trace is shown as the live one was.
  await id("trace-open").setInputFiles({ name: "saved.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(first)) });
  await page.getByText("Every step follows by the rules of the protocol.").waitFor();
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  assert.deepEqual(requests.filter((url) => !url.startsWith("blob:") && !url.startsWith("data:")), [], "the page connected to something after it was ready");
  // The service worker's requests are not the page's, but the server would see them.
  assert.deepEqual(server.requests.slice(served), []);
  assert.deepEqual(problems, []);
  await browser.close();
});

test("stop answers within a second, and the next question works", async () => {
  const { browser, page, id } = await openPage({ address: server.address });
  await modelReady(page);
  for (const wait of [0, 600]) {
    await ask(page, QUESTION);
    // In the first moment the button does not listen: a press then is the second of a double click.
    await page.waitForFunction(() => document.querySelector('[data-testid="stop"]')?.disabled === false);
    await page.waitForTimeout(wait);
    // Counted in turns of the page of ten milliseconds and more, since a machine that stands still is not the page's doing.
    const turns = await page.evaluate(async () => {
      const button = document.querySelector('[data-testid="stop"]');
      if (button === null) return null;
      button.click();
      let turns = 0;
      for (; document.querySelector('[data-testid="ask"]') === null; turns += 1) await new Promise((resolve) => setTimeout(resolve, 10));
      return turns;
    });
    if (turns === null) continue;
    assert.equal(await id("ended-by").textContent(), "cancelled");
    assert.ok(turns < 100, `${turns} turns`);
  }
  await modelReady(page);
  await ask(page, QUESTION);
  await answered(page);
  assert.notEqual(await id("ended-by").textContent(), "cancelled");
  await browser.close();
});

test("a device that is lost in the middle is told of, the text is kept, and the model loads again", async () => {
  const { browser, page, id } = await openPage({ address: server.address });
  await modelReady(page);
  await ask(page, QUESTION);
  await page.waitForFunction(() => document.querySelectorAll('[data-testid="round"]').length > 0 && (document.querySelector('[data-testid="think"]')?.textContent ?? "") !== "");
  await page.evaluate(() => globalThis.glowworm.destroyDevices());
  const error = page.locator(".ask").getByTestId("error");
  await error.waitFor({ timeout: 20_000 });
  assert.match(await error.textContent(), /GPU stopped working/);
  await id("ended-by").waitFor();
  assert.equal(await id("ended-by").textContent(), "error");
  await error.getByRole("button", { name: "Load again" }).click();
  await page.waitForFunction(() => document.querySelector('[data-testid="model-choice"]')?.textContent.includes("MB"), undefined, { timeout: 90_000 });
  await ask(page, QUESTION);
  await answered(page);
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  await browser.close();
});

test("after the first visit the page and the built-in model work without a network", async () => {
  const own = await startServer();
  const { browser, page, id } = await openPage({ address: own.address });
  await modelReady(page);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => (await caches.keys()).length > 0 && navigator.serviceWorker.controller !== null);
  await own.close();
  await page.reload();
  await modelReady(page);
  await ask(page, QUESTION);
  await answered(page);
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  await browser.close();
});

/** A call as a model writes it. */
const call = (tool, args) => JSON.stringify({ tool, args });
const ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

test("a model's query that does not end is stopped within six seconds, and the episode goes on with the database open again", async () => {
  const { browser, page, id, problems } = await openPage({ address: server.address });
  await modelReady(page);
  await scriptReplies(page, [
    call("list_tables", {}),
    call("run_query", { sql: ENDLESS }),
    call("run_query", { sql: "SELECT count(*) FROM Album" }),
    call("submit_sql", { sql: "SELECT count(*) FROM Album" }),
  ]);
  await ask(page, "How many albums are there?");
  const pending = page.getByTestId("tool-result").filter({ hasText: /^running/ });
  await pending.waitFor();
  const begun = Date.now();
  const stopped = page.getByTestId("tool-result").filter({ hasText: /ran longer than 5 s/ });
  await stopped.waitFor({ timeout: 10_000 });
  assert.ok(Date.now() - begun < 6000, `stopped after ${Date.now() - begun} ms`);
  await answered(page);
  assert.equal(await id("ended-by").textContent(), "submit_sql");
  assert.deepEqual(await id("tool-result").allTextContents(), [
    "11 names",
    await stopped.textContent(),
    "1 row: 347",
    "submitted",
  ]);
  assert.equal(await id("result-table").locator("tbody td").first().textContent(), "347");
  assert.deepEqual(problems, []);
  await browser.close();
});

test("the native program gives the same text at temperature 0", async () => {
  const program = process.env.GLOWWORM ?? ["debug", "release"].map((profile) => join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), profile, "glowworm")).find((path) => existsSync(path));
  assert.ok(program !== undefined, "this test needs the native program: cargo build --package glowworm, or GLOWWORM=its path");
  const folder = mkdtempSync(join(tmpdir(), "glowworm-"));
  const file = join(folder, "native.json");
  execFileSync(program, ["ask", "--db", example("chinook.sqlite"), "--temperature", "0", "--save-trace", file, QUESTION], { stdio: "ignore", env: { XDG_RUNTIME_DIR: folder, ...process.env } });
  const native = JSON.parse(readFileSync(file, "utf8"));
  rmSync(folder, { recursive: true });
  const { browser, page } = await openPage({ address: server.address });
  await modelReady(page);
  await settings(page, { "Temperature": 0 });
  await ask(page, QUESTION);
  await answered(page);
  assert.equal(contextOf(await save(page)), contextOf(native));
  await browser.close();
});
