// Writes the pictures of docs/page.md: the main states, light and dark, wide and narrow. The episodes in them are real
// ones of the built-in model. Somebody must look at them.

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { indexed } from "./png.mjs";
import { fixture, modelReady, openPage, root, startServer } from "./support.mjs";

const QUESTION = "What is the name of the artist with the highest number of albums?";

const folder = join(root, "docs/screenshots");
mkdirSync(folder, { recursive: true });
const wanted = process.argv.slice(2);
if (wanted.length === 0) readdirSync(folder).filter((name) => name.endsWith(".png")).forEach((name) => rmSync(join(folder, name)));
const server = await startServer();

/** One browser for some pictures of one kind; names in `npm run screenshots -- NAME…` choose some. */
async function shoot(names, colorScheme, width, height, act, options = {}) {
  if (wanted.length > 0 && !names.some((name) => wanted.includes(name))) return;
  const opened = await openPage({ address: server.address, context: { colorScheme, viewport: { width, height } }, ...options });
  await opened.id("table-list").waitFor();
  if (options.webgpu !== false) await modelReady(opened.page);
  const take = async (name, size = { width, height }) => {
    await opened.page.setViewportSize(size);
    await opened.page.mouse.move(0, 0);
    await opened.page.waitForTimeout(300);
    const png = await indexed(opened.page, await opened.page.screenshot());
    writeFileSync(join(folder, `${name}.png`), png);
    console.log(`${name}.png ${Math.round(png.length / 1000)} kB`);
  };
  await act(opened, take);
  await opened.browser.close();
}

async function ask({ page, id }) {
  await id("question").fill(QUESTION);
  await id("ask").click();
  await id("stop").waitFor();
}

async function answered({ id }) {
  await id("ended-by").waitFor({ timeout: 120_000 });
  await id("ask").waitFor();
  await id("result-table").waitFor();
}

for (const scheme of ["light", "dark"]) {
  await shoot([`start-${scheme}`, `running-${scheme}`, `episode-${scheme}`], scheme, 1280, 780, async (opened, take) => {
    const { page, id } = opened;
    await take(`start-${scheme}`);
    await ask(opened);
    await page.waitForFunction(() => document.querySelectorAll('[data-testid="round"]').length >= 3, undefined, { timeout: 60_000 });
    await take(`running-${scheme}`);
    await answered(opened);
    if (scheme === "dark") await id("tool-call").nth(1).click();
    await page.locator(".stage").evaluate((stage) => stage.scrollTo(0, 0));
    await take(`episode-${scheme}`, { width: 1280, height: 1080 });
  });
  await shoot([`phone-start-${scheme}`, `phone-episode-${scheme}`], scheme, 360, 740, async (opened, take) => {
    await take(`phone-start-${scheme}`);
    await ask(opened);
    await answered(opened);
    await opened.page.locator(".episode").evaluate((part) => part.scrollIntoView());
    await take(`phone-episode-${scheme}`);
  });
}
await shoot(["model-light"], "light", 1280, 900, async ({ id }, take) => {
  await id("model-choice").click();
  await take("model-light");
});
await shoot(["model-dark"], "dark", 1280, 900, async ({ id }, take) => {
  await id("model-choice").click();
  await take("model-dark");
});
await shoot(["no-webgpu-light"], "light", 1280, 780, async ({ id }, take) => {
  await id("no-adapter").waitFor();
  await take("no-webgpu-light");
}, { webgpu: false });
await shoot(["error-light"], "light", 1280, 780, async ({ page, id }, take) => {
  await id("database-file").setInputFiles({ name: "dump.db", mimeType: "application/octet-stream", buffer: Buffer.from("BEGIN TRANSACTION;\nCREATE TABLE t(x);\n") });
  await page.getByText("stays open").waitFor();
  await take("error-light");
});
for (const [name, scheme, width, height] of [["elsewhere-light", "light", 1280, 900], ["phone-elsewhere-dark", "dark", 360, 740]]) {
  await shoot([name], scheme, width, height, async ({ page, id }, take) => {
    const trace = JSON.parse(readFileSync(fixture("artists.glowworm.json"), "utf8"));
    trace.config.run.database = "northwind.sqlite";
    await id("trace-open").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(trace)) });
    await id("other-database").waitFor();
    await page.locator(".answer").evaluate((part) => part.scrollIntoView({ block: "end" }));
    await take(name);
  }, { webgpu: false });
}
await shoot(["settings-light"], "light", 1280, 620, async ({ page, id }, take) => {
  await page.getByRole("button", { name: /^settings/ }).click();
  await page.getByRole("button", { name: /^note for the model/ }).click();
  await id("question").fill("How many artists are there?");
  await take("settings-light");
});
await server.close();
