/** Prints a Markdown table, as docs/benchmarks.md shows it. */
export function printTable(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, index) => (Number.isNaN(Number(rows[0]?.[index])) ? "---" : "--:"));
  console.log([`\n${title}\n`, line(columns), line(rule), ...rows.map(line), ""].join("\n"));
}
