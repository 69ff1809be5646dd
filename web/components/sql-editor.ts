/** CodeMirror for SQL, loaded on its own after the page is there. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLite, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { cutSql, MOST_COLOURED, tooLongToEdit } from "../sql-format";

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
  const locked = new Compartment();
  let tables: Record<string, string[]> = {};
  let coloured = true;
  /** The text that the page has. The editor shows it, or its beginning. */
  let whole = "";
  let setting = false;
  const readOnly = (on: boolean) => (on ? EditorState.readOnly.of(true) : []);
  const colours = () => (coloured ? sql({ dialect: SQLite, schema: tables }) : []);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        history(),
        bracketMatching(),
        syntaxHighlighting(look),
        language.of(colours()),
        locked.of([]),
        EditorView.lineWrapping,
        placeholder("SELECT … (any query that only reads)"),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (on.run(), true) }])),
        // Tab leaves the editor, as everywhere on the page.
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL", "data-testid": "final-sql", spellcheck: "false" }),
        // What is pasted may be too much to be laid out: the page gets it, and sets the editor to what can be shown.
        EditorState.transactionFilter.of((transaction) => {
          if (!transaction.docChanged || setting || transaction.newDoc.length <= 10_000) return transaction;
          const next = transaction.newDoc.toString();
          if (!tooLongToEdit(next)) return transaction;
          queueMicrotask(() => on.change(next));
          return [];
        }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || setting) return;
          whole = update.state.doc.toString();
          on.change(whole);
        }),
      ],
    }),
  });
  const set = (next: string): void => {
    if (next === whole) return;
    whole = next;
    const long = tooLongToEdit(next);
    coloured = !long && next.length <= MOST_COLOURED;
    setting = true;
    view.dispatch({
      changes: { from: 0, to: view.state.doc.length, insert: long ? cutSql(next) : next },
      effects: [language.reconfigure(colours()), locked.reconfigure(readOnly(long))],
    });
    setting = false;
  };
  set(text);
  return {
    set,
    schema(next) {
      tables = next;
      view.dispatch({ effects: language.reconfigure(colours()) });
    },
    destroy: () => view.destroy(),
  };
}
