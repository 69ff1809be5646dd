import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { valueOf } from "../actions";
import { bytes, integer, message, real } from "../format";
import { saveFile } from "../save";
import type { Cell } from "../cells";
import type { Result } from "../state";
import { Folded } from "./folded";

/** One value of a result, opened below the table. */
export interface Opened {
  row: number;
  column: number;
  name: string;
  cell: Cell;
}

export function Viewer({ result, opened, close }: { result: Result; opened: Opened; close: () => void }) {
  const value = useSignal<unknown>(undefined);
  const failed = useSignal<string | null>(null);
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
    if (typeof full === "bigint" || typeof full === "number") saveFile(new Blob([typeof full === "number" ? real(full) : full.toString()], { type: "text/plain" }), `${opened.name || "value"}.txt`);
    if (typeof full === "string") saveFile(new Blob([full], { type: "text/plain" }), `${opened.name || "value"}.txt`);
    else if (full instanceof Uint8Array) saveFile(new Blob([full as Uint8Array<ArrayBuffer>]), `${opened.name || "value"}.bin`);
  };
  return (
    <div class="viewer" role="region" aria-label={`Value of ${opened.name}`}>
      <div class="row">
        <span class="grow">
          <strong>{opened.name}</strong> <span class="dim">
            row {integer(opened.row + 1)}
            {typeof full === "string" && ` · ${integer(full.length)} characters`}
            {full instanceof Uint8Array && ` · ${bytes(full.length)}`}
          </span>
        </span>
        <button type="button" class="button" onClick={save} disabled={full === undefined}>Save</button>
        <button type="button" class="button" onClick={close}>Close</button>
      </div>
      {failed.value !== null && <p>{failed.value}</p>}
      {typeof full === "string" && <div class="value-text" tabIndex={0} role="region" aria-label="Text"><Folded text={full} /></div>}
      {(typeof full === "bigint" || typeof full === "number") && <pre tabIndex={0}>{typeof full === "number" ? real(full) : full.toString()}</pre>}
      {/* What only begins like a picture is shown as the bytes that it is. */}
      {picture.value !== null && <img src={picture.value} alt={`Picture in ${opened.name}`} onError={() => (picture.value = null)} />}
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
