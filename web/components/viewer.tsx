import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { valueOf } from "../actions";
import { bytes, integer, message } from "../format";
import { saveFile } from "../save";
import type { Cell } from "../cells";
import type { Result } from "../state";

/** One value of a result, opened below the table. */
export interface Opened {
  row: number;
  column: number;
  name: string;
  cell: Cell;
}

/** Characters that are laid out at once: a text of 20 MB would hold the page for seconds. */
const PIECE = 20_000;

export function Viewer({ result, opened, close }: { result: Result; opened: Opened; close: () => void }) {
  const value = useSignal<unknown>(undefined);
  const failed = useSignal<string | null>(null);
  const shown = useSignal(PIECE);
  const picture = useSignal<string | null>(null);
  const { cell } = opened;
  const image = cell !== null && typeof cell === "object" && "bytes" in cell ? cell.image : null;
  useEffect(() => {
    let address: string | null = null;
    valueOf(result, opened.row, opened.column).then(
      (full) => {
        value.value = full;
        if (full instanceof Uint8Array && image !== null) {
          address = URL.createObjectURL(new Blob([full as Uint8Array<ArrayBuffer>], { type: image }));
          picture.value = address;
        }
      },
      (error: unknown) => (failed.value = message(error)),
    );
    return () => {
      if (address !== null) URL.revokeObjectURL(address);
    };
  }, []);
  const full = value.value;
  const save = (): void => {
    if (typeof full === "string") saveFile(new Blob([full], { type: "text/plain" }), `${opened.name || "value"}.txt`);
    else if (full instanceof Uint8Array) saveFile(new Blob([full as Uint8Array<ArrayBuffer>]), `${opened.name || "value"}.bin`);
  };
  return (
    <div class="viewer" role="region" aria-label={`Value of ${opened.name}`}>
      <div class="row">
        <span class="grow">
          <strong>{opened.name}</strong> <span class="dim">row {integer(opened.row + 1)}</span>{" "}
          {typeof full === "string" && <span class="dim">{integer(full.length)} characters</span>}
          {full instanceof Uint8Array && <span class="dim">{bytes(full.length)}</span>}
        </span>
        <button type="button" class="button" onClick={save} disabled={full === undefined}>Save</button>
        <button type="button" class="button" onClick={close}>Close</button>
      </div>
      {failed.value !== null && <p>{failed.value}</p>}
      {typeof full === "string" && <pre tabIndex={0} dir="auto">{full.slice(0, shown.value)}</pre>}
      {typeof full === "string" && full.length > shown.value && (
        <button type="button" class="link" onClick={() => (shown.value += PIECE)}>
          {integer(shown.value)} of {integer(full.length)} characters are shown; show more
        </button>
      )}
      {picture.value !== null && <img src={picture.value} alt={`Picture in ${opened.name}`} />}
      {full instanceof Uint8Array && picture.value === null && <pre tabIndex={0}>{hex(full)}</pre>}
    </div>
  );
}

/** The first bytes, sixteen a line, as hex editors show them. */
function hex(data: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(data.length, 512); at += 16) {
    const piece = [...data.subarray(at, at + 16)];
    const digits = piece.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = piece.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${digits.padEnd(47)}  ${text}`);
  }
  if (data.length > 512) lines.push(`… ${bytes(data.length - 512)} more`);
  return lines.join("\n");
}
