/**
 * Keeps the page, the built-in model and the samples for use without a network. Nothing else goes through here: models
 * from Hugging Face have a store of their own.
 */

/// <reference lib="webworker" />

export {};

declare const self: ServiceWorkerGlobalScope;
declare const __FILES__: string[];

const files = __FILES__;
// File names carry a hash of their content, so the list is the version.
const version = `glowworm-${files.join("|").split("").reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 7)}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(version)
      .then((cache) => cache.addAll(files))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name.startsWith("glowworm-") && name !== version).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  const page = request.mode === "navigate";
  event.respondWith(
    caches.open(version).then(async (cache) => {
      const kept = await cache.match(page ? "./" : request);
      // The page itself: the newest, if there is a network. Its files never change under their names.
      if (kept !== undefined && !page) return kept;
      try {
        return await fetch(request);
      } catch (error) {
        if (kept !== undefined) return kept;
        throw error;
      }
    }),
  );
});
