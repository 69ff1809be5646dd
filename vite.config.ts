import { defineConfig, type Plugin } from "vite";

/**
 * What the page may do, in its own words. The workers are started from blob addresses, so they inherit it.
 * Inline styles are allowed because CodeMirror and the virtual list set them; images only from the page itself and
 * from memory, so no style can carry data out.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval' blob:",
  "worker-src 'self' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "manifest-src 'self'",
  "connect-src 'self' https://huggingface.co https://*.huggingface.co https://*.hf.co",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Puts the policy into the built page. Not in development, where Vite's own client needs more. */
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
    ],
  };
}

/** Tells the service worker which files there are, and gives it a version that changes when any of them does. */
function offlineList(): Plugin {
  return {
    name: "offline-list",
    apply: "build",
    generateBundle(_, bundle) {
      const worker = Object.values(bundle).find((part) => part.fileName === "sw.js");
      if (worker?.type !== "chunk") throw new Error("the service worker was not built");
      const files = Object.keys(bundle).filter((name) => name !== "sw.js").sort();
      worker.code = worker.code.replace("__FILES__", JSON.stringify(["./", ...files.filter((name) => name !== "index.html"), "icon.svg"]));
    },
  };
}

export default defineConfig({
  // Any static host, any sub-path.
  base: "./",
  publicDir: "web/public",
  assetsInclude: ["**/*.gguf", "**/*.sqlite"],
  plugins: [contentSecurityPolicy(), offlineList()],
  worker: { format: "es" },
  optimizeDeps: { entries: ["index.html"] },
  server: { watch: { ignored: ["**/target/**", "**/crates/**", "**/dist/**", "**/docs/**"] } },
  build: {
    target: "es2023",
    outDir: "dist",
    // Models and databases are fetched when needed; inlining one would make every visit pay for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: "index.html", sw: "web/service-worker.ts" },
      output: { entryFileNames: (chunk) => (chunk.name === "sw" ? "sw.js" : "assets/[name]-[hash].js") },
    },
  },
});
