import { useSignal } from "@preact/signals";
import { bytes, duration, integer } from "../format";
import { count } from "../trace";
import { browse, openAddress, openFiles, openSample } from "../actions";
import { now } from "../clock";
import { database, databaseError, databaseState, opening, rowCounts, tableLights, type Table } from "../state";
import { SAMPLES } from "../samples";
import { ErrorBox } from "./error-box";
import { Lamp, LIGHT_MEANING, LIGHT_WORDS } from "./lamp";

export function DatabasePanel() {
  const state = databaseState.value;
  const open = database.value;
  return (
    <aside class="side" aria-label="Database">
      <div class="file">
        <h2 class="label">Database</h2>
        <span class="name" data-testid="database-name">
          {state.kind === "none" ? "none" : state.kind === "open" ? state.database.name : state.name}
        </span>
        <span class="small dim">
          {state.kind === "failed" && "could not be opened"}
          {open !== null && <Size />}
        </span>
      </div>
      <Opening />
      {state.kind === "failed" && <ErrorBox text={state.error} />}
      {databaseError.value !== null && (
        <ErrorBox text={databaseError.value} close={() => (databaseError.value = null)}>
          {open !== null && <p class="small">{open.name} stays open.</p>}
        </ErrorBox>
      )}
      {open?.notices.map((notice) => <p class="notice small" key={notice}>Note: {notice}.</p>)}
      {open !== null && (
        <>
          <Tables />
          <div class="legend">
            {(["used", "seen", "named", "dark"] as const).map((light) => (
              <span key={light} title={LIGHT_MEANING[light]}>
                <Lamp light={light} /> {LIGHT_WORDS[light]}
              </span>
            ))}
          </div>
          <p class="small dim">This list is for you. The model does not see it: it starts in the dark and finds the tables with its tools.</p>
        </>
      )}
      <Chooser />
    </aside>
  );
}

function Size() {
  const open = database.value;
  if (open === null) return null;
  const tables = open.tables.filter((table) => table.kind !== "view").length;
  const views = open.tables.length - tables;
  const counted = open.tables.filter((table) => table.kind !== "view").map((table) => rowCounts.value.get(table.name));
  const rows = counted.every((number) => typeof number === "number")
    ? counted.reduce<number>((sum, number) => sum + (number as number), 0)
    : null;
  return (
    <>
      {count(tables, "table")}
      {views > 0 && ` · ${count(views, "view")}`}
      {rows !== null && ` · ${count(rows, "row")}`} · <span class="whole">{bytes(open.bytes)}</span>
    </>
  );
}

/** A database on its way, which may take long and can be given up. */
function Opening() {
  const going = opening.value;
  if (going === null) return null;
  const took = now.value - going.since;
  return (
    <p class="small row" data-testid="opening">
      <span class="grow dim">Opening {going.name}{took > 1000 && ` · ${duration(took)}`}</span>
      <button type="button" class="link" onClick={going.cancel}>Cancel</button>
    </p>
  );
}

/** Tables that are drawn at once. */
const DRAWN = 200;

function Tables() {
  const tables = database.value?.tables ?? [];
  const opened = useSignal<string | null>(null);
  const filter = useSignal("");
  const drawn = useSignal(DRAWN);
  const wanted = filter.value.trim().toLowerCase();
  const shown = wanted === "" ? tables : tables.filter((table) => table.name.toLowerCase().includes(wanted));
  return (
    <>
      {tables.length > 24 && (
        <input type="text" aria-label="Filter tables" placeholder={`filter ${integer(tables.length)} names`} value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} />
      )}
      <ul class="tables" data-testid="table-list" aria-label="Tables and views">
        {shown.slice(0, drawn.value).map((table) => (
          <Row key={table.name} table={table} open={opened.value === table.name} toggle={() => (opened.value = opened.value === table.name ? null : table.name)} />
        ))}
        {shown.length > drawn.value && (
          <li style={{ padding: "4px 20px" }}>
            <button type="button" class="link small" onClick={() => (drawn.value += 5 * DRAWN)}>{integer(drawn.value)} of {count(shown.length, "table")} are shown; show more</button>
          </li>
        )}
        {tables.length > 0 && shown.length === 0 && <li class="small dim" style={{ padding: "0 20px" }}>No table has this in its name.</li>}
        {tables.length === 0 && <li class="small dim" style={{ padding: "0 20px" }}>There are no tables in this database.</li>}
      </ul>
    </>
  );
}

