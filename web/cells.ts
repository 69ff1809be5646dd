/** Values as the database worker gives them. */

export type Cell =
  | null
  | bigint
  | number
  | string
  /** The beginning of a long text. */
  | { text: string; chars: number }
  | { bytes: number; kind: string; image: string | null };

export interface QuerySummary {
  id: number;
  columns: string[];
  rows: number;
  more: boolean;
}
