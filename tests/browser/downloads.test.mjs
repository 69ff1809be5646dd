// Models from Hugging Face, against a stand-in for it: everything that can happen to a download.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { startHub } from "./hub.mjs";
import { modelReady, openPage, sharedFile, startServer } from "./support.mjs";

let server;
before(async () => {
  server = await startServer();
});
after(() => server.close());

describe("downloads", () => {
  let hub;
  let opened;
  // One browser: a self-test of the adapter on the processor takes long. Every test has a model of a name of its own.
  before(async () => {
    hub = await startHub();
    opened = await openPage({ address: server.address, ...hub.browser });
  });
  after(async () => {
    await opened.browser.close();
    await hub.close();
  });

  /** A repository called after the test, and the model in it that is to be chosen. */
  function offer(name) {
    const repository = `someone/${name}-GGUF`;
    // Of one format only, whatever the name says: that has the fewest shaders to compile.
    const model = readFileSync(sharedFile("fixtures/eq/model-Q8_0.gguf"));
    hub.repositories.set(repository, new Map([
      ["README.md", Buffer.from("words")],
      [`${name}.Q4_K_M.gguf`, model],
      [`${name}.Q8_0.gguf`, model],
      [`${name}.Q6_K.gguf`, { length: 20e9 }],
      [`${name}.IQ2_XS.gguf`, Buffer.from("GGUF")],
      [`${name}.mmproj-f16.gguf`, Buffer.from("GGUF")],
      ["sqale_agent.py", Buffer.from('SYSTEM_PROMPT = """You explore."""\nUSER_TEMPLATE = "Question: {question}"\n')],
    ]));
    hub.trouble(() => ({}));
    hub.requests.length = 0;
    return repository;
  }
  async function list(page, text) {
    if (!(await page.getByTestId("model-repository").isVisible())) await page.getByTestId("model-choice").click();
    await page.getByTestId("model-repository").fill(text);
    await page.getByRole("button", { name: "List files" }).click();
  }
  /** The button below a listing, once the adapter's self-test has allowed it. */
  async function press(page, name) {
    await page.locator("dialog").getByRole("button", { name }).click({ timeout: 120_000 });
  }
  async function loaded(page, name) {
    await page.waitForFunction((wanted) => document.querySelector('[data-testid="model-choice"]')?.textContent.includes(wanted), `${name}.Q4_K_M.gguf`, { timeout: 60_000 });
    await modelReady(page, 120_000);
  }

  test("list, choose, download through the redirect, check, load, with the training prompt; the next visit needs no network", async () => {
    const { page } = opened;
    const repository = offer("small");
    for (const text of [repository, `${repository}:Q4_K_M`, `hf:${repository}:Q4_K_M`, `-hf ${repository}:Q4_K_M`, `hf://${repository}/small.Q4_K_M.gguf`, `https://huggingface.co/${repository}/blob/main/small.Q4_K_M.gguf`, `https://huggingface.co/${repository}/resolve/main/small.Q4_K_M.gguf?download=true`]) {
      await list(page, text);
      await page.waitForFunction(() => document.querySelector('input[name="model-path"]:checked')?.value === "small.Q4_K_M.gguf");
    }
    assert.equal(await page.locator('input[value="small.IQ2_XS.gguf"]').isDisabled(), true);
    assert.equal(await page.locator('input[value="small.mmproj-f16.gguf"]').isDisabled(), true);
    await page.getByText("Self-test passed").waitFor({ timeout: 120_000 });
    await press(page, /^Download/);
    await loaded(page, "small");
    assert.equal(await page.getByTestId("prompt-badge").textContent(), "training prompt");
    assert.equal(hub.downloads().length, 1);
    await page.reload();
    await modelReady(page, 120_000);
    const before = hub.requests.length;
    await page.getByTestId("model-choice").click();
    await page.locator("dialog").getByRole("button", { name: "Use", exact: true }).click();
    await loaded(page, "small");
    assert.equal(hub.requests.length, before);
    await page.locator("dialog").getByRole("button", { name: "Delete small.Q4_K_M.gguf" }).click();
    await page.getByRole("button", { name: "Delete small.Q4_K_M.gguf" }).waitFor({ state: "detached" });
  });

  test("a listing that comes late does not replace the one that was asked for after it", async () => {
    const { page, id } = opened;
    const [slow, quick] = [offer("slow"), offer("quick")];
    await page.route(`**/api/models/${slow}**`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1500));
      await route.continue();
    });
    await list(page, slow);
    await id("model-repository").fill(quick);
    // As "Suggested" does, whose button is never off.
    await page.locator("form.row").filter({ has: id("model-repository") }).evaluate((form) => form.requestSubmit());
    await page.getByRole("list", { name: `Files of ${quick}` }).waitFor();
    await page.waitForTimeout(2000);
    assert.equal(await page.getByRole("list", { name: `Files of ${slow}` }).count(), 0);
    await page.unroute(`**/api/models/${slow}**`);
  });

  test("a connection cut at 40% is resumed by itself", async () => {
    const { page } = opened;
    const repository = offer("cut");
    let tries = 0;
    hub.trouble(() => ((tries += 1) === 1 ? { cut: 0.4 } : {}));
    await list(page, repository);
    await press(page, /^Download/);
    await loaded(page, "cut");
    const [first, second] = hub.downloads();
    assert.equal(first.range, null);
    assert.match(second.range, /^bytes=[1-9]\d+-$/);
  });

  test("a wrong byte is noticed, and the file thrown away", async () => {
    const { page } = opened;
    const repository = offer("flipped");
    hub.trouble(() => ({ flip: 1_000_000 }));
    await list(page, repository);
    await press(page, /^Download/);
    const error = page.locator("dialog").getByTestId("error").filter({ hasText: "damaged on its way" });
    await error.waitFor({ timeout: 60_000 });
    assert.match(await error.textContent(), /SHA-256/);
    hub.trouble(() => ({}));
    await page.getByRole("button", { name: "Try again" }).click();
    await loaded(page, "flipped");
    assert.equal(hub.downloads().at(-1).range, null);
  });

  test("storage that does not suffice is told of, before a byte is fetched or when the browser refuses one", async () => {
    const { page, context } = opened;
    const repository = offer("full");
    await list(page, `${repository}:Q6_K`);
    await page.getByText(/does not fit: .* of storage are missing/).waitFor();
    assert.equal(await page.locator("dialog").getByRole("button", { name: /^Download/ }).isDisabled(), true);
    assert.equal(hub.downloads().length, 0);
    // What Chromium tells of the quota is a fixed number: a smaller one is met when it is exceeded.
    const session = await context.newCDPSession(page);
    const origin = new URL(server.address).origin;
    const { usage } = await session.send("Storage.getUsageAndQuota", { origin });
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + 1_000_000 });
    await list(page, `${repository}:Q4_K_M`);
    await press(page, /^Download/);
    const error = page.locator("dialog").getByTestId("error").filter({ hasText: /storage is full after/ });
    await error.waitFor({ timeout: 60_000 });
    await session.send("Storage.overrideQuotaForOrigin", { origin });
    await error.getByRole("button", { name: "Try again" }).click();
    await loaded(page, "full");
    assert.match(hub.downloads().at(-1).range, /^bytes=[1-9]\d+-$/);
  });

  test("what is not there, what is busy and what is no model are told apart", async () => {
    const { page } = opened;
    const repository = offer("gone");
    const error = page.locator("dialog").getByTestId("error");
    for (const [text, said] of [
      ["nobody/nothing", /does not exist, is private/],
      ["busy/repository", /slow down \(429\); try again in 7 s/],
      [`${repository}:Q5_K_M`, /no usable file of Q5_K_M/],
      [`hf://${repository}/other.gguf`, /has no file other\.gguf/],
      ["https://example.org/a/b", /example\.org is not huggingface\.co/],
      ["odd/portal", /not a list of files/],
      ["https://huggingface.co/datasets/a/b", /address of a dataset/],
      ["just words", /is not a repository/],
    ]) {
      await list(page, text);
      await error.filter({ hasText: said }).waitFor();
    }
    hub.trouble(() => ({ status: 404 }));
    await list(page, repository);
    await press(page, /^Download/);
    await error.filter({ hasText: /Hugging Face has no .*gone\.Q4_K_M\.gguf/ }).waitFor();
  });

  test("a download goes on when the engine is ended, and what is left of one without its description is found again", async () => {
    const { page } = opened;
    const repository = offer("alone");
    hub.trouble(() => ({ stall: 0.5 }));
    await list(page, repository);
    await press(page, /^Download/);
    await page.waitForFunction(() => /[1-9][\d.]* [kM]B of/.test(document.querySelector('[data-testid="model-progress"]')?.textContent ?? ""));
    // As after a lost device: the engine's worker is ended and started anew.
    await page.evaluate(() => globalThis.glowworm.destroyDevices());
    await page.locator("dialog").getByRole("button", { name: "Load again" }).click();
    await modelReady(page, 120_000);
    await page.locator("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("The download is paused").waitFor();
    // A crash while a description is written, as an earlier version of the page wrote it, leaves an empty one.
    await page.evaluate(async () => {
      const models = await (await navigator.storage.getDirectory()).getDirectoryHandle("models");
      for await (const name of models.keys()) {
        if (!name.includes("alone") || !name.endsWith(".json")) continue;
        const file = await (await models.getFileHandle(name)).createWritable();
        await file.close();
      }
    });
    await page.reload();
    await modelReady(page, 120_000);
    hub.trouble(() => ({}));
    await page.getByTestId("model-choice").click();
    const entry = page.locator("dialog").getByRole("listitem").filter({ hasText: "description lost" });
    await entry.getByRole("button", { name: "Find again" }).click();
    await press(page, /^(Resume download|Download)/);
    await loaded(page, "alone");
    assert.match(hub.downloads().at(-1).range, /^bytes=[1-9]\d+-$/);
  });

  test("a download that is paused, and left by closing the page, goes on in the next visit", async () => {
    const { page } = opened;
    const repository = offer("paused");
    hub.trouble(() => ({ stall: 0.5 }));
    await list(page, repository);
    await press(page, /^Download/);
    await page.waitForFunction(() => /[1-9][\d.]* [kM]B of/.test(document.querySelector('[data-testid="model-progress"]')?.textContent ?? ""));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("The download is paused").waitFor();
    await page.reload();
    await modelReady(page, 120_000);
    hub.trouble(() => ({}));
    await page.getByTestId("model-choice").click();
    await page.locator("dialog").getByRole("listitem").filter({ hasText: "paused.Q4_K_M.gguf" }).getByRole("button", { name: "Resume", exact: true }).click();
    await loaded(page, "paused");
    assert.match(hub.downloads().at(-1).range, /^bytes=[1-9]\d+-$/);
  });
});
