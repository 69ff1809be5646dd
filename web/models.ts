/** Choosing a model: what the hub offers, what is stored, what is being downloaded. */

import { signal } from "@preact/signals";
import * as Comlink from "comlink";
import { engine } from "./engine-client";
import { message } from "./format";
import { list, type Listing } from "./hugging-face";
import { modelPanelOpen, status } from "./state";
import type { Progress, Stored } from "./workers/store";

export const repository = signal("");
export const listing = signal<Listing | null>(null);
export const chosenPath = signal<string | null>(null);
export const hubBusy = signal(false);
export const hubError = signal<string | null>(null);
export const progress = signal<(Progress & { path: string }) | null>(null);
/** Why a download stands still, with what is kept. */
export const paused = signal<string | null>(null);
export const storedModels = signal<readonly Stored[]>([]);
export const freeBytes = signal<number | null>(null);
export const storeError = signal<string | null>(null);

export async function refreshStored(): Promise<void> {
  try {
    storedModels.value = await engine.library.call((remote) => remote.stored());
    freeBytes.value = await engine.library.call((remote) => remote.freeSpace());
  } catch (error) {
    storeError.value = message(error);
  }
}

/** Rises with every listing that is asked for: only the last is heard of. */
let listings = 0;

export async function listRepository(): Promise<void> {
  const mine = (listings += 1);
  hubError.value = null;
  hubBusy.value = true;
  try {
    const found = await list(repository.value);
    if (mine !== listings) return;
    listing.value = found;
    chosenPath.value = found.chosen;
    status.value = `${found.files.length} files in ${found.place.repository}.`;
    await refreshStored();
    void engine.selfTest();
  } catch (error) {
    if (mine !== listings) return;
    listing.value = null;
    hubError.value = message(error);
  } finally {
    if (mine === listings) hubBusy.value = false;
  }
}

/** Downloads the chosen file, or what is missing of it, and loads it. */
export async function downloadChosen(): Promise<void> {
  const found = listing.value;
  const file = found?.files.find((each) => each.path === chosenPath.value);
  if (found == null || file === undefined) return;
  await fetchAndLoad({ repository: found.place.repository, revision: found.place.revision, path: file.path, size: file.size, sha256: file.sha256 });
}

export async function fetchAndLoad(wanted: { repository: string; revision: string; path: string; size: number; sha256: string | null }): Promise<void> {
  if (progress.value !== null) return;
  hubError.value = null;
  paused.value = null;
  const { path } = wanted;
  progress.value = { phase: "downloading", done: 0, total: wanted.size, rate: 0, note: "", path };
  try {
    const told = Comlink.proxy((next: Progress) => {
      if (progress.value !== null) progress.value = { ...next, path };
    });
    const asked = { repository: wanted.repository, revision: wanted.revision, path, size: wanted.size, sha256: wanted.sha256 };
    const done = await engine.library.call((remote) => remote.download(asked, told));
    progress.value = null;
    await refreshStored();
    await useStored(done);
  } catch (error) {
    progress.value = null;
    const text = message(error);
    if (text === "paused") paused.value = "The download is paused; what is there is kept, also when the page is closed.";
    else hubError.value = text;
    await refreshStored();
  }
}

export function pauseDownload(): void {
  engine.library.call((remote) => remote.pause()).catch((error: unknown) => (hubError.value = message(error)));
}

export async function useStored(model: Stored): Promise<void> {
  // Whatever was said of the models before, this is a new try.
  storeError.value = null;
  await engine.load({ kind: "stored", id: model.id }, model.prompt, model.path.split("/").at(-1) ?? model.path);
}

export async function removeStored(model: Stored): Promise<void> {
  storeError.value = null;
  try {
    await engine.library.call((remote) => remote.remove(model.id));
  } catch (error) {
    storeError.value = `${model.path} could not be deleted: ${message(error)}`;
  }
  await refreshStored();
}

/** What is left of a download whose description is lost: its repository tells again what it is. */
export function lookUpAgain(model: Stored): void {
  repository.value = `hf://${model.repository}/${model.path}`;
  void listRepository();
}

export function closePanel(): void {
  modelPanelOpen.value = false;
}
