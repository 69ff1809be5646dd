/**
 * Any number of rows and columns in a table of a few hundred elements: only those in view exist, between spacers. The
 * rows stay in the database worker and come a window at a time.
 */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { sortResult, windowOf } from "../actions";
import { bytes, integer, message, real } from "../format";
import type { Cell } from "../cells";
import type { Result } from "../state";
import { ErrorBox } from "./error-box";
import { Viewer, type Opened } from "./viewer";

const ROW = 28;
/** Rows above and below those in view. */
const MARGIN = 20;
/** A browser gives up on elements of more than some 16 million pixels: beyond that rows are scaled together. */
const TALLEST = 12_000_000;

/** Results of more columns draw only those in view. */
const ALL_COLUMNS = 24;
/** Characters beyond the edges of the view in which columns are drawn too. */
const SIDE = 60;
/** Characters that a column is wide at most; a longer value is opened by a click. */
const WIDEST = 46;

interface Shown {
  first: number;
  rows: Cell[][];
}

export function ResultTable({ result }: { result: Result }) {
  const shown = useSignal<Shown>({ first: 0, rows: [] });
  const widths = useSignal<number[]>([]);
  const numeric = useSignal<boolean[]>([]);
  const opened = useSignal<Opened | null>(null);
  /** The first column drawn and the one after the last. */
  const span = useSignal<[number, number]>([0, Math.min(result.columns.length, ALL_COLUMNS)]);
  const failed = useSignal<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const wanted = useRef(-1);
  const busy = useRef(false);

  const scale = Math.min(1, TALLEST / Math.max(1, result.rows * ROW));
  const load = async (first: number): Promise<void> => {
    wanted.current = first;
    if (busy.current) return;
    busy.current = true;
    try {
      for (let next = wanted.current; next >= 0; next = wanted.current) {
        const height = box.current?.clientHeight ?? 400;
        const rows = await windowOf(result, next, Math.ceil(height / ROW) + 2 * MARGIN);
        measure(rows);
        shown.value = { first: next, rows };
        if (wanted.current === next) wanted.current = -1;
      }
      failed.value = null;
    } catch (error) {
      wanted.current = -1;
      failed.value = message(error);
    } finally {
      busy.current = false;
    }
  };
  /** A column is as wide as the widest value seen so far: it grows where a wider one comes into view, and never shrinks. */
  const measure = (rows: Cell[][]): void => {
    const first = widths.value.length === 0;
    const before = widths.value;
    let changed = first;
    const next = result.columns.map((name, column) => {
      let longest = first ? Math.max(name.length + 2, 4) : 0;
      for (const row of rows) longest = Math.max(longest, lengthOf(row[column]));
      const width = Math.max(before[column] ?? 0, Math.min(WIDEST, longest) + 3.5);
      changed ||= width !== before[column];
      return width;
    });
    if (changed) widths.value = next;
    if (first) {
      numeric.value = result.columns.map((_, column) => {
        const values = rows.slice(0, 60).map((row) => row[column]).filter((cell) => cell !== null);
        return values.length > 0 && values.every((cell) => typeof cell === "bigint" || typeof cell === "number");
      });
    }
    place();
  };
  /** Finds the columns in view. */
  const place = (): void => {
    const all = widths.value;
    if (all.length <= ALL_COLUMNS) {
      span.value = [0, all.length];
      return;
    }
    const grid = box.current;
    const table = grid?.querySelector("table");
    if (grid == null || table == null) return;
    const sum = all.reduce((most, width) => most + width, 0);
    const perCharacter = table.offsetWidth > 0 ? table.offsetWidth / sum : 8;
    const left = grid.scrollLeft / perCharacter - SIDE;
    const right = (grid.scrollLeft + grid.clientWidth) / perCharacter + SIDE;
    let from = 0;
    let at = 0;
    while (from < all.length - 1 && at + (all[from] ?? 0) < left) at += all[from++] ?? 0;
    let to = from;
    while (to < all.length && at < right) at += all[to++] ?? 0;
    if (span.value[0] !== from || span.value[1] !== to) span.value = [from, to];
  };
  const scrolled = (): void => {
    place();
    const top = box.current?.scrollTop ?? 0;
    const first = Math.max(0, Math.floor(top / (ROW * scale)) - MARGIN);
    const { first: have, rows } = shown.value;
    const visible = Math.floor(top / (ROW * scale));
    if (visible < have + MARGIN / 2 && have > 0 || visible + (box.current?.clientHeight ?? 0) / ROW > have + rows.length - MARGIN / 2) void load(first);
  };
  useEffect(() => void load(Math.min(shown.value.first, Math.max(0, result.rows - 1))), [result.id]);

  const sort = async (column: number): Promise<void> => {
    const current = result.order;
    const next = current?.column !== column ? { column, descending: false } : current.descending ? null : { column, descending: true };
    try {
      await sortResult(result, next);
      opened.value = null;
      if (box.current !== null) box.current.scrollTop = 0;
      await load(0);
    } catch (error) {
      failed.value = message(error);
    }
  };

  const { first, rows } = shown.value;
  const before = first * ROW * scale;
  const after = Math.max(0, result.rows * ROW * scale - before - rows.length * ROW);
  const sum = (from: number, to: number): number => widths.value.slice(from, to).reduce((most, width) => most + width, 0);
  const [from, to] = span.value;
  const total = widths.value.length === 0 ? 10 * result.columns.length : sum(0, widths.value.length);
  const columns = result.columns.slice(from, to);
  const left = from > 0;
  const right = to < result.columns.length;
  const cells = columns.length + (left ? 1 : 0) + (right ? 1 : 0);
  return (
    <>
      {failed.value !== null && <ErrorBox text={failed.value} />}
      <div class="grid" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label="Result">
        <table
          data-testid="result-table"
          aria-busy={rows.length === 0 && result.rows > 0}
          aria-rowcount={result.rows + 1}
          aria-colcount={result.columns.length}
          style={{ width: `${total}ch` }}
        >
          <colgroup>
            {left && <col style={{ width: `${sum(0, from)}ch` }} />}
            {columns.map((_, index) => <col key={from + index} style={{ width: `${widths.value[from + index] ?? 10}ch` }} />)}
            {right && <col style={{ width: `${sum(to, widths.value.length)}ch` }} />}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {left && <td class="gap" aria-hidden="true" />}
              {columns.map((name, index) => {
                const column = from + index;
                const sorted = result.order?.column === column ? (result.order.descending ? "descending" : "ascending") : "none";
                return (
                  <th key={column} scope="col" aria-colindex={column + 1} class={numeric.value[column] === true ? "number" : ""} aria-sort={sorted}>
                    <button type="button" onClick={() => void sort(column)} title={name.slice(0, 400)}>
                      {name === "" ? "(no name)" : name.slice(0, 200)}
                      {sorted === "ascending" && " ↑"}
                      {sorted === "descending" && " ↓"}
                    </button>
                  </th>
                );
              })}
              {right && <td class="gap" aria-hidden="true" />}
            </tr>
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden="true" style={{ height: `${before}px` }}><td style={{ padding: 0 }} colSpan={cells} /></tr>}
            {rows.map((row, index) => (
              <tr key={first + index} aria-rowindex={first + index + 2}>
                {left && <td class="gap" aria-hidden="true" />}
                {row.slice(from, to).map((cell, at) => {
                  const column = from + at;
                  return <Value key={column} cell={cell} open={() => (opened.value = { row: first + index, column, name: result.columns[column] ?? "", cell })} />;
                })}
                {right && <td class="gap" aria-hidden="true" />}
              </tr>
            ))}
            {after > 0 && <tr aria-hidden="true" style={{ height: `${after}px` }}><td style={{ padding: 0 }} colSpan={cells} /></tr>}
          </tbody>
        </table>
      </div>
      {result.columns.length > ALL_COLUMNS && <p class="small dim">{integer(result.columns.length)} columns; scroll sideways for the others.</p>}
      {result.rows === 0 && <p class="dim small">No rows.</p>}
      {opened.value !== null && (
        <Viewer
          key={`${opened.value.row} ${opened.value.column}`}
          result={result}
          opened={opened.value}
          close={() => {
            opened.value = null;
            // Its own button is gone, and the focus would be with it.
            box.current?.focus({ preventScroll: true });
          }}
        />
      )}
    </>
  );
}

