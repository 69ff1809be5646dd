#!/usr/bin/env node
// Serves a folder of static files on localhost: `node web/serve.mjs dist 8080 [/sub/path]`, or on the port in PORT. What
// a static host does, and no more.

import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".gguf": "application/octet-stream",
  ".sqlite": "application/vnd.sqlite3",
};

/** Starts a server for `folder` below `base`; port 0 takes a free one. `seen` is told of every request. */
export function serve(folder, port = 0, base = "/", seen = () => undefined) {
  const prefix = base.endsWith("/") ? base : `${base}/`;
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
    seen(path);
    const refuse = (status) => response.writeHead(status, { "content-type": "text/plain" }).end(`${status}\n`);
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(405);
    if (!path.startsWith(prefix)) return path === base ? response.writeHead(302, { location: prefix }).end() : refuse(404);
    const inside = normalize(path.slice(prefix.length) || "index.html");
    if (inside.startsWith("..") || inside.includes("\0")) return refuse(404);
    const file = join(folder, inside);
    let length;
    try {
      const facts = statSync(file);
      if (!facts.isFile()) return refuse(404);
      length = facts.size;
    } catch {
      return refuse(404);
    }
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-length": length,
      // Names under assets/ carry a hash; everything else is asked for anew.
      "cache-control": inside.startsWith("assets/") ? "max-age=31536000, immutable" : "no-cache",
    });
    if (request.method === "HEAD") return response.end();
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const { port: taken } = server.address();
      resolve({ address: `http://localhost:${taken}${prefix}`, close: () => new Promise((done) => (server.closeAllConnections(), server.close(done))) });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder = "dist", given = "8080", base = "/"] = process.argv.slice(2);
  const port = process.env.PORT ?? given;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    console.error(`PORT is ${port}, and must be a number from 0 to 65535`);
    process.exit(1);
  }
  const taken = (error) => {
    if (error.code !== "EADDRINUSE") throw error;
    return serve(folder, 0, base);
  };
  const { address } = await serve(folder, Number(port), base).catch(taken);
  console.log(`Glowworm is at ${address} (Ctrl+C ends it)`);
}
