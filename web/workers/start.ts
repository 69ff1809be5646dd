/** The scripts that the page holds itself, by their addresses. */
const kept = new Map<string, string>();

/**
 * Fetches a worker's script for all that are started later, so that starting one asks the server for nothing. The script
 * must stand alone: in a blob there is nothing beside it.
 */
export async function keepScript(address: string): Promise<void> {
  // Vite's development server gives a script that imports others.
  if (import.meta.env.DEV) return;
  const answer = await fetch(address);
  if (answer.ok) kept.set(address, await answer.text());
}

/**
 * Starts a module worker that is bound by the page's Content-Security-Policy. A worker loaded from an address has the
 * policy of that response's headers, and a static host sends none; one loaded from a blob inherits the page's. So the
 * worker's script is imported by a blob of one line.
 */
export function startWorker(address: string, name: string): Worker {
  const script = kept.get(address) ?? `import ${JSON.stringify(new URL(address, document.baseURI).href)};`;
  const blob = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(blob, { type: "module", name });
}
