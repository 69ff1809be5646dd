/** Numbers as the page writes them. */

/** Bytes in the units that file managers and model pages use: powers of a thousand. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let scaled = value;
  let unit = -1;
  do {
    scaled /= 1000;
    unit += 1;
  } while (scaled >= 999.5 && unit < units.length - 1);
  return `${scaled.toFixed(scaled < 9.95 ? (unit >= 2 ? 2 : 1) : scaled < 99.5 && unit >= 1 ? 1 : 0)} ${units[unit]}`;
}

export function integer(value: number): string {
  return value.toLocaleString("en");
}

/** A duration: `4 ms`, `0.4 s`, `12 s`, `3 min 20 s`, `1 h 5 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 100) return `${Math.max(1, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function rate(tokens: number, milliseconds: number): string {
  if (milliseconds <= 0 || tokens === 0) return "–";
  const value = (tokens * 1000) / milliseconds;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} tokens/s`;
}

/** A REAL: always with a point or an exponent, so that 1.0 is not taken for the INTEGER 1. */
export function real(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** What `error` says, whatever it is. */
export function message(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : String(error);
}

/**
 * The same with a capital first letter and a full stop: most messages begin with what failed, in lower case. One that
 * begins with the name of a file or a host keeps it as it is.
 */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const named = /\.\w/.test(trimmed.split(": ", 1)[0] ?? "") && /^[^:]*: /.test(trimmed) || /^\S*[./]\S/.test(trimmed);
  const first = named ? trimmed : trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}