function Row({ table, open, toggle }: { table: Table; open: boolean; toggle: () => void }) {
  const light = tableLights.value.get(table.name) ?? "dark";
  const rows = rowCounts.value.get(table.name);
  return (
    <li>
      <button type="button" class={`table-row ${light}`} aria-expanded={open} onClick={toggle}>
        <Lamp light={light} />
        <span class="name" dir="auto" title={table.name.length > 18 ? table.name.slice(0, 400) : undefined}>{table.name === "" ? "(empty name)" : table.name}</span>
        <span class="word">
          {light === "dark" ? <span class="visually-hidden">dark</span> : LIGHT_WORDS[light]}
          <span class="visually-hidden">, </span>
        </span>
        <span class="rows">
          {typeof rows === "number" ? integer(rows) : table.problem !== null || typeof rows === "object" ? "!" : table.kind === "view" ? "view" : "…"}
        </span>
      </button>
      {open && <Detail table={table} />}
    </li>
  );
}

function Detail({ table }: { table: Table }) {
  const rows = rowCounts.value.get(table.name);
  return (
    <div class="detail">
      {table.problem !== null && <p>Not readable: {table.problem}</p>}
      {typeof rows === "object" && <p>Rows not counted: {rows.problem}</p>}
      <ul aria-label={`Columns of ${table.name}`}>
        {table.columns.map((column) => (
          <li key={column.name}>
            <span dir="auto">{column.name}</span>
            <span class="dim">
              {column.type.toLowerCase()}
              {column.key > 0 && " · key"}
              {column.notNull && column.key === 0 && " · not null"}
              {column.generated && " · generated"}
            </span>
          </li>
        ))}
      </ul>
      {table.keys.length > 0 && (
        <ul aria-label={`Foreign keys of ${table.name}`}>
          {table.keys.map((key, index) => (
            <li key={index}>
              <span>
                {key.columns.join(", ")} → {key.parent}
                {key.parentColumns.length > 0 && `.${key.parentColumns.join(", ")}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      <div class="actions">
        <button type="button" class="link" onClick={() => browse(table.name)}>Show rows</button>
      </div>
    </div>
  );
}

const narrow = matchMedia("(max-width: 820px)").matches;

function Chooser() {
  const address = useSignal("");
  // On a phone it is folded, so that the question is on the first screen; elsewhere it cannot be.
  return (
    <details class="chooser" open={!narrow || database.value === null}>
      <summary>Open another database</summary>
      <input
        id="database-file"
        class="hidden-input"
        type="file"
        multiple
        data-testid="database-file"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void openFiles(files);
        }}
      />
      <label class="drop" for="database-file">
        <span class="link">Choose</span> or drop a SQLite file
        <span class="small dim" style={{ display: "block" }}>with its -wal file, if there is one. It stays on this machine.</span>
      </label>
      <p class="small" style={{ margin: "10px 0 6px" }}>
        <span class="dim">Samples: </span>
        {SAMPLES.map((sample, index) => (
          <>
            {index > 0 && " · "}
            <button type="button" class="link" onClick={() => void openSample(sample)}>{sample.title}</button>
          </>
        ))}
      </p>
      <form
        class="row"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void openAddress(address.value);
        }}
      >
        <input class="grow" type="text" inputMode="url" aria-label="Address of a database" placeholder="or an address" title="of this site or of huggingface.co" value={address.value} onInput={(event) => (address.value = event.currentTarget.value)} />
        <button class="button" type="submit" disabled={address.value.trim() === ""}>Open</button>
      </form>
    </details>
  );
}
