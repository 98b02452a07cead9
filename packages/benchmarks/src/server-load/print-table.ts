/** Names and figures in rows. */
export interface ResultTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Prints a table for people, or as docs/benchmarks.md has it. Figures stand to the right. */
export function printTable({ title, columns, rows }: ResultTable, isMarkdown: boolean): void {
  if (rows.length === 0) return;
  const isFigure = columns.map((_, n) => rows.every((cells) => /^(\d.*|–)$/.test(cells[n]!)));
  if (isMarkdown) {
    const rule = isFigure.map((figure) => (figure ? "--:" : "---"));
    const lines = [columns, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`);
    console.log(`\n**${title}**\n\n${lines.join("\n")}`);
    return;
  }
  const all = [columns, ...rows];
  const widths = columns.map((_, n) => Math.max(...all.map((cells) => cells[n]!.length)));
  const lines = all.map((cells) =>
    cells
      .map((text, n) => (isFigure[n] ? text.padStart(widths[n]!) : text.padEnd(widths[n]!)))
      .join("  ")
      .trimEnd(),
  );
  console.log(`\n${title}\n\n${lines.join("\n")}`);
}
