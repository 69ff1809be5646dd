/** A worker of the page's and what is asked of it. When the worker ends, every answer that is still owed fails. */

import * as Comlink from "comlink";
import { startWorker } from "./workers/start";

export class WorkerHandle<Api> {
  readonly remote: Comlink.Remote<Api>;
  #worker: Worker;
  #owed = new Set<(reason: Error) => void>();
  #ended: Error | null = null;

  constructor(address: string, name: string) {
    this.#worker = startWorker(address, name);
    // A script that cannot be fetched or started answers nothing at all.
    this.#worker.addEventListener("error", (event) => this.end(new Error(`a part of the page did not start (${event.message || name}); load the page again`)));
    this.remote = Comlink.wrap<Api>(this.#worker);
  }

  /** Asks something. Comlink alone would leave the promise open for ever if the worker is ended meanwhile. */
  call<T>(run: (remote: Comlink.Remote<Api>) => Promise<T>): Promise<T> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise<T>((resolve, reject) => {
      this.#owed.add(reject);
      run(this.remote)
        .then(resolve, reject)
        .finally(() => this.#owed.delete(reject));
    });
  }

  end(reason: Error): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#worker.terminate();
    for (const reject of this.#owed) reject(reason);
    this.#owed.clear();
  }
}
