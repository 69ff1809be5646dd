// What the specs share: the built page behind a static server, and a fresh Chromium with WebGPU on its software adapter.

import assert from "node:assert/strict";
import { after } from "node:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { serve } from "../../web/serve.mjs";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const shared = join(root, "../shared");

/** A path in the folder of shared fixtures and data; a spec that needs one fails clearly where it is missing. */
export function sharedFile(path) {
  const full = join(shared, path);
  assert.ok(existsSync(full), `this test needs ${full}, which does not exist`);
  return full;
}

export const fixture = (name) => join(root, "tests/browser/data", name);
export const example = (name) => join(root, "examples", name);

/** A server for dist/, below a sub-path so that nothing depends on the root of a host. `requests` are all it was asked for. */
export async function startServer(base = "/some/where/") {
  assert.ok(existsSync(join(root, "dist/index.html")), "dist/ is missing: run npm run build first");
  const requests = [];
  return { ...(await serve(join(root, "dist"), 0, base, (path) => requests.push(path))), requests };
}

// A test that fails leaves its browser open, and the runner would wait for it.
const browsers = [];
if (process.env.NODE_TEST_CONTEXT !== undefined) after(() => Promise.all(browsers.map((browser) => browser.close())));

export async function launch({ webgpu = true, args = [] } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--no-sandbox", ...(webgpu ? ["--enable-unsafe-webgpu"] : ["--disable-features=WebGPU", "--disable-blink-features=WebGPU"]), ...args],
  });
  browsers.push(browser);
  return browser;
}

/** A page in a browser of its own, and everything that went wrong in it. */
export async function openPage(options = {}) {
  const { context: contextOptions = {}, address, ...rest } = options;
  const browser = await launch(rest);
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, reducedMotion: "reduce", ...contextOptions });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (line) => {
    if (line.type() === "error") problems.push(line.text());
  });
  await page.goto(address);
  return { browser, context, page, problems, id: (name) => page.getByTestId(name) };
}

/** Waits until the built-in model is loaded. */
export async function modelReady(page, timeout = 90_000) {
  await page.waitForFunction(() => /^ready$|answered/.test(document.querySelector('[data-testid="status"]')?.textContent ?? ""), undefined, { timeout });
}

/** Runs SQL in the editor. */
export async function runSql(page, text) {
  const editor = page.getByTestId("final-sql");
  await editor.waitFor();
  await editor.fill(text);
  await page.getByTestId("run-sql").click();
}

/** Counts tasks of the main thread that were longer than 200 ms while `work` ran. */
export async function longTasks(page, work) {
  await page.evaluate(() => {
    globalThis.tasks = [];
    globalThis.observer?.disconnect();
    globalThis.observer = new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))));
    globalThis.observer.observe({ entryTypes: ["longtask"] });
  });
  await work();
  await page.waitForTimeout(300);
  return page.evaluate(() => globalThis.tasks.filter((duration) => duration > 200));
}

/**
 * The next episode's replies come from `replies` and not from the model. The prompt of the built-in model has opened its thinking, so a
 * reply begins by ending that.
 */
export const scriptReplies = (page, replies) =>
  page.evaluate((each) => globalThis.glowworm.script(each), replies.map((reply) => `</think>\n\n${reply}`));
