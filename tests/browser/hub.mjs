// A server that imitates the routes of Hugging Face that the page uses: a listing with sizes and SHA-256, `resolve` with
// its redirect to another host, ranges, and everything that goes wrong there.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DOWNLOADS = "cas-bridge.xethub.hf.co";

export async function startHub() {
  const folder = mkdtempSync(join(tmpdir(), "hub-"));
  const key = join(folder, "key.pem");
  const cert = join(folder, "cert.pem");
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=huggingface.co", "-keyout", key, "-out", cert], { stdio: "ignore" });

  /** repository → path → bytes, or `{length}` for a file that is only listed */
  const repositories = new Map();
  /** Every request: host, path, range. */
  const requests = [];
  /** Called before a download is sent; may return `{cut, stall, flip, status, headers}`. */
  let trouble = () => ({});

  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    const url = new URL(request.url, `https://${request.headers.host}`);
    requests.push({ host: url.hostname, path: url.pathname, range: request.headers.range ?? null });
    const headers = {
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "Content-Range, Content-Length, ETag, Link, X-Linked-Size, X-Linked-ETag, Retry-After",
    };
    const refuse = (status, more = {}) => response.writeHead(status, { ...headers, ...more }).end("no");
    if (request.method === "OPTIONS") {
      return response.writeHead(204, { ...headers, "access-control-allow-headers": "*", "access-control-allow-methods": "GET" }).end();
    }
    const listing = /^\/api\/models\/([^/]+\/[^/]+)\/tree\/main$/.exec(url.pathname);
    if (listing !== null) {
      const files = repositories.get(listing[1]);
      if (listing[1] === "odd/portal") return response.writeHead(200, { ...headers, "content-type": "text/html" }).end("<html>Log in to the network");
      // The hub does not tell a private repository from none.
      if (files === undefined) return refuse(listing[1].startsWith("busy/") ? 429 : 401, { "retry-after": "7" });
      const entries = [...files].map(([path, bytes]) => ({
        type: "file",
        path,
        oid: "0".repeat(40),
        size: bytes.length,
        ...(path.endsWith(".gguf") ? { lfs: { oid: Buffer.isBuffer(bytes) ? createHash("sha256").update(bytes).digest("hex") : "0".repeat(64), size: bytes.length, pointerSize: 135 } } : {}),
      }));
      return response.writeHead(200, { ...headers, "content-type": "application/json" }).end(JSON.stringify(entries));
    }
    const resolved = /^\/([^/]+\/[^/]+)\/resolve\/main\/(.+)$/.exec(url.pathname);
    if (resolved === null) return refuse(404);
    const bytes = repositories.get(resolved[1])?.get(decodeURIComponent(resolved[2]));
    if (bytes === undefined) return refuse(404);
    if (url.hostname !== DOWNLOADS && resolved[2].endsWith(".gguf")) {
      return response.writeHead(302, { ...headers, location: `https://${DOWNLOADS}${url.pathname}?signature=x`, "x-linked-size": String(bytes.length) }).end();
    }
    const fault = trouble({ range: request.headers.range ?? null, path: resolved[2] }) ?? {};
    if (fault.status !== undefined) return refuse(fault.status, fault.headers);
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const data = Buffer.from(bytes.subarray(from));
    if (fault.flip !== undefined) data[fault.flip - from] ^= 1;
    response.writeHead(from > 0 ? 206 : 200, {
      ...headers,
      "content-length": data.length,
      etag: '"x"',
      ...(from > 0 ? { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
    });
    const share = fault.cut ?? fault.stall;
    if (share === undefined) return response.end(data);
    response.write(data.subarray(0, Math.floor(data.length * share)));
    if (fault.cut !== undefined) setTimeout(() => response.destroy(), 400);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return {
    repositories,
    requests,
    downloads: () => requests.filter((request) => request.host === DOWNLOADS),
    trouble: (next) => (trouble = next),
    /** What a Chromium needs to take this for huggingface.co. */
    browser: {
      args: [`--host-resolver-rules=MAP huggingface.co:443 127.0.0.1:${port}, MAP ${DOWNLOADS}:443 127.0.0.1:${port}`, "--ignore-certificate-errors"],
      context: { ignoreHTTPSErrors: true },
    },
    close: () =>
      new Promise((done) => {
        rmSync(folder, { recursive: true });
        server.closeAllConnections();
        server.close(done);
      }),
  };
}
