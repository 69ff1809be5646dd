// axe-core on the main states, light and dark, wide and narrow; and the keyboard.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { fixture, openPage, startServer } from "./support.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let server;
before(async () => {
  server = await startServer();
});
after(() => server.close());

async function faults(page) {
  // Past the page's own policy, which lets no script in from elsewhere.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.filter((each) => each.impact === "serious" || each.impact === "critical").map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`);
  });
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [1280, 360]) {
    test(`no serious fault: ${colorScheme}, ${width} pixels`, async () => {
      const { browser, page, id, problems } = await openPage({ address: server.address, webgpu: false, context: { colorScheme, viewport: { width, height: 800 } } });
      await id("table-list").waitFor();
      assert.deepEqual(await faults(page), []);
      await id("trace-open").setInputFiles(fixture("artists.glowworm.json"));
      await id("ended-by").waitFor();
      await id("result-table").waitFor();
      await id("tool-call").nth(2).click();
      await id("table-list").getByRole("button").first().click();
      assert.deepEqual(await faults(page), []);
      await id("model-choice").click();
      await page.getByRole("heading", { name: "Model", exact: true }).waitFor();
      assert.deepEqual(await faults(page), []);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(wide, 0, "the page is wider than the screen");
      assert.deepEqual(problems, []);
      await browser.close();
    });
  }
}

test("everything is reached by keyboard, in the order of the page", async () => {
  const { browser, page, id } = await openPage({ address: server.address, webgpu: false });
  await id("table-list").waitFor();
  await id("final-sql").waitFor();
  const seen = new Set();
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement?.getAttribute("data-testid") ?? document.activeElement?.textContent?.slice(0, 20)));
  }
  for (const name of ["model-choice", "database-file", "question", "final-sql", "trace-open"]) assert.ok(seen.has(name), `${name} was not reached`);
  await id("model-choice").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Model", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("dialog")?.open === false);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-testid")), "model-choice");
  await id("final-sql").focus();
  await page.keyboard.type("SELECT 6 * 7 AS answer");
  await page.keyboard.press("Control+Enter");
  await id("result-table").getByText("42").waitFor();
  await browser.close();
});
