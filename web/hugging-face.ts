/** Addresses and listings of Hugging Face, and nothing about how files are kept. */

export const HUB = "https://huggingface.co";

/** The conversion that is suggested to somebody who has no model yet. */
export const SUGGESTED = "mradermacher/qwen3.5-2b-grpo-sqale-GGUF";

export interface Place {
  repository: string;
  revision: string;
  /** A file that was named outright. */
  file: string | null;
  /** A quantisation that was asked for, such as Q4_K_M. */
  quantisation: string | null;
}

/**
 * Reads what people paste: `owner/name`, `owner/name:Q4_K_M`, the same after `hf:` or `-hf`, `hf://owner/name/file.gguf`,
 * or an address of a repository, of a file's page (`/blob/`) or of the file itself (`/resolve/`).
 */
export function parsePlace(text: string): Place {
  const given = text.trim();
  // As on the command lines of this program and of llama.cpp.
  let rest = given.replace(/^(-hf|--hf-repo|--model|-m)[\s=]+/, "").trim();
  const wrong = (): Error =>
    new Error(`${JSON.stringify(given.length > 80 ? `${given.slice(0, 79)}…` : given)} is not a repository; write owner/name, owner/name:Q4_K_M, hf://owner/name/file.gguf, or paste an address of huggingface.co`);
  const none = { revision: "main", file: null, quantisation: null };
  const part = (encoded: string): string => {
    try {
      return decodeURIComponent(encoded);
    } catch {
      throw wrong();
    }
  };
  if (/^hf:\/\//i.test(rest)) {
    const [owner, name, ...file] = rest.slice(5).split("/").filter((each) => each !== "").map(part);
    if (owner === undefined || name === undefined) throw wrong();
    if (file.length === 0) return parsePlace(`${owner}/${name}`);
    return { ...none, repository: checked(owner, name), file: file.join("/") };
  }
  if (/^https?:/i.test(rest) || /^(www\.)?(huggingface\.co|hf\.co)\//i.test(rest)) {
    let address: URL;
    try {
      address = new URL(/^https?:/i.test(rest) ? rest : `https://${rest}`);
    } catch {
      throw wrong();
    }
    if (!/^(www\.)?(huggingface\.co|hf\.co)$/i.test(address.hostname)) {
      throw new Error(`${address.hostname} is not huggingface.co. Models are only fetched from there; download the file and choose it below`);
    }
    const parts = address.pathname.split("/").filter((each) => each !== "").map(part);
    if (parts[0] === "datasets" || parts[0] === "spaces") {
      throw new Error(`this is the address of a ${parts[0].slice(0, -1)} on Hugging Face, not of a model; look for a repository whose name mostly ends in -GGUF`);
    }
    const [owner, name, kind, revision, ...file] = parts;
    if (owner === undefined || name === undefined) throw wrong();
    const repository = checked(owner, name);
    if (kind === "blob" || kind === "resolve" || kind === "raw") {
      return { ...none, repository, revision: revision ?? "main", file: file.length > 0 ? file.join("/") : null };
    }
    return { ...none, repository, revision: kind === "tree" ? (revision ?? "main") : "main" };
  }
  rest = rest.replace(/^hf:/i, "");
  let quantisation: string | null = null;
  const colon = rest.indexOf(":");
  if (colon > 0) {
    quantisation = rest.slice(colon + 1).trim();
    rest = rest.slice(0, colon);
    if (!/^\w[\w.-]*$/.test(quantisation)) {
      throw new Error(`after the colon of ${JSON.stringify(given.slice(0, 80))} stands no quantisation; write owner/name:Q4_K_M, or owner/name to see all files`);
    }
  }
  const [owner, name, ...file] = rest.replace(/\/+$/, "").split("/");
  if (owner === undefined || name === undefined || (quantisation !== null && file.length > 0)) throw wrong();
  if (owner === "datasets" || owner === "spaces") return parsePlace(`${HUB}/${rest}`);
  if (file.some((each) => each === "" || each === "." || each === "..")) throw wrong();
  return { ...none, repository: checked(owner, name), file: file.length > 0 ? file.join("/") : null, quantisation };

  function checked(first: string, second: string): string {
    const good = /^[A-Za-z0-9][\w.-]*$/;
    if (!good.test(first) || !good.test(second)) throw wrong();
    return `${first}/${second}`;
  }
}

export interface ModelFile {
  path: string;
  size: number;
  /** The server's SHA-256, where it gives one. */
  sha256: string | null;
  /** Why it cannot be used. */
  problem: string | null;
}

export interface Listing {
  place: Place;
  files: ModelFile[];
  /** The path of the file to begin with. */
  chosen: string | null;
  /** Path of a prompt file that lies next to the models. */
  prompt: string | null;
  /** Files that are not shown. */
  left: number;
}

/** What a listing says of one entry, as far as it can be made out. */
interface TreeEntry {
  path: string;
  size: number | null;
  sha256: string | null;
}

/** Reads one page of a listing. A proxy or a login page may answer in the hub's place, so nothing is taken for granted. */
export function readListing(text: string): TreeEntry[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    entries = null;
  }
  if (!Array.isArray(entries)) {
    throw new HubError("the answer is not a list of files, so perhaps it does not come from Hugging Face (a login page of the network, a proxy); try again, or download the file yourself and choose it below", false);
  }
  const record = (value: unknown): Record<string, unknown> => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});
  const length = (value: unknown): number | null => (typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null);
  return entries.flatMap((entry): TreeEntry[] => {
    const { type, path, size, lfs } = record(entry);
    if (type !== "file" || typeof path !== "string" || path === "") return [];
    const large = record(lfs);
    const hash = typeof large["oid"] === "string" && /^[0-9a-f]{64}$/i.test(large["oid"]) ? large["oid"] : null;
    return [{ path, size: length(large["size"]) ?? length(size), sha256: hash }];
  });
}

