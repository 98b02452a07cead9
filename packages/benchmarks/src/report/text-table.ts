import type { BenchTable } from "./part.ts";

/** Prints a table for people, or as a page of docs/ has it. Figures stand to the right. */
export function printTable(table: BenchTable, isMarkdown: boolean): void {
  if (table.rows.length === 0) return;
  const lines = isMarkdown ? `**${table.title}**\n\n${markdownTable(table)}` : textTable(table);
  console.log(`\n${lines}`);
}

export function markdownTable(table: Omit<BenchTable, "title">): string {
  const rows = cellsOf(table);
  const rule = figureColumns(rows).map((isFigure) => (isFigure ? "--:" : "---"));
  const lines = [table.columns, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.join("\n");
}

function textTable(table: BenchTable): string {
  const rows = cellsOf(table);
  const isFigure = figureColumns(rows);
  const all = [table.columns, ...rows];
  const widths = table.columns.map((_, n) => Math.max(...all.map((cells) => cells[n]!.length)));
  const lines = all.map((cells) =>
    cells
      .map((text, n) => (isFigure[n] ? text.padStart(widths[n]!) : text.padEnd(widths[n]!)))
      .join("  ")
      .trimEnd(),
  );
  return `${table.title}\n\n${lines.join("\n")}`;
}

function cellsOf({ rows }: Pick<BenchTable, "rows">): string[][] {
  return rows.map((cells) => cells.map(String));
}

function figureColumns(rows: readonly (readonly string[])[]): boolean[] {
  return (rows[0] ?? []).map((_, n) => rows.every((cells) => /^(-?\d.*|–)$/.test(cells[n]!)));
}
