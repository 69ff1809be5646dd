// Writes the pictures of docs/page.md: the main states, light and dark, wide and narrow. Somebody must look at them.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fixture, modelReady, openPage, root, startServer } from "./support.mjs";

const folder = join(root, "docs/screenshots");
mkdirSync(folder, { recursive: true });
const server = await startServer();

async function shoot(name, colorScheme, width, height, act, options = {}) {
  const opened = await openPage({ address: server.address, context: { colorScheme, viewport: { width, height } }, ...options });
  await opened.id("table-list").waitFor();
  await act(opened);
  await opened.page.waitForTimeout(600);
  await opened.page.screenshot({ path: join(folder, `${name}.png`) });
  await opened.browser.close();
}

const openTrace = async ({ id }) => {
  await id("trace-open").setInputFiles(fixture("artists.glowworm.json"));
  await id("result-table").waitFor();
};
const plain = { webgpu: false };

await shoot("start-light", "light", 1280, 800, ({ page }) => modelReady(page));
await shoot("start-dark", "dark", 1280, 800, ({ page }) => modelReady(page));
await shoot("episode-light", "light", 1280, 1180, async (opened) => {
  await modelReady(opened.page);
  await openTrace(opened);
});
await shoot("episode-dark", "dark", 1280, 1180, async (opened) => {
  await modelReady(opened.page);
  await openTrace(opened);
  await opened.id("tool-call").nth(2).click();
});
await shoot("phone-light", "light", 360, 740, async (opened) => {
  await modelReady(opened.page);
  await openTrace(opened);
  await opened.page.locator(".episode").scrollIntoViewIfNeeded();
  await opened.page.evaluate(() => window.scrollBy(0, 300));
});
await shoot("no-webgpu-light", "light", 1280, 800, ({ id }) => id("no-adapter").waitFor(), plain);
await shoot("model-dark", "dark", 1280, 900, async ({ page, id }) => {
  await modelReady(page);
  await id("model-choice").click();
});
await shoot("error-light", "light", 1280, 800, async ({ page, id }) => {
  await modelReady(page);
  await id("database-file").setInputFiles({ name: "dump.db", mimeType: "application/octet-stream", buffer: Buffer.from("BEGIN TRANSACTION;\nCREATE TABLE t(x);\n") });
  await page.getByText("stays open").waitFor();
});
await server.close();
