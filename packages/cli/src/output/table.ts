import { plainText } from "@durable-mcp/core/internal";
import Table from "cli-table3";

/** The width where there is no terminal. */
const widthOfPaper = 100;
const narrowestColumn = 16;
/** In characters: wrapping takes time by the square of it, and a server may say anything. */
const longestCell = 1_000;

export interface TableOptions {
  readonly head?: readonly string[];
  /** In columns of a terminal. @default those of stdout, or 100 */
  readonly width?: number;
}

/**
 * Renders rows as a table for people. The last column is wrapped where the table is wider than the terminal.
 * Cells are as they are printed, for their width counts; a longer one than 1,000 characters is cut.
 */
export function renderTable(
  rows: readonly (readonly string[])[],
  { head = [], width = process.stdout.columns ?? widthOfPaper }: TableOptions = {},
): string {
  const cells = rows.map((row) => row.map(cut).map(plainText));
  const columns = Math.max(...[head, ...cells].map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) => widthOf(column, [head, ...cells]));
  const others = widths.slice(0, -1).reduce((sum, each) => sum + each, 0);
  const last = Math.max(narrowestColumn, width - others - 3 * columns - 1);
  const wraps = (widths.at(-1) ?? 0) > last;
  const table = new Table({
    head: [...head],
    style: { head: [], border: [], compact: true },
    wordWrap: true,
    // `null` is as wide as the widest cell; both spaces beside the text count.
    colWidths: widths.map((_, column) => (wraps && column === columns - 1 ? last + 2 : null)),
  });
  table.push(...cells.map((row) => [...row]));
  return table.toString();
}

const cut = (cell: string) => (cell.length > longestCell ? `${cell.slice(0, longestCell)}…` : cell);

function widthOf(column: number, rows: readonly (readonly string[])[]): number {
  const lines = rows.flatMap((row) => (row[column] ?? "").split("\n"));
  return Math.max(...lines.map((line) => line.length));
}