function Value({ cell, open }: { cell: Cell; open: () => void }) {
  if (cell === null) return <td class="null">NULL</td>;
  if (typeof cell === "bigint" || typeof cell === "number") return <td class="number" title={lengthOf(cell) > 12 ? show(cell) : undefined}>{show(cell)}</td>;
  if (typeof cell === "string") {
    if (cell === "") return <td class="dim" title="a text of no characters">''</td>;
    // What is cut off can be opened: a title alone is out of reach on a phone.
    if (lengthOf(cell) <= WIDEST - 2 && !/[\n\r]/.test(cell)) return <td dir="auto" title={cell.length > 30 ? cell : undefined}>{cell}</td>;
  }
  return (
    <td>
      <button type="button" class="value" title={typeof cell === "string" ? cell : undefined} onClick={open}>{show(cell)}</button>
    </td>
  );
}

/** Width of a value in characters, those of East Asian scripts and pictures counted twice. */
function lengthOf(cell: Cell | undefined): number {
  const text = show(cell);
  let length = text.length;
  if (length < WIDEST) for (const letter of text) if (letter > "\u2e7f") length += 1;
  return length;
}

/** A value on one line. */
function show(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "NULL";
  if (typeof cell === "bigint") return cell.toString();
  if (typeof cell === "number") return real(cell);
  if (typeof cell === "string") return cell.replace(/[\r\n]+/g, " ⏎ ");
  if ("text" in cell) return `${cell.text.slice(0, 80).replace(/[\r\n]+/g, " ⏎ ")}… (${integer(cell.chars)} characters)`;
  return `${cell.kind} · ${bytes(cell.bytes)}`;
}
