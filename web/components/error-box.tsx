import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { sentence } from "../format";

/** An error where it happened: what, and what can be done. It comes into view, and with `close` it can be put away. */
export function ErrorBox({ text, close, children }: { text: string; close?: () => void; children?: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [text]);
  return (
    <div class="error" role="alert" data-testid="error" ref={box}>
      <p>{sentence(text)}</p>
      {children}
      {close !== undefined && <button type="button" class="link small" onClick={close}>Close this message</button>}
    </div>
  );
}
