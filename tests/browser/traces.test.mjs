// Traces from elsewhere: of other databases, of any size, and files that are none.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fixture, longTasks, openPage, runSql, startServer } from "./support.mjs";

const text = readFileSync(fixture("artists.glowworm.json"), "utf8");
const changed = (change) => {
  const trace = JSON.parse(text);
  change(trace);
  return JSON.stringify(trace);
};

let server;
let opened;
let page;
let id;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "glowworm-"));
  server = await startServer();
  opened = await openPage({ address: server.address, webgpu: false });
  ({ page, id } = opened);
  await id("table-list").waitFor();
  await id("final-sql").waitFor();
});
after(async () => {
  await opened.browser.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

/** From a file: one that is handed over as bytes is decoded in the page, letter by letter. */
async function open(json) {
  const path = join(folder, "x.json");
  writeFileSync(path, json);
  await id("trace-open").setInputFiles(path);
}
/** Opens a trace with a question of its own and waits until it is shown. */
async function show(question, change = () => undefined) {
  await open(changed((trace) => ((trace.config.question = question), change(trace))));
  await page.waitForFunction((wanted) => document.querySelector(".episode h2")?.textContent.startsWith(wanted), question.slice(0, 100), { timeout: 60_000 });
}

test("a file that is no trace is told of in plain words, and what is shown stays", async () => {
  await show("The one that stays");
  for (const [json, said] of [["SQLite format 3\0", /x\.json: this is not a Glowworm trace: it is a database/], ["{}", /x\.json: this is not a Glowworm trace: nothing/], [changed((trace) => delete trace.config), /x\.json: this Glowworm trace is incomplete: the part “config” is missing/], [changed((trace) => (trace.turns = "none")), /x\.json: this Glowworm trace cannot be read/]]) {
    await open(json);
    const error = page.locator(".ask").getByTestId("error").filter({ hasText: said });
    await error.waitFor();
    assert.doesNotMatch(await error.textContent(), /invalid type|expected|missing field/);
  }
  assert.equal(await page.locator(".episode h2").textContent(), "The one that stays");
});

describe("of another database", () => {
  test("its SQL is shown and not run; a sample is opened by one press", async () => {
    await show("Northwind's", (trace) => {
      trace.config.run.database = "/home/somebody/northwind.sqlite";
      trace.outcome.sql = "SELECT count(*) FROM Customers";
    });
    await id("other-database").waitFor();
    assert.match(await id("final-sql").textContent(), /FROM Customers/);
    assert.equal(await id("result-table").count(), 0);
    assert.equal(await page.locator(".table-row.used, .table-row.seen, .table-row.named").count(), 0);
    await id("other-database").getByRole("button", { name: "Open Northwind" }).click();
    await id("result-table").locator("td").first().waitFor();
    assert.equal(await page.locator(".episode h2").textContent(), "Northwind's");
    assert.equal(await id("other-database").count(), 0);
    assert.equal(await page.locator(".table-row.used").first().locator(".name").textContent(), "Customers");
  });

  test("an unknown one offers nothing, and SQL of the person's is called theirs", async () => {
    await show("Unknown", (trace) => (trace.config.run.database = "salaries.db"));
    assert.equal(await id("answer-heading").textContent(), "Answer");
    assert.equal(await id("other-database").getByRole("button").count(), 0);
    await runSql(page, "SELECT 6 * 7");
    await id("result-table").getByText("42").waitFor();
    assert.equal(await id("answer-heading").textContent(), "Your query");
    assert.equal(await id("other-database").count(), 0);
  });
});

describe("of any size", () => {
  const CASES = {
    "a limit of four thousand million turns": (trace) => (trace.config.limits.tool_turns = 4_294_967_295),
    "two thousand turns": (trace) => (trace.turns = Array.from({ length: 2000 }, (_, at) => ({ ...trace.turns[0], number: at + 1 }))),
    "a thousand calls in a turn": (trace) => (trace.turns[0].calls = Array.from({ length: 1000 }, () => trace.turns[0].calls[0])),
    "a result of 20 MB": (trace) => (trace.turns[0].calls[0].result.text = "Album\n".repeat(3_500_000)),
    "a thought of 1 MB": (trace) => (trace.turns[0].think = "well ".repeat(200_000)),
    "a question of 2 MB": (trace) => (trace.config.question += " word".repeat(400_000)),
    "an answer of 600 kB on a line": (trace) => (trace.outcome.sql = `SELECT '${"x".repeat(600_000)}' AS x`),
    "a call of 600 kB": (trace) => (trace.turns[0].calls[0] = { ...trace.turns[0].calls[0], name: "run_query", args: { sql: `SELECT ${"1 + ".repeat(150_000)} 1` } }),
  };
  for (const [name, change] of Object.entries(CASES)) {
    test(name, async () => {
      const long = await longTasks(page, async () => {
        await show(`Size: ${name}`, (trace) => (change(trace), (trace.config.run.database = "elsewhere.db")));
        await id("tool-call").first().click();
        await id("think").first().waitFor();
      });
      // The limit is that of a page that answers; parsing megabytes takes its time on a busy machine.
      assert.deepEqual(long.filter((duration) => duration > 1500), []);
      assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 3000, "everything was drawn");
    });
  }

  test("more is shown where it is asked for", async () => {
    await show("More", CASES["two thousand turns"]);
    const drawn = await id("round").count();
    assert.ok(drawn < 100);
    await page.getByRole("button", { name: /of 2,000 turns are shown; show more/ }).click();
    assert.ok((await id("round").count()) > drawn);
    await show("Long", (trace) => (CASES["a result of 20 MB"](trace), (trace.outcome.sql = `SELECT '${"x".repeat(30_000)}' AS x`)));
    await id("tool-call").first().click();
    await page.getByRole("button", { name: /20,000 of 21,000,000 characters are shown/ }).click();
    await page.getByRole("button", { name: /40,000 of 21,000,000 characters are shown/ }).waitFor();
    // It is run in full, though the editor has only its beginning.
    await id("sql-cut").waitFor();
    assert.ok((await id("final-sql").textContent()).length < 3000);
    await id("run-sql").click();
    await id("result-table").getByText(/30,000 characters/).waitFor();
  });
});

test("is saved as it was read, and listed once however often it is opened", async () => {
  const seed = "18446744073709551615";
  const json = changed((trace) => (trace.config.question = "Twice")).replace(/"seed": ?\d+/, `"seed":${seed}`);
  assert.ok(json.includes(seed));
  await open(json);
  await page.waitForFunction(() => document.querySelector(".episode h2")?.textContent === "Twice");
  const [download] = await Promise.all([page.waitForEvent("download"), id("trace-save").click()]);
  assert.match(readFileSync(await download.path(), "utf8"), new RegExp(`"seed": ?${seed}`));
  await open(json);
  await show("Another");
  await open(json);
  await page.waitForFunction(() => document.querySelector(".episode h2")?.textContent === "Twice");
  await show("A third");
  assert.equal(await page.getByRole("button", { name: "Twice", exact: true }).count(), 1);
});

test("what is pasted into the editor does not hold it up", async () => {
  await id("final-sql").click();
  const long = await longTasks(page, async () => {
    await id("final-sql").evaluate((editor) => {
      const data = new DataTransfer();
      data.setData("text/plain", `SELECT '${"y".repeat(300_000)}' AS y`);
      editor.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await id("sql-cut").waitFor();
  });
  assert.deepEqual(long, []);
  await page.getByRole("button", { name: "Clear it" }).click();
  await id("sql-cut").waitFor({ state: "detached" });
  assert.deepEqual(opened.problems, []);
});
