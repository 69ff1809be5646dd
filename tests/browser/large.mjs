// By hand, minutes long: a model of the full 2B shape loads in Chromium without passing through its memory, and writes a
// token. The path of the file comes in GLOWWORM_LARGE; `make test-large` writes one with random weights.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { openPage, startServer } from "./support.mjs";

const path = process.env.GLOWWORM_LARGE;
const MOST = 256e6;

/** Memory of its own that a process holds, in bytes: JavaScript heap, array buffers and wasm memory, not shared pages. */
function anonymous(pid) {
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}

test("1.27 GB of weights go to the GPU and not through the page's memory", { timeout: 3_600_000 }, async () => {
  assert.ok(path !== undefined && statSync(path).size > 1e9, "set GLOWWORM_LARGE to a model of more than 1 GB");
  const server = await startServer();
  const { browser, page, id } = await openPage({ address: server.address });
  await page.waitForTimeout(5000);
  const session = await browser.newBrowserCDPSession();
  const renderers = async () => (await session.send("SystemInfo.getProcessInfo")).processInfo.filter((each) => each.type === "renderer").map((each) => each.id);
  const held = async () => (await renderers()).reduce((sum, pid) => sum + anonymous(pid), 0);
  const start = await held();
  let most = start;
  const watch = setInterval(() => void held().then((now) => (most = Math.max(most, now))).catch(() => undefined), 250);
  const loaded = () => page.waitForFunction(() => document.querySelector('[data-testid="model-choice"]')?.textContent.includes("GB"), undefined, { timeout: 1_800_000 });
  const begun = Date.now();
  await id("model-choice").click();
  await id("model-file").setInputFiles(path);
  await loaded();
  console.log(`load ${((Date.now() - begun) / 1000).toFixed(0)} s, memory ${((most - start) / 1e6).toFixed(0)} MB above the start`);
  // The model's own prompt is hundreds of tokens, which take a software adapter many minutes; a few are a proof too.
  await page.getByLabel("Text of the prompt file").fill('SYSTEM_PROMPT = "Answer."\nUSER_TEMPLATE = "{question}"\n');
  await page.getByRole("button", { name: "Use this text" }).click();
  await page.getByText("SYSTEM_PROMPT of pasted text").waitFor({ timeout: 1_800_000 });
  await loaded();
  await page.keyboard.press("Escape");
  const asked = Date.now();
  await id("question").fill("How many?");
  await id("ask").click();
  await page.waitForFunction(() => /[1-9]\d* t/.test(document.querySelector(".round .cost")?.textContent ?? ""), undefined, { timeout: 1_800_000 });
  console.log(`first token after ${((Date.now() - asked) / 1000).toFixed(0)} s, memory ${((most - start) / 1e6).toFixed(0)} MB above the start`);
  clearInterval(watch);
  assert.ok(most - start <= MOST, `${((most - start) / 1e6).toFixed(0)} MB above the start`);
  await browser.close();
  await server.close();
});
