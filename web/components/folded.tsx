import { useSignal } from "@preact/signals";
import { bytes, integer } from "../format";

/** Characters that are laid out at once: a text of 20 MB would hold the page for seconds. */
export const PIECE = 20_000;

/** A text of any length: its beginning, and more of it as it is asked for. */
export function Folded({ text, testid, class: name }: { text: string; testid?: string; class?: string }) {
  const shown = useSignal(PIECE);
  if (text.length <= PIECE) return <pre class={name} data-testid={testid} dir="auto">{text}</pre>;
  const left = text.length - shown.value;
  return (
    <>
      <pre class={name} data-testid={testid} dir="auto">{text.slice(0, shown.value)}{left > 0 && " …"}</pre>
      {left > 0 && (
        <button type="button" class="link" onClick={() => (shown.value += Math.max(PIECE, shown.value))}>
          {integer(shown.value)} of {integer(text.length)} characters are shown; show more of the {bytes(text.length)}
        </button>
      )}
    </>
  );
}
