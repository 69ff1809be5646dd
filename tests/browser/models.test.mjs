// Models from elsewhere: the fixtures' logits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { modelReady, openPage, sharedFile, startServer } from "./support.mjs";

/** Tokens of the inputs: of all that the fixtures have, 70 are more than one pass of the software adapter's 64. */
const LENGTHS = [7, 70, 200];

let server;
before(async () => {
  server = await startServer();
});
after(() => server.close());

/** The tensors of a safetensors file that a test compares with. */
function safetensors(path) {
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString());
  return (name) => {
    const { dtype, data_offsets: [from, to] } = header[name];
    const data = bytes.buffer.slice(bytes.byteOffset + 8 + length + from, bytes.byteOffset + 8 + length + to);
    switch (dtype) {
      case "F32": return new Float32Array(data);
      case "I64": return Array.from(new BigInt64Array(data), Number);
      case "I32": return Array.from(new Int32Array(data));
      default: throw new Error(`${name} is ${dtype}`);
    }
  };
}

async function loadFile(page, path) {
  await page.getByTestId("model-file").setInputFiles(path);
  const name = path.split("/").at(-1);
  await page.waitForFunction((wanted) => document.querySelector('[data-testid="model-choice"]')?.textContent.includes(wanted), name);
  await modelReady(page, 120_000);
}

describe("logits of the fixtures, through the file picker", () => {
  let opened;
  before(async () => {
    opened = await openPage({ address: server.address });
  });
  after(() => opened.browser.close());

  for (const [fixture, kind] of [["eq", "Q8_0"], ["eq", "Q4_0"], ["eq", "Q4_K_M"], ["eq", "Q5_K_M"], ["eq", "Q6_K"], ["grp", "Q4_K_M"]]) {
    test(`${fixture} ${kind}`, async () => {
      const { page } = opened;
      const reference = safetensors(sharedFile(`fixtures/${fixture}/reference.safetensors`));
      const oracle = safetensors(sharedFile(`fixtures/${fixture}/llamacpp.safetensors`));
      await loadFile(page, sharedFile(`fixtures/${fixture}/model-${kind}.gguf`));
      for (const length of LENGTHS) {
        const ids = reference(`ids_${length}`);
        const expected = oracle(`${kind}.deq.logits_${length}`);
        // Of long inputs the oracle has the last positions. A message of numbers is long, so the page compares.
        const { off, count } = await page.evaluate(
          async ([tokens, wanted]) => {
            const found = (await globalThis.glowworm.logits(tokens)).slice(-wanted.length);
            return { off: found.reduce((most, logit, at) => Math.max(most, Math.abs(logit - wanted[at])), 0), count: found.length };
          },
          [ids, Array.from(expected)],
        );
        assert.equal(count, expected.length);
        assert.ok(off < 1e-3, `${length} tokens: off by ${off}`);
      }
    });
  }
});
