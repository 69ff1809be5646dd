import type { ComponentChildren } from "preact";
import { sentence } from "../format";

/** An error where it happened: what, and what can be done. */
export function ErrorBox({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <div class="error" role="alert" data-testid="error">
      <p>{sentence(text)}</p>
      {children}
    </div>
  );
}
