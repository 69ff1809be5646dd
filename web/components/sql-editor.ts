/** CodeMirror for SQL, loaded on its own after the page is there. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLite, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export interface SqlEditor {
  set(text: string): void;
  schema(tables: Record<string, string[]>): void;
  destroy(): void;
}

// Type does the work: keywords bold, literals in the accent, comments dim. No rainbow.
const look = HighlightStyle.define([
  { tag: tags.keyword, fontWeight: "600" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--glow-ink)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
]);

export function createEditor(
  parent: HTMLElement,
  text: string,
  on: { change: (text: string) => void; run: () => void },
): SqlEditor {
  const language = new Compartment();
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        bracketMatching(),
        syntaxHighlighting(look),
        language.of(sql({ dialect: SQLite })),
        EditorView.lineWrapping,
        placeholder("SELECT … (any query that only reads)"),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (on.run(), true) }])),
        // Tab leaves the editor, as everywhere on the page.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL", "data-testid": "final-sql", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) on.change(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    set(next) {
      if (next !== view.state.doc.toString()) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      }
    },
    schema(tables) {
      view.dispatch({ effects: language.reconfigure(sql({ dialect: SQLite, schema: tables })) });
    },
    destroy: () => view.destroy(),
  };
}