/** Files that are shown of a repository: what has more is a collection, in which a file is better named. */
const MOST_FILES = 200;

export async function list(text: string): Promise<Listing> {
  const place = parsePlace(text);
  let files: ModelFile[] = [];
  let prompt: string | null = null;
  let next: string | null = `${HUB}/api/models/${place.repository}/tree/${encodeURIComponent(place.revision)}?recursive=1`;
  // A listing comes in pages of a thousand.
  for (let page = 0; next !== null && page < 20; page += 1) {
    const response: Response = await hubFetch(next, place.repository);
    for (const entry of readListing(await response.text())) {
      if (/(^|\/)(sqale_agent|protocol)\.py$/.test(entry.path)) prompt ??= entry.path;
      if (!/\.gguf$/i.test(entry.path)) continue;
      const problem = entry.size === null ? "its size is not known" : fileProblem(entry.path);
      files.push({ path: entry.path, size: entry.size ?? 0, sha256: entry.sha256, problem });
    }
    const following: string | null = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get("link") ?? "")?.[1] ?? null;
    next = following !== null && following !== next && following.startsWith(`${HUB}/`) ? following : null;
  }
  if (files.length === 0) {
    throw new Error(`${place.repository} has no GGUF files. Look for a conversion of it, whose name mostly ends in -GGUF, or convert it with: glowworm convert`);
  }
  files.sort((a, b) => a.size - b.size);
  const chosen = choose(files, place);
  const total = files.length;
  if (total > MOST_FILES) files = [...files.filter((file) => file.path === chosen), ...files.filter((file) => file.path !== chosen).slice(0, MOST_FILES - 1)];
  return { place, files, chosen, prompt, left: total - files.length };
}

/** Files that hold no text model, or only a part of one. */
function fileProblem(path: string): string | null {
  const name = path.split("/").at(-1) ?? path;
  if (/^mmproj|[-.]mmproj/i.test(name)) return "the part for pictures, not needed";
  if (/-\d{5}-of-\d{5}\.gguf$/i.test(name)) return "one part of a split file; join them first";
  if (/imatrix/i.test(name)) return "statistics for a quantiser, not a model";
  if (/[-._](IQ[123]|TQ\d|MXFP4|NVFP4)/i.test(name)) return "a quantisation that the shaders do not read";
  return null;
}

function choose(files: ModelFile[], place: Place): string | null {
  if (place.file !== null) {
    const named = files.find((file) => file.path === place.file);
    if (named?.problem != null) throw new Error(`${named.path} of ${place.repository} cannot be used: ${named.problem}`);
    if (named === undefined) throw new Error(`${place.repository} has no file ${place.file}; its GGUF files are ${files.map((file) => file.path).slice(0, 12).join(", ")}`);
    return named.path;
  }
  const usable = files.filter((file) => file.problem === null);
  const named = (wanted: string): ModelFile | undefined =>
    usable.find((file) => new RegExp(`(^|[-._/])${wanted.replace(/[^\w]/g, "\\$&")}([-.]|$)`, "i").test(file.path));
  if (place.quantisation !== null) {
    const found = named(place.quantisation);
    if (found === undefined) throw new Error(`${place.repository} has no usable file of ${place.quantisation}; there are ${usable.map((file) => file.path).slice(0, 12).join(", ") || "none"}`);
    return found.path;
  }
  return (named("Q4_K_M") ?? named("Q4_K_S") ?? named("Q4_0") ?? usable[0])?.path ?? null;
}

export function fileAddress(repository: string, revision: string, path: string): string {
  return `${HUB}/${repository}/resolve/${encodeURIComponent(revision)}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** An answer of the hub that says why there is no file, and whether asking again can help. */
export class HubError extends Error {
  readonly retry: boolean;
  /** Seconds that the server asks to wait. */
  readonly wait: number | null;
  constructor(text: string, retry: boolean, wait: number | null = null) {
    super(text);
    this.retry = retry;
    this.wait = wait;
  }
}

export async function hubFetch(address: string, what: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address, { credentials: "omit", referrerPolicy: "no-referrer", ...options });
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw new HubError("huggingface.co cannot be reached; check the connection", true);
  }
  if (response.ok) return response;
  const wait = Number(response.headers.get("retry-after"));
  switch (response.status) {
    case 401:
    case 403:
      throw new HubError(`Hugging Face does not give out ${what}: it does not exist, is private, or asks its users to agree to terms first. Download it yourself and choose the file below`, false);
    case 404:
      throw new HubError(`Hugging Face has no ${what}; check the spelling`, false);
    case 429: {
      const seconds = Number.isFinite(wait) && wait > 0 ? wait : null;
      throw new HubError(`Hugging Face asks to slow down (429); try again ${seconds === null ? "in a few minutes" : `in ${seconds} s`}`, true, seconds);
    }
    case 416:
      throw new HubError(`${what} has changed on the server; download it anew`, false);
    default:
      throw new HubError(`Hugging Face answered ${response.status} for ${what}`, response.status >= 500);
  }
}
