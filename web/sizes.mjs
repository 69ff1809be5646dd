// Prints what the page weighs, and fails where it has grown past what was agreed.

import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const files = readdirSync("dist/assets").map((name) => {
  const data = readFileSync(`dist/assets/${name}`);
  return { name: name.replace(/-[\w-]{8}\./, "."), raw: data.length, gzip: gzipSync(data, { level: 9 }).length };
});
const LIMITS = { "engine_bg.wasm": 2_500_000, "index.js": 150_000 };
let wrong = false;
for (const { name, raw, gzip } of files.sort((a, b) => b.raw - a.raw)) {
  const limit = LIMITS[name];
  const over = limit !== undefined && gzip > limit;
  wrong ||= over;
  console.log(`${name.padEnd(26)} ${(raw / 1000).toFixed(0).padStart(7)} kB ${(gzip / 1000).toFixed(0).padStart(7)} kB gzip${over ? `  MORE THAN ${limit / 1000} kB` : ""}`);
}
if (wrong) process.exitCode = 1;
