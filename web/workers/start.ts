/**
 * Starts a module worker that is bound by the page's Content-Security-Policy. A worker loaded from an address has the
 * policy of that response's headers, and a static host sends none; one loaded from a blob inherits the page's. So the
 * worker's script is imported by a blob of one line.
 */
export function startWorker(address: string, name: string): Worker {
  const script = `import ${JSON.stringify(new URL(address, document.baseURI).href)};`;
  const blob = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(blob, { type: "module", name });
}
