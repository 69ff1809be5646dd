/**
 * Any number of rows in a table of a few dozen elements: only those in view exist, between two spacers. The rows stay
 * in the database worker and come a window at a time.
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

interface Shown {
  first: number;
  rows: Cell[][];
}

export function ResultTable({ result }: { result: Result }) {
  const shown = useSignal<Shown>({ first: 0, rows: [] });
  const widths = useSignal<number[]>([]);
  const numeric = useSignal<boolean[]>([]);
  const order = useSignal<{ column: number; descending: boolean } | null>(null);
  const opened = useSignal<Opened | null>(null);
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
        if (widths.value.length === 0) measure(rows);
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
  /** Widths are set once, from the first rows, so that nothing jumps while scrolling. */
  const measure = (rows: Cell[][]): void => {
    widths.value = result.columns.map((name, column) => {
      const longest = rows.slice(0, 60).reduce((most, row) => Math.max(most, show(row[column]).length), 0);
      return Math.min(46, Math.max(name.length + 2, longest, 4)) + 3.5;
    });
    numeric.value = result.columns.map((_, column) => {
      const values = rows.slice(0, 60).map((row) => row[column]).filter((cell) => cell !== null);
      return values.length > 0 && values.every((cell) => typeof cell === "bigint" || typeof cell === "number");
    });
  };
  const scrolled = (): void => {
    const top = box.current?.scrollTop ?? 0;
    const first = Math.max(0, Math.floor(top / (ROW * scale)) - MARGIN);
    const { first: have, rows } = shown.value;
    const visible = Math.floor(top / (ROW * scale));
    if (visible < have + MARGIN / 2 && have > 0 || visible + (box.current?.clientHeight ?? 0) / ROW > have + rows.length - MARGIN / 2) void load(first);
  };
  useEffect(() => void load(0), [result.id]);

  const sort = async (column: number): Promise<void> => {
    const current = order.value;
    const next = current?.column !== column ? { column, descending: false } : current.descending ? null : { column, descending: true };
    try {
      await sortResult(result, next);
      order.value = next;
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
  const total = widths.value.reduce((sum, width) => sum + width, 0);
  return (
    <>
      {failed.value !== null && <ErrorBox text={failed.value} />}
      <div class="grid" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label="Result">
        <table data-testid="result-table" aria-busy={rows.length === 0 && result.rows > 0} aria-rowcount={result.rows + 1} style={{ width: `${total}ch` }}>
          <colgroup>
            {result.columns.map((_, column) => <col key={column} style={{ width: `${widths.value[column] ?? 10}ch` }} />)}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {result.columns.map((name, column) => {
                const sorted = order.value?.column === column ? (order.value.descending ? "descending" : "ascending") : "none";
                return (
                  <th key={column} scope="col" class={numeric.value[column] === true ? "number" : ""} aria-sort={sorted}>
                    <button type="button" onClick={() => void sort(column)} title={name}>
                      {name === "" ? "(no name)" : name}
                      {sorted === "ascending" && " ↑"}
                      {sorted === "descending" && " ↓"}
                    </button>
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {before > 0 && <tr aria-hidden="true" style={{ height: `${before}px` }}><td style={{ padding: 0 }} colSpan={result.columns.length} /></tr>}
            {rows.map((row, index) => (
              <tr key={first + index} aria-rowindex={first + index + 2}>
                {row.map((cell, column) => (
                  <Value key={column} cell={cell} open={() => (opened.value = { row: first + index, column, name: result.columns[column] ?? "", cell })} />
                ))}
              </tr>
            ))}
            {after > 0 && <tr aria-hidden="true" style={{ height: `${after}px` }}><td style={{ padding: 0 }} colSpan={result.columns.length} /></tr>}
          </tbody>
        </table>
      </div>
      {result.rows === 0 && <p class="dim small">No rows. The columns are {result.columns.join(", ")}.</p>}
      {opened.value !== null && <Viewer key={`${opened.value.row} ${opened.value.column}`} result={result} opened={opened.value} close={() => (opened.value = null)} />}
    </>
  );
}

function Value({ cell, open }: { cell: Cell; open: () => void }) {
  if (cell === null) return <td class="null">NULL</td>;
  if (typeof cell === "bigint" || typeof cell === "number") return <td class="number">{show(cell)}</td>;
  if (typeof cell === "string") {
    if (cell === "") return <td class="dim" title="a text of no characters">''</td>;
    if (cell.length <= 60 && !/[\n\r]/.test(cell)) return <td dir="auto" title={cell.length > 30 ? cell : undefined}>{cell}</td>;
  }
  return (
    <td>
      <button type="button" class="value" onClick={open}>{show(cell)}</button>
    </td>
  );
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
